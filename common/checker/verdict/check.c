/**
 * @file check.c
 * @brief From the case table to verdicts: which cases run, in which sessions, and what the verdicts add up
 *        to.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "diagnose.h"
#include "judge.h"
#include "lines.h"
#include "turns.h"
#include "workers.h"

#include "base/process.h"
#include "checker/promises/promises.h"

/* Largest number of items per session on the software device, and on a GPU, where each start of a runner
 * waits for the driver. */
enum { SIMT_ITEMS = 128, GPU_ITEMS = 512, FIRST_ITEMS = 8, COUNTED_AGAIN = 2 };

/* A property with this many inputs or more draws them at random. */
enum { RANDOM_INPUTS = 100 };

/* Larger groups would only take more memory; a case larger than this has a session of its own. */
#define SESSION_BYTES (UINT64_C(256) << 20)
#define GPU_BYTES (UINT64_C(2) << 30)

/* There is no verdict: the machine could not do what the check needs. */
static void say_not_graded(const struct check *check, struct verdict *verdict)
{
    verdict->state = STATE_NOT_GRADED;
    verdict->record = (struct record){.version = RECORD_VERSION,
                                      .origin = RECORD_CHECKER,
                                      .kind = RECORD_BROKEN_CHECK,
                                      .message = RECORD_BROKEN_FOR,
                                      .seen = 1};
    snprintf(verdict->record.note, sizeof verdict->record.note, "%s", check->broken);
}

/* On a GPU, two calls always show more than one. On the software device numerics, too, are called twice,
 * because state and order may depend on the data, and the second call's buffers have other addresses. A
 * test of a right kernel may do with one call. The sizes of speed, each of which takes it as long as a hundred
 * other inputs, are called once where they are judged, unless the kernel is not the user's own. */
static int is_called_once(const struct check *check, const struct lesson_case *settled)
{
    const struct options *options = &check->options;
    const int by_option = options->numerics_once && settled->group == GROUP_NUMERICS;
    const int judged = !options->bench && options->save_case == NULL; /* and not counted or looked at */
    const int by_size = settled->group == GROUP_SPEED && judged && !options->isolated;
    if (options->device == DEVICE_GPU)
        return settled->parts.total > 0 && judged; /* gigabytes, of which most show nothing */
    return !(settled->flags & CASE_TWO_STREAMS) &&
           (by_option || by_size || (settled->flags & CASE_ONE_CALL) != 0);
}

static void make_item(const struct check *check, int case_index, int item_index, struct item *item)
{
    const struct lesson *lesson = check->options.lesson;
    const struct lesson_case *from = &check->cases[case_index];
    *item =
        (struct item){.settled = *from, .case_index = case_index, .item_index = item_index, .exit_code = -1};
    item->settled.seed = rng_mix_text(rng_mix(check->seed, (uint64_t)lesson->number), from->name);
    item->settled.devices = 1u << check->options.device;
    if (from->repeat > 1) {
        struct rng rng = {rng_mix(item->settled.seed, (uint64_t)item_index + 1)};
        promises_vary(lesson, check->cases, check->case_count, &item->settled, item_index, &rng);
    }
    item->one_call = is_called_once(check, &item->settled);
    /* a case that only asks for a size has none, and its extents may be larger than any memory */
    item->buffer_count = from->flags & CASE_ASK_ONLY ? 0 : lesson->buffers(&item->settled, item->buffer);
}

/* An untrusted kernel is counted in two calls with different inputs: if it keeps results of the first
 * call, they are wrong in the second. On a GPU, where calls are timed, all calls have inputs with a
 * checked result. */
static void add_other_inputs(const struct check *check, struct session *session)
{
    if (!check->options.bench || !check->options.isolated || check->options.device == DEVICE_GPU ||
        session->count != 1)
        return;
    struct item *first = &session->item[0], *second = &session->item[session->count++];
    first->one_call = 1;
    *second = *first;
    second->settled.seed = rng_mix(first->settled.seed, COUNTED_AGAIN);
    second->item_index++;
}

static void run_session(struct check *check, struct session *session)
{
    add_other_inputs(check, session);
    if (check->broken[0] == '\0' && session_open(session) == 0) session_run(session);
    for (int i = 0; i < session->count; i++) {
        if (session->header == NULL) {
            say_not_graded(check, &check->verdicts[session->item[i].case_index]);
            continue;
        }
        if (check->stopped) continue;
        if (!session->item[i].judged) judge_item(session, i);
        if (check->progress != NULL) __atomic_fetch_add(&check->progress[0], 1, __ATOMIC_RELAXED);
        check->stopped =
            check->options.fail_fast && check->verdicts[session->item[i].case_index].state != STATE_PASS;
        if (check->options.bench && (check->options.device == DEVICE_GPU || i == session->count - 1))
            bench_item(session, i);
        check->judged[session->item[i].case_index]++;
        if (check->options.dump) dump_item(session, i);
    }
    if (check->options.bench) bench_report(check);
    session_close(session);
}

/* Buffers of gigabytes, nearly all of them never touched: several such cases in one session would fragment
 * the software device's memory. */
static int is_vast(const struct check *check, const struct item *item)
{
    if (check->options.device == DEVICE_GPU) return 0;
    for (int b = 0; b < WIRE_BUFFERS; b++)
        if (item->settled.apart[b] != 0) return 1;
    return 0;
}

/* On a GPU one runner works on all sessions of a worker, unless it is not the user's own. */
static int keeps_runner(const struct check *check)
{
    const struct options *options = &check->options;
    return options->device == DEVICE_GPU && !options->isolated && !options->dump;
}

/* Several checks may run at once, and each keeps a session's inputs and outputs in memory. */
static uint64_t session_bytes_most(const struct check *check)
{
    const uint64_t checks_at_once = 64;
    uint64_t share = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / checks_at_once;
    if (check->options.device != DEVICE_GPU || keeps_runner(check) || share < SESSION_BYTES)
        return SESSION_BYTES;
    return share < GPU_BYTES ? share : GPU_BYTES;
}

static int session_items_most(const struct check *check)
{
    return check->options.device == DEVICE_GPU ? GPU_ITEMS : SIMT_ITEMS;
}

/* The items of a case that asks for the same addresses again and again, or for one device and then another, are calls of one process,
 * and on the software device of no other case: what an entry point keeps is of the first of them. */
static int keeps_together(const struct check *check, int index)
{
    return (check->cases[index].flags & (CASE_SAME_ADDRESSES | CASE_SECOND_DEVICE)) != 0;
}

/* The most items that a session can have. */
static int session_room(const struct check *check)
{
    int most = session_items_most(check);
    for (int i = 0; i < check->case_count; i++)
        if (keeps_together(check, i) && check->cases[i].repeat > most) most = check->cases[i].repeat;
    return most;
}

/* What is measured is told case by case, and counters of the software device belong to one case. A check that stops at the first
 * failure begins with small groups, because the inputs of a whole group are made before its first case runs. */
static int fits(const struct check *check, const struct session *session, uint64_t bytes,
                const struct item *item, int most)
{
    if (session->count == 0) return 1;
    if (keeps_together(check, item->case_index)) return item->item_index > 0;
    if (session->count >= most) return 0;
    if (check->options.bench) return 0;
    if (is_vast(check, item) || is_vast(check, &session->item[session->count - 1])) return 0;
    return bytes + session_item_bytes(session, item) <= session_bytes_most(check);
}

static int judge_and_go_on(struct session *session, int index)
{
    judge_item(session, index);
    return session->check->verdicts[session->item[index].case_index].state == STATE_PASS;
}

/* An item that must agree with the one before it never begins a session: the one before it runs again in
 * that session. */
static int takes_along(const struct check *check, const struct item *item)
{
    return !check->options.bench && item->item_index > 0 && (item->settled.flags & CASE_SAME_BITS);
}

static void start_session(struct check *check, struct session *session, struct item *items,
                          struct kept_runner *kept)
{
    *session = (struct session){.check = check, .item = items, .image = -1, .kept = kept};
    if (check->options.fail_fast) session->on_answer = judge_and_go_on;
    if (check->options.bench) bench_prepare(session);
}

/* A part whose basic cases, or all others where none was chosen, say that nothing is written has not begun, whatever the rest
 * of its cases say: the skeleton refuses bad input already, and its workspace of 0 bytes is no mistake yet. */
static void settle_not_started(struct check *check)
{
    int waiting[LESSON_PARTS][2] = {{0}}, begun[LESSON_PARTS][2] = {{0}};
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (!check->chosen[i] || item->expected != KERNEL_OK || item->weight == 0) continue;
        const int basic = item->group == GROUP_BASIC && !check->witness[i];
        const int not_started = check->verdicts[i].state == STATE_NOT_STARTED;
        (not_started ? waiting : begun)[item->part][basic]++;
    }
    for (int i = 0; i < check->case_count; i++) {
        const int part = check->cases[i].part;
        const int basic = waiting[part][1] + begun[part][1] > 0;
        const enum state state = check->verdicts[i].state;
        if (!check->chosen[i] || begun[part][basic] > 0 || waiting[part][basic] == 0) continue;
        if (state == STATE_PASS || state == STATE_FAIL) check->verdicts[i].state = STATE_NOT_STARTED;
    }
}

/* How many inputs of a case to try. If a sample was asked for, random inputs are fewer; properties that
 * enumerate stay complete, and so do refusals, which cost nothing. */
static int inputs_of(const struct check *check, int index)
{
    const struct lesson_case *item = &check->cases[index];
    const int most = check->options.inputs_most;
    if (most == 0 || most > item->repeat || item->expected != KERNEL_OK) return item->repeat;
    return item->repeat < RANDOM_INPUTS || (item->flags & CASE_ENUMERATES) ? item->repeat : most;
}

/** @brief A case and its estimated cost, for comparison only. */
struct priced {
    int index;
    double cost;
};

/* The software device takes some hundred times longer for an operation than the oracle, which computes a sample of a large
 * problem; a byte is made, copied and compared several times. */
static double price_of_item(const struct check *check, int index, int n, struct item *item)
{
    const int gpu = check->options.device == DEVICE_GPU;
    const double kernel_over_oracle = gpu ? 0.0 : 100.0;
    const double oracle_most = 4e9, byte_over_oracle = 10.0, item_least = gpu ? 3e7 : 3e6;
    struct lesson_cost cost = {0};
    double price = item_least;
    make_item(check, index, n, item);
    for (int b = 0; b < item->buffer_count; b++)
        price += byte_over_oracle * (double)lesson_bytes(&item->buffer[b]);
    if (item->settled.expected != KERNEL_OK || (item->settled.flags & CASE_ASK_ONLY)) return price;
    check->options.lesson->cost(&item->settled, &cost);
    return price + fmin(cost.oracle_ops, oracle_most) + kernel_over_oracle * cost.flop;
}

static double price_of(const struct check *check, int index, struct item *item)
{
    double sum = 0.0;
    for (int n = 0; n < inputs_of(check, index); n++) sum += price_of_item(check, index, n, item);
    return sum;
}

static int by_cost(const void *a, const void *b)
{
    const struct priced *left = a, *right = b;
    if (left->cost != right->cost) return left->cost < right->cost ? -1 : 1;
    return left->index - right->index;
}

/* A case that takes most of a GPU's memory: two at once would wait for each other, or not find it. */
static int is_alone(const struct check *check, int index)
{
    return check->options.device == DEVICE_GPU && check->cases[index].parts.total > 0;
}

/* Sorts the cases: in the order of the table after those that one worker has to run alone, or the cheap ones first. A mistake that
 * ordinary data show is not to be taken for one about special data, so that these come later than their price says. */
static void put_in_order(const struct check *check, struct item *item, struct priced *order)
{
    const double special = 4.0;
    for (int i = 0; i < check->case_count; i++) {
        order[i] = (struct priced){i, is_alone(check, i) ? -1.0 : 0.0};
        if (!check->options.fail_fast || !check->chosen[i]) continue;
        order[i].cost = price_of(check, i, item) * (check->cases[i].distribution != 0 ? special : 1.0);
    }
    qsort(order, (size_t)check->case_count, sizeof *order, by_cost);
}

/* Cases that were not reached are treated as if nobody had asked for them. */
static void leave_unreached(struct check *check)
{
    for (int i = 0; i < check->case_count; i++)
        if (check->judged[i] == 0) check->chosen[i] = 0;
}

/* A case that passed only since nothing could be judged counts for nothing. */
static void leave_untold(struct check *check)
{
    for (int i = 0; i < check->case_count; i++) {
        struct verdict *verdict = &check->verdicts[i];
        verdict->not_told = verdict->not_told && check->chosen[i] && verdict->state == STATE_PASS;
        if (verdict->not_told) check->chosen[i] = 0;
    }
}

/* If the machine could not do what the check needs there is no verdict, not even for cases that were not
 * reached. */
static void mark_unreached(struct check *check)
{
    for (int i = 0; i < check->case_count; i++) {
        if (check->chosen[i] && check->judged[i] == 0) say_not_graded(check, &check->verdicts[i]);
    }
}

/* 1 if values of a case are wrong or missing, a launch was refused, or something else was read or written than was meant, and what the kernel did in earlier cases may be why. */
static int may_be_kept(const struct check *check, int index, int part)
{
    const struct verdict *verdict = &check->verdicts[index];
    const int kind = verdict->record.kind;
    return check->cases[index].part == part && verdict->state == STATE_FAIL &&
           (kind == RECORD_WRONG_VALUE || kind == RECORD_RUNS_DIFFER || kind == RECORD_NEVER_WRITTEN ||
            kind == RECORD_OUT_OF_BOUNDS || kind == RECORD_UNINITIALIZED_READ || kind == RECORD_MISALIGNED ||
            verdict->record.cause == RECORD_CAUSE_LAUNCH_REFUSED);
}

/* 1 if of its cause nothing is known for sure, since no guess fits, or fits no more than a few elements. */
static int is_unexplained(const struct record *record)
{
    enum { FEW = 4 };
    return record->certainty == RECORD_NO_CAUSE || record->certainty == RECORD_WHERE_ONLY ||
           record->cause == RECORD_CAUSE_LAUNCH_REFUSED || record->value.wrong < FEW;
}

static void call_kept(struct verdict *verdict)
{
    verdict->record.cause = RECORD_CAUSE_KEPT, verdict->record.certainty = RECORD_CAUSE;
    verdict->record.guess = verdict->guess_count = 0;
    memset(verdict->guesses, 0, sizeof verdict->guesses);
    verdict->record.number[RECORD_N_NEIGHBOURS] = 0;
    verdict->stage = NULL;
}

/* 1 if the case passes in a runner of its own: then it fails for what an earlier call has left. */
static int passes_alone(struct check *check, int index, struct item *item)
{
    const int stopped = check->stopped;
    struct verdict before = check->verdicts[index];
    struct session session;
    if (check->broken[0] != '\0' || check->cases[index].repeat > 1) return 0;
    check->stopped = 0;
    check->verdicts[index] = (struct verdict){0};
    start_session(check, &session, item, NULL);
    make_item(check, index, 0, &item[session.count++]);
    run_session(check, &session);
    check->stopped = stopped;
    const int passes = check->verdicts[index].state == STATE_PASS;
    if (passes) call_kept(&before);
    check->verdicts[index] = before;
    check->judged[index] = 1;
    return passes;
}

/* Of each part the first wrong case is tried alone, whatever its cause seems to be: what is kept looks like many a mistake. If it
 * passes, so are a few more; if all of these pass, the others are taken to fail for the same reason. Else the first case of whose
 * cause nothing is known is tried. */
static void try_alone(struct check *check, struct item *item)
{
    enum { TRIED = 8 };
    const struct options *options = &check->options;
    if (options->bench || options->dump || check->overdue) return;
    for (int part = 0; part < options->lesson->part_count; part++) {
        int tried = 0, passed = 0;
        for (int at = 0; at < check->case_count; at++) {
            if (!may_be_kept(check, at, part) || check->cases[at].repeat > 1 || tried == TRIED) continue;
            const int first = tried == 0;
            if (!first && passed == 0 && !is_unexplained(&check->verdicts[at].record)) continue;
            tried++, passed += passes_alone(check, at, item);
            if (!first && passed == 0) break;
        }
        for (int at = 0; at < check->case_count && passed > 1 && passed == tried; at++)
            if (may_be_kept(check, at, part)) call_kept(&check->verdicts[at]);
    }
}

/** An item of a case: where the case stands in the order, and which of its items. */
struct place {
    int at, item;
};

/** Items that one worker checks: a piece of the order, without the last. */
struct unit {
    struct place first, last;
    int alone; /**< 1: no other unit has cases like these; it comes first */
    double price;
};

/** How the cases are divided among the workers. */
struct division {
    struct check *check;
    struct priced order[CHECK_CASES];
    struct unit unit[CHECK_CASES];
    int units;
    struct kept_runner kept; /**< each worker has its own, of a copy of this */
};

/* Adds an item to the session, which is empty, or has room for it. */
static void add_item(const struct check *check, struct session *session, const struct item *item,
                     uint64_t *bytes)
{
    if (session->count == 0) *bytes = 0;
    if (session->count == 0 && takes_along(check, item)) {
        make_item(check, item->case_index, item->item_index - 1, &session->item[0]);
        session->item[0].settled.flags &= ~(unsigned)CASE_SAME_BITS; /* it is compared elsewhere */
        *bytes += session_item_bytes(session, &session->item[session->count++]);
    }
    *bytes += session_item_bytes(session, item);
    session->item[session->count++] = *item;
}

/* The items of a unit, in sessions. */
static void check_some(struct check *check, const struct priced *order, const struct unit *unit,
                       struct kept_runner *kept)
{
    const int items_most = session_items_most(check);
    struct item *items = calloc((size_t)session_room(check), sizeof *items);
    struct item *item = malloc(sizeof *item);
    struct session session;
    uint64_t bytes = 0;
    int most = check->options.fail_fast ? FIRST_ITEMS : items_most;
    if (items == NULL || item == NULL) snprintf(check->broken, sizeof check->broken, "no memory");
    start_session(check, &session, items, kept);
    for (int at = unit->first.at; at <= unit->last.at && check->broken[0] == '\0' && !check->stopped; at++) {
        const int i = order[at].index, first = at == unit->first.at ? unit->first.item : 0;
        const int all = inputs_of(check, i),
                  last = at == unit->last.at && unit->last.item < all ? unit->last.item : all;
        for (int n = first; check->chosen[i] && n < last && !check->stopped; n++) {
            make_item(check, i, n, item);
            if (!fits(check, &session, bytes, item, most)) {
                run_session(check, &session);
                start_session(check, &session, items, kept);
                most = 2 * most < items_most ? 2 * most : items_most;
            }
            add_item(check, &session, item, &bytes);
        }
    }
    if (session.count > 0 && !check->stopped) run_session(check, &session);
    free(item);
    free(items);
}

static void check_unit(struct check *check, int unit, void *context)
{
    struct division *division = context;
    check_some(check, division->order, &division->unit[unit], keeps_runner(check) ? &division->kept : NULL);
}

static void end_worker(void *context)
{
    struct division *division = context;
    session_end_kept(division->check, &division->kept);
}

static int by_falling_price(const void *a, const void *b)
{
    const struct unit *left = a, *right = b;
    if (left->alone != right->alone) return left->alone ? -1 : 1;
    if (left->price != right->price) return left->price > right->price ? -1 : 1;
    if (left->first.at != right->first.at) return left->first.at - right->first.at;
    return left->first.item - right->first.item;
}

/* What every item costs, in order, and the room that a kept runner needs: to describe all items takes a while. The image has room for a
 * session, and for the largest item. Memory that nothing was written to takes none. NULL: there is no memory. */
static double *price_all(const struct check *check, struct item *item, uint32_t inputs,
                         struct division *division)
{
    struct session session = {.check = (struct check *)check, .item = item, .count = 1};
    double *price = calloc(inputs + 1, sizeof *price);
    const int keeps = keeps_runner(check);
    uint32_t next = 0;
    division->kept = (struct kept_runner){.image = -1, .bytes = SESSION_BYTES};
    if (check->options.bench && keeps) bench_prepare(&session);
    for (int at = 0; price != NULL && at < check->case_count; at++) {
        const int i = division->order[at].index;
        for (int n = 0; check->chosen[i] && n < inputs_of(check, i); n++, next++) {
            if (check->workers < 2 && !keeps) continue;
            price[next] = price_of_item(check, i, n, item);
            const size_t bytes = keeps ? session_image_bytes(&session) : 0;
            if (bytes > division->kept.bytes) division->kept.bytes = bytes;
            division->kept.items += keeps;
        }
    }
    return price;
}

/* Pieces of like price, the dearest first: several for each worker. */
static void divide(struct check *check, const double *price, uint32_t inputs, struct division *division)
{
    const double start = 1e9; /* price of a runner's start on a GPU: fewer workers do small checks sooner */
    const int pieces_each = check->options.device == DEVICE_GPU ? 16 : 4;
    double sum = 0.0;
    division->units = 0;
    for (uint32_t i = 0; i < inputs; i++) sum += price[i];
    if (check->options.device == DEVICE_GPU && check->workers > 1 + sum / start)
        check->workers = 1 + (int)(sum / start);
    const double most = sum / (pieces_each * check->workers);
    for (int at = 0; at < check->case_count; at++) {
        const int i = division->order[at].index, alone = is_alone(check, i);
        for (int n = 0; check->chosen[i] && n < inputs_of(check, i); n++, price++) {
            struct unit *last = division->units > 0 ? &division->unit[division->units - 1] : NULL;
            const int goes_on = last != NULL && alone == last->alone &&
                                (alone || last->price + *price <= most || division->units == CHECK_CASES ||
                                 (n > 0 && keeps_together(check, i)));
            if (!goes_on) {
                last = &division->unit[division->units++];
                *last = (struct unit){.first = {at, n}, .alone = alone};
            }
            last->last = (struct place){at, n + 1};
            last->price += *price;
        }
    }
    /* A bench keeps the order of the table, in which it prints. */
    if (!check->options.bench)
        qsort(division->unit, (size_t)division->units, sizeof division->unit[0], by_falling_price);
}

/* Cases for which a GPU had no memory beside other workers' cases: now it has all of it. */
static void check_crowded_out(struct check *check, const struct division *division)
{
    int again = 0, kept[CHECK_CASES];
    memcpy(kept, check->chosen, sizeof kept);
    for (int i = 0; i < check->case_count; i++) {
        check->chosen[i] = check->crowded_out[i];
        if (!check->crowded_out[i]) continue;
        again = 1;
        check->judged[i] = 0;
        check->verdicts[i] = (struct verdict){0};
    }
    const struct unit all = {.last = {check->case_count - 1, CHECK_CASES}};
    if (again) check_some(check, division->order, &all, NULL);
    memcpy(check->chosen, kept, sizeof kept);
}

void check_run(struct check *check)
{
    static struct division division;
    struct item *item = malloc(sizeof *item);
    double *price = NULL;
    uint32_t inputs = 0;
    for (int i = 0; i < check->case_count; i++)
        inputs += check->chosen[i] ? (uint32_t)inputs_of(check, i) : 0;
    workers_open_progress(check, inputs);
    check->begin = monotonic_seconds();
    if (check->workers < 1) check->workers = 1;
    check->turns = -1;
    division.check = check;
    if (item != NULL) {
        put_in_order(check, item, division.order);
        price = price_all(check, item, inputs, &division);
    }
    if (price == NULL) {
        snprintf(check->broken, sizeof check->broken, "no memory");
    } else {
        divide(check, price, inputs, &division);
        if (check->options.bench) turns_open(check);
        workers_run(check, division.units, check_unit, end_worker, &division);
        if (check->workers > 1) check_crowded_out(check, &division);
        try_alone(check, item);
    }
    free(price);
    free(item);
    diagnose_parts(check);
    lines_look_up(check);
    if (check->stopped) leave_unreached(check);
    if (check->broken[0] != '\0') mark_unreached(check);
    leave_untold(check);
    settle_not_started(check);
}

int check_save(struct check *check, const char *path)
{
    struct item *item = malloc(sizeof *item);
    struct session session = {.check = check, .item = item, .count = 1, .image = -1};
    int failed = item == NULL, index = 0;
    while (!check->chosen[index]) index++;
    if (!failed) {
        make_item(check, index, 0, item);
        failed = session_open(&session) != 0 || session_save(&session, path) != 0;
        session_close(&session);
    }
    free(item);
    return failed ? -1 : 0;
}
