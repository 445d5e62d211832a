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
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "diagnose.h"
#include "judge.h"
#include "lines.h"
#include "profile_checker.h"

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
 * test of a right kernel may do with one call. */
static int is_called_once(const struct check *check, const struct lesson_case *from)
{
    const int by_option = check->options.numerics_once && from->group == GROUP_NUMERICS;
    return check->options.device == DEVICE_SIMT && !(from->flags & CASE_TWO_STREAMS) &&
           (by_option || (from->flags & CASE_ONE_CALL) != 0);
}

static void make_item(const struct check *check, int case_index, int item_index, struct item *item)
{
    const struct lesson *lesson = check->options.lesson;
    const struct lesson_case *from = &check->cases[case_index];
    *item =
        (struct item){.settled = *from, .case_index = case_index, .item_index = item_index, .exit_code = -1};
    item->settled.seed = rng_mix_text(rng_mix(check->seed, (uint64_t)lesson->number), from->name);
    item->settled.devices = 1u << check->options.device;
    item->one_call = is_called_once(check, from);
    if (from->repeat > 1) {
        struct rng rng = {rng_mix(item->settled.seed, (uint64_t)item_index + 1)};
        promises_vary(lesson, check->cases, check->case_count, &item->settled, item_index, &rng);
    }
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
    double begin = profile_checker_now();
    add_other_inputs(check, session);
    if (check->broken[0] == '\0' && session_open(session) == 0) {
        if (check->options.profile_checker)
            profile_checker_session(session, profile_checker_now() - begin);
        else
            session_run(session);
    }
    for (int i = 0; i < session->count; i++) {
        if (session->header == NULL) {
            say_not_graded(check, &check->verdicts[session->item[i].case_index]);
            continue;
        }
        if (check->options.profile_checker) continue;
        if (check->stopped) continue;
        if (!session->item[i].judged) judge_item(session, i);
        check->judged[session->item[i].case_index]++;
        check->stopped =
            check->options.fail_fast && check->verdicts[session->item[i].case_index].state != STATE_PASS;
        if (check->options.bench && i == session->count - 1) bench_item(session, i);
        if (check->options.dump) dump_item(session, i);
    }
    session_close(session);
}

/* Buffers of gigabytes, nearly all of them never touched: several such cases in one session would fragment
 * the software device's memory. */
static int is_vast(const struct check *check, const struct item *item)
{
    if (check->options.device == DEVICE_GPU) return 0;
    for (int b = 0; b < LESSON_STARTS; b++)
        if (item->settled.apart[b] != 0) return 1;
    return 0;
}

/* Several checks may run at once, and each keeps a session's inputs and outputs in memory. */
static uint64_t session_bytes_most(const struct check *check)
{
    const uint64_t checks_at_once = 64;
    uint64_t share = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / checks_at_once;
    if (check->options.device != DEVICE_GPU || share < SESSION_BYTES) return SESSION_BYTES;
    return share < GPU_BYTES ? share : GPU_BYTES;
}

static int session_items_most(const struct check *check)
{
    return check->options.device == DEVICE_GPU ? GPU_ITEMS : SIMT_ITEMS;
}

/* Cases are measured one by one, so that the software device's counters belong to one case. A check that
 * stops at the first failure begins with small groups, because the inputs of a whole group are made before
 * its first case runs. */
static int fits(const struct check *check, const struct session *session, uint64_t bytes,
                const struct item *item, int most)
{
    if (session->count == 0) return 1;
    if (check->options.bench || session->count >= most) return 0;
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

static void start_session(struct check *check, struct session *session, struct item *items)
{
    *session = (struct session){.check = check, .item = items, .image = -1};
    if (check->options.fail_fast) session->on_answer = judge_and_go_on;
    if (check->options.bench) bench_prepare(session);
}

/* Refusing bad input earns nothing while the part computes nothing yet: the skeleton already does it. */
static void settle_not_started(struct check *check)
{
    int begun[LESSON_PARTS] = {0}, waiting[LESSON_PARTS] = {0};
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i] || check->cases[i].expected != KERNEL_OK || check->cases[i].weight == 0)
            continue;
        int not_started = check->verdicts[i].state == STATE_NOT_STARTED;
        waiting[check->cases[i].part] += not_started;
        begun[check->cases[i].part] += !not_started;
    }
    for (int i = 0; i < check->case_count; i++) {
        int part = check->cases[i].part;
        if (!check->chosen[i] || begun[part] > 0 || waiting[part] == 0) continue;
        if (check->verdicts[i].state == STATE_PASS) check->verdicts[i].state = STATE_NOT_STARTED;
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

/* The software device takes some hundred times longer for an operation than the oracle. */
static double price_of(const struct check *check, int index, struct item *item)
{
    const double simt_over_oracle = 100.0;
    double sum = 0.0;
    for (int n = 0; n < inputs_of(check, index); n++) {
        struct lesson_cost cost = {0};
        make_item(check, index, n, item);
        for (int b = 0; b < item->buffer_count; b++) sum += (double)lesson_bytes(&item->buffer[b]);
        if (item->settled.expected != KERNEL_OK || (item->settled.flags & CASE_ASK_ONLY)) continue;
        check->options.lesson->cost(&item->settled, &cost);
        sum += cost.oracle_ops + simt_over_oracle * cost.flop;
    }
    return sum;
}

static int by_cost(const void *a, const void *b)
{
    const struct priced *left = a, *right = b;
    if (left->cost != right->cost) return left->cost < right->cost ? -1 : 1;
    return left->index - right->index;
}

/* Sorts the cases: in the order of the table, or the cheap ones first. */
static void put_in_order(const struct check *check, struct item *item, struct priced *order)
{
    for (int i = 0; i < check->case_count; i++) {
        order[i] = (struct priced){i, 0.0};
        if (check->options.fail_fast && check->chosen[i]) order[i].cost = price_of(check, i, item);
    }
    if (check->options.fail_fast) qsort(order, (size_t)check->case_count, sizeof *order, by_cost);
}

/* Cases that were not reached are treated as if nobody had asked for them. */
static void leave_unreached(struct check *check)
{
    for (int i = 0; i < check->case_count; i++)
        if (check->judged[i] == 0) check->chosen[i] = 0;
}

/* If the machine could not do what the check needs there is no verdict, not even for cases that were not
 * reached. */
static void mark_unreached(struct check *check)
{
    for (int i = 0; i < check->case_count; i++) {
        if (check->chosen[i] && check->judged[i] == 0) say_not_graded(check, &check->verdicts[i]);
    }
}

/* 1 if a case alone may show more: wrong values, of whose cause nothing is known for sure. */
static int is_unexplained(const struct check *check, int index)
{
    const struct verdict *verdict = &check->verdicts[index];
    const int differs =
        verdict->record.kind == RECORD_WRONG_VALUE || verdict->record.kind == RECORD_RUNS_DIFFER;
    return verdict->state == STATE_FAIL && differs && verdict->finding_count == 0 &&
           check->cases[index].repeat == 1 &&
           (verdict->record.certainty == RECORD_NO_CAUSE || verdict->record.certainty == RECORD_WHERE_ONLY);
}

/* What passes in a runner of its own fails for what an earlier call has left. Of each part one case is tried. */
static void try_alone(struct check *check, struct item *items)
{
    const struct options *options = &check->options;
    if (options->bench || options->profile_checker || options->dump || check->stopped || check->overdue)
        return;
    for (int part = 0; part < options->lesson->part_count; part++) {
        int at = 0;
        while (at < check->case_count && (check->cases[at].part != part || !is_unexplained(check, at))) at++;
        if (at == check->case_count || check->broken[0] != '\0') continue;
        struct verdict before = check->verdicts[at];
        struct session session;
        start_session(check, &session, items);
        make_item(check, at, 0, &items[session.count++]);
        run_session(check, &session);
        const int passes = check->verdicts[at].state == STATE_PASS;
        if (passes)
            before.record.cause = RECORD_CAUSE_KEPT, before.record.certainty = RECORD_CAUSE,
            before.stage = NULL;
        check->verdicts[at] = before;
    }
}

void check_run(struct check *check)
{
    static struct priced order[CHECK_CASES];
    const int items_most = session_items_most(check);
    struct item *items = calloc((size_t)items_most, sizeof *items);
    struct item *item = malloc(sizeof *item);
    struct session session;
    uint64_t bytes = 0;
    int most = check->options.fail_fast ? FIRST_ITEMS : items_most;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    check->begin = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    if (items == NULL || item == NULL)
        snprintf(check->broken, sizeof check->broken, "no memory");
    else
        put_in_order(check, item, order);
    start_session(check, &session, items);
    for (int at = 0; at < check->case_count && check->broken[0] == '\0' && !check->stopped; at++) {
        int i = order[at].index;
        for (int n = 0; check->chosen[i] && n < inputs_of(check, i) && !check->stopped; n++) {
            make_item(check, i, n, item);
            if (!fits(check, &session, bytes, item, most)) {
                run_session(check, &session);
                start_session(check, &session, items);
                bytes = 0;
                most = 2 * most < items_most ? 2 * most : items_most;
                if (takes_along(check, item)) {
                    make_item(check, i, n - 1, &items[session.count]);
                    /* it has been compared */
                    items[session.count].settled.flags &= ~(unsigned)CASE_SAME_BITS;
                    bytes += session_item_bytes(&session, &items[session.count++]);
                }
            }
            bytes += session_item_bytes(&session, item);
            items[session.count++] = *item;
        }
    }
    if (session.count > 0 && !check->stopped) run_session(check, &session);
    if (item != NULL && items != NULL) try_alone(check, items);
    free(item);
    free(items);
    diagnose_parts(check);
    lines_look_up(check);
    if (check->stopped) leave_unreached(check);
    if (check->broken[0] != '\0' && !check->options.profile_checker) mark_unreached(check);
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

/* ---- sums ------------------------------------------------------------------------------------------------ */

/* The sum of the weights of a part's cases on this device, either of those that must be refused or of all
 * others. */
static double weights_of(const struct check *check, int part, int refusals)
{
    double sum = 0.0;
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (item->part == part && (item->devices & (1u << check->options.device)) &&
            (item->expected != KERNEL_OK) == refusals)
            sum += item->weight;
    }
    return sum;
}

/* Points do not depend on which cases were chosen: the weights of all cases of a part on this device
 * count. There are many ways to call a kernel wrongly and few to call it right: however many refusals are
 * tested, most points of a part are for what it computes. */
double check_points_max(const struct check *check, int index)
{
    const double share_of_refusals = 0.1; /* share of a part's points, at most, if it has other cases */
    const struct lesson_case *item = &check->cases[index];
    if (check->witness[index]) return 0.0;
    double refusals = weights_of(check, item->part, 1), others = weights_of(check, item->part, 0);
    if (refusals + others == 0.0) return 0.0;
    double share = refusals / (refusals + others);
    if (others > 0.0) share = fmin(share, share_of_refusals);
    double points = check->options.lesson->part[item->part].points;
    return points * item->weight * (item->expected != KERNEL_OK ? share / refusals : (1.0 - share) / others);
}

/* 1 if the case shows whether its part computes the right values. */
static int shows_values(const struct lesson_case *item)
{
    return item->expected == KERNEL_OK && item->weight > 0 && !(item->flags & CASE_LAUNCH_ONLY);
}

/* 1 once a part computes something: most of its basic cases pass, or, where none was chosen, any. Before that a case passes by
 * chance, as one with a single key may, or because the skeleton comes with the refusals; the next mistake that is mended may
 * end it. */
static int has_begun(const struct check *check, int part)
{
    int chosen[2] = {0, 0}, passed[2] = {0, 0};
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (!check->chosen[i] || item->part != part || !shows_values(item)) continue;
        const int basic = item->group == GROUP_BASIC && !check->witness[i];
        chosen[basic]++;
        passed[basic] += check->verdicts[i].state == STATE_PASS;
    }
    if (chosen[1] > 0) return 2 * passed[1] > chosen[1];
    return chosen[0] == 0 || passed[0] > 0;
}

/* A kernel that sees only the first 256 keys would pass nearly every case, and would still be useless. One that is wrong for
 * infinities alone is not. */
int check_values_wrong(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i] || check->cases[i].part != part || check->cases[i].expected != KERNEL_OK)
            continue;
        if (check->verdicts[i].state != STATE_PASS && !check->verdicts[i].special) return 1;
    }
    return 0;
}

double check_points(const struct check *check, int index)
{
    const double share_while_wrong = 0.5;
    const struct lesson_case *item = &check->cases[index];
    if (!check->chosen[index] || check->verdicts[index].state != STATE_PASS) return 0.0;
    const int basic = shows_values(item) && item->group == GROUP_BASIC;
    if (!basic && !has_begun(check, item->part)) return 0.0;
    return check_points_max(check, index) * (check_values_wrong(check, item->part) ? share_while_wrong : 1.0);
}

int check_counts(const struct check *check, int index)
{
    return check->verdicts[index].state == STATE_PASS &&
           (check_points(check, index) > 0.0 || check_points_max(check, index) <= 0.0);
}

enum state check_state(const struct check *check, int part)
{
    int count[STATE_COUNT] = {0}, all = 0, begun = 0;
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i] || (part >= 0 && check->cases[i].part != part)) continue;
        begun |= check_counts(check, i);
        count[check->verdicts[i].state]++;
        all++;
    }
    if (count[STATE_NOT_GRADED] > 0 || all == 0) return STATE_NOT_GRADED;
    if (count[STATE_PASS] == all) return STATE_PASS;
    if (count[STATE_NO_DEVICE] == all) return STATE_NO_DEVICE;
    if (count[STATE_NOT_STARTED] + count[STATE_PASS] == all)
        return begun ? STATE_IN_PROGRESS : STATE_NOT_STARTED;
    if (count[STATE_CRASH] > 0 && count[STATE_CRASH] + count[STATE_NOT_STARTED] + count[STATE_PASS] == all)
        return STATE_CRASH;
    if (count[STATE_TIMEOUT] > 0 &&
        count[STATE_TIMEOUT] + count[STATE_NOT_STARTED] + count[STATE_PASS] == all)
        return STATE_TIMEOUT;
    return STATE_FAIL;
}
