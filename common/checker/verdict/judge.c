/**
 * @file judge.c
 * @brief Judges an item step by step: did the runner answer, did it start, has the device findings, is the
 *        status right, did the kernel keep to its buffers, do both runs agree, is every element right.
 */
#include "judge.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"
#include "phases.h"
#include "workers.h"

#include "checker/promises/making.h"

/* The order of states by severity; the worst item decides for its case. */
static int rank_of(enum state state)
{
    static const int rank[STATE_COUNT] = {
        [STATE_PASS] = 0,  [STATE_NOT_STARTED] = 2, [STATE_FAIL] = 3,      [STATE_TIMEOUT] = 4,
        [STATE_CRASH] = 5, [STATE_NO_DEVICE] = 1,   [STATE_NOT_GRADED] = 6};
    return rank[state];
}

/* Sets the verdict; the caller fills further fields. */
static struct record *say(struct verdict *verdict, enum state state, enum record_kind kind, int variant)
{
    verdict->state = state;
    verdict->record = (struct record){
        .version = RECORD_VERSION, .origin = RECORD_CHECKER, .kind = kind, .message = variant, .seen = 1};
    return &verdict->record;
}

/* The verdict for something the checker itself could not do. */
static void say_broken(struct verdict *verdict, enum record_variant variant)
{
    say(verdict, STATE_NOT_GRADED, RECORD_BROKEN_CHECK, variant);
}

/* Fails the item with the record @p found. */
static void say_found(struct verdict *verdict, const struct record *found)
{
    verdict->state = STATE_FAIL;
    verdict->record = *found;
}

static void set_cause(struct verdict *verdict, enum record_cause cause)
{
    verdict->record.cause = cause;
    verdict->record.certainty = RECORD_CAUSE;
}

static void set_note(struct verdict *verdict, const char *note)
{
    snprintf(verdict->record.note, sizeof verdict->record.note, "%s", note);
}

/* ---- the runner ------------------------------------------------------------------------------------------ */

static void take_findings(const struct item *item, struct verdict *verdict)
{
    verdict->finding_count = item->record_count;
    memcpy(verdict->finding, item->record, sizeof verdict->finding);
    snprintf(verdict->printed, sizeof verdict->printed, "%s", item->text);
}

/* The pointer that the call gives as NULL, if it gives one. */
static void name_null(const struct lesson *lesson, const struct item *item, struct record *record)
{
    const char *name = item->settled.null_buffer >= 0 ? item->buffer[item->settled.null_buffer].name : "";
    const struct described *args = described_next(lesson, item->settled.part, DESCRIBED_ARGS, NULL);
    if (args != NULL && item->settled.value[args->at] == 1) name = "args";
    snprintf(record->name[RECORD_NAME_OTHER], RECORD_TEXT, "%s", name);
}

static void judge_crash(const struct check *check, const struct item *item, struct verdict *verdict)
{
    struct record *record;
    const enum state state = item->end == ITEM_LATE ? STATE_TIMEOUT : STATE_CRASH;
    if (item->end == ITEM_LATE) {
        record = say(verdict, state, RECORD_TIME_LIMIT,
                     item->host_seconds > 0.0 ? RECORD_RAN_TOO_LONG
                     : check->overdue         ? RECORD_CHECK_TOO_LONG
                                              : RECORD_OTHERS_TOO_LONG);
        record->real[0] = check->options.total_limit;
    } else if (item->end == ITEM_GREEDY) {
        say(verdict, state, RECORD_MEMORY_LIMIT,
            item->host_seconds > 0.0 ? RECORD_TOO_MUCH_MEMORY : RECORD_OTHERS_TOO_MUCH);
    } else {
        record = say(verdict, state, RECORD_CRASH, item->signal != 0 ? RECORD_BY_SIGNAL : RECORD_BY_EXIT);
        record->number[RECORD_N_FIRST] = item->signal != 0 ? item->signal : item->exit_code;
    }
    if (item->signal == SIGFPE) set_cause(verdict, RECORD_CAUSE_DIVISION_BY_ZERO);
    /* The device would have found a wrong pointer in a kernel: so this one was in host code. */
    if (item->signal == SIGSEGV && item->text[0] == '\0' && item->record_count == 0) {
        set_cause(verdict, RECORD_CAUSE_HOST_POINTER);
        name_null(check->options.lesson, item, &verdict->record);
    }
    take_findings(item, verdict);
}

/* 1 if there is an answer to judge. */
static int answered(const struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    if (session->check->broken[0] != '\0') {
        say_broken(verdict, RECORD_BROKEN_FOR);
        set_note(verdict, session->check->broken);
    } else if (item->end != ITEM_ANSWERED && item->end != ITEM_NOT_RUN) {
        judge_crash(session->check, item, verdict);
    } else if (item->end == ITEM_NOT_RUN && session->header->no_device &&
               session->check->options.device == DEVICE_GPU) {
        say(verdict, STATE_NO_DEVICE, RECORD_NO_DEVICE, RECORD_ANY_VARIANT);
        set_note(verdict, session->check->device_name);
    } else if (item->end == ITEM_NOT_RUN) {
        say(verdict, STATE_CRASH, RECORD_CRASH, RECORD_GAVE_UP);
    } else if (memcmp(result->stamp, item->nonce, sizeof item->nonce) != 0) {
        say(verdict, STATE_CRASH, RECORD_CRASH, RECORD_INCOMPLETE);
    } else {
        return 1;
    }
    return 0;
}

/* The runner's text is untrusted: it may lack its terminator. */
static void take_message(const struct wire_result *result, struct record *record)
{
    snprintf(record->note, sizeof record->note, "%.*s", (int)sizeof result->cuda_message - 1,
             result->cuda_message);
    for (char *c = record->note; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* For findings of the device: the workspace is as large as the kernel file asked for, so accesses beyond
 * it are out of bounds. If the file asked for less than the contract says, that is the likely cause. */
static void doubt_workspace(const struct session *session, int index, struct verdict *verdict)
{
    const size_t contract = session->check->options.lesson->workspace_bytes(&session->item[index].settled);
    const unsigned long long asked = session_case(session, index)->result.workspace_asked;
    if (contract == SIZE_MAX || asked >= contract) return;
    set_cause(verdict, RECORD_CAUSE_SMALL_WORKSPACE);
    verdict->record.number[RECORD_N_FROM] = (int64_t)asked;
    verdict->record.number[RECORD_N_EXTENT] = (int64_t)contract;
}

/* Recognised by the names of NCCL's functions. */
static int is_of_nccl(const char *function)
{
    static const char prefix[] = "nccl";
    return memcmp(function, prefix, sizeof prefix - 1) == 0;
}

/* 1 if C was read in a product whose beta is 0. */
static int is_of_unneeded_c(const struct lesson *lesson, const struct lesson_case *item,
                            const struct record *record)
{
    const struct described *line = NULL;
    if (strcmp(record->memory.buffer, "c") != 0 ||
        (record->actor[0].operation != RECORD_READ && record->actor[1].operation != RECORD_READ))
        return 0;
    while ((line = described_next(lesson, item->part, DESCRIBED_SCALAR, line)) != NULL)
        if (strcmp(line->name, "beta") == 0) return item->real[line->at] == 0.0;
    return 0;
}

/* The device's first finding becomes the verdict, with its usual cause; if an earlier case has reported
 * it, the verdict says only that. */
static void say_finding(const struct lesson *lesson, const struct item *item, struct verdict *verdict)
{
    const struct record *first = item->record_count > 0 ? &item->record[0] : NULL;
    struct record *record = say(verdict, STATE_FAIL, RECORD_SEEN_BEFORE, RECORD_ANY_VARIANT);
    if (first != NULL) *record = *first;
    record->origin = RECORD_DEVICE;
    record->cause = RECORD_NO_CAUSE_KNOWN;
    record->certainty = RECORD_NO_CAUSE;
    record->guess = 0;
    memset(record->number, 0, sizeof record->number);
    take_findings(item, verdict);
    if (first != NULL && is_of_unneeded_c(lesson, &item->settled, first))
        set_cause(verdict, RECORD_CAUSE_C_READ);
    if (first == NULL || first->kind != RECORD_OUT_OF_BOUNDS) return;
    const int by_call = first->message == RECORD_SAYS_RANGE; /* a copy or transfer, and no kernel's access */
    if (!by_call && first->memory.crossing) set_cause(verdict, RECORD_CAUSE_VECTOR_TAIL);
    if (by_call && is_of_nccl(first->name[0])) set_cause(verdict, RECORD_CAUSE_NCCL_COUNT);
}

enum { OUT_OF_MEMORY = 2 /* cudaErrorMemoryAllocation */ };

/* 1 if all that the device found is work before a refusal, in a call that was not to be refused: the refusal is what is wrong. */
static int is_of_wrong_refusal(const struct item *item, const struct wire_result *result)
{
    return item->record_count == 1 && item->record[0].kind == RECORD_WROTE_REFUSED &&
           item->settled.expected == KERNEL_OK &&
           (result->status[0] != KERNEL_OK || result->status[1] != KERNEL_OK);
}

static int device_content(const struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    if ((item->finding || result->findings > 0) && !is_of_wrong_refusal(item, result)) {
        say_finding(session->check->options.lesson, item, verdict);
        doubt_workspace(session, index, verdict);
        return 0;
    }
    if (result->cuda_error == 0) return 1;
    if (result->setup_failed && result->cuda_error == OUT_OF_MEMORY)
        session->check->crowded_out[item->case_index] = 1;
    if (verdict->not_told) return 1;
    struct record *record = say(verdict, result->setup_failed ? STATE_NOT_GRADED : STATE_FAIL,
                                RECORD_CUDA_ERROR, RECORD_ANY_VARIANT);
    record->number[RECORD_N_FIRST] = result->cuda_error;
    take_message(result, record);
    if (!result->setup_failed) doubt_workspace(session, index, verdict);
    take_findings(item, verdict);
    return 0;
}

/* If the contract only limits the workspace, the call gets as much as the limit. */
static size_t workspace_given(const struct session *session, const struct item *item)
{
    const struct lesson *lesson = session->check->options.lesson;
    size_t contract = lesson->workspace_bytes(&item->settled);
    if (contract == SIZE_MAX && lesson->workspace_limit != NULL)
        return lesson->workspace_limit(&item->settled);
    for (int b = 0; b < item->buffer_count && contract == SIZE_MAX; b++)
        if (item->buffer[b].role == WIRE_WORKSPACE) return lesson_bytes(&item->buffer[b]);
    return contract;
}

/* 1 if the contract gives the call a workspace. */
static int has_workspace(const struct item *item)
{
    for (int b = 0; b < item->buffer_count; b++)
        if (item->buffer[b].role == WIRE_WORKSPACE) return 1;
    return 0;
}

/* 1 if a check that demands too much would return @p status. */
static int tells_refusal(enum kernel_status status)
{
    return status == KERNEL_INVALID_CONFIG || status == KERNEL_INVALID_DIMENSION ||
           status == KERNEL_UNSUPPORTED_DTYPE || status == KERNEL_ALIGNMENT_ERROR ||
           status == KERNEL_UNSUPPORTED_ARCHITECTURE;
}

/* 1 if part @p part has line @p line, or one of this kind about the same argument. */
static int is_described(const struct lesson *lesson, int part, const struct described *line)
{
    const struct described *own = NULL;
    while ((own = described_next(lesson, part, line->kind, own)) != NULL)
        if (own->at == line->at) return 1;
    return 0;
}

/* Names an option that has no meaning for this part, of another one with the same extents. */
static void name_meaningless(const struct lesson *lesson, int part, struct record *record)
{
    for (int other = 0; other < lesson->part_count; other++) {
        const struct described *line = NULL;
        int alike = 1;
        while ((line = described_next(lesson, part, DESCRIBED_EXTENT, line)) != NULL)
            alike &= is_described(lesson, other, line);
        while (alike && (line = described_next(lesson, other, DESCRIBED_OPTION, line)) != NULL)
            if (!is_described(lesson, part, line))
                snprintf(record->name[RECORD_NAME_OTHER], RECORD_TEXT, "%s", line->name);
    }
}

static void judge_status(const struct session *session, const struct item *item,
                         const struct wire_result *result, enum kernel_status status, struct verdict *verdict)
{
    const enum kernel_status expected = item->settled.expected;
    const size_t given = workspace_given(session, item);
    const int asked_too_much = status == KERNEL_OUT_OF_MEMORY && status != expected && given != SIZE_MAX &&
                               result->workspace_asked > given;
    struct record *record = asked_too_much
                                ? say(verdict, STATE_FAIL, RECORD_WRONG_WORKSPACE, RECORD_STATUS_WORKSPACE)
                                : say(verdict, STATE_FAIL, RECORD_WRONG_STATUS, RECORD_ANY_VARIANT);
    record->number[RECORD_N_FIRST] = asked_too_much ? (int64_t)result->workspace_asked : (int64_t)status;
    record->number[RECORD_N_SECOND] = asked_too_much ? (int64_t)given : (int64_t)expected;
    if (status == KERNEL_CUDA_ERROR && expected == KERNEL_OK) {
        const char *refused = session->check->options.lesson->refused;
        set_cause(verdict, RECORD_CAUSE_LAUNCH_REFUSED);
        take_message(result, record);
        if (record->note[0] == '\0' && refused != NULL) set_note(verdict, refused);
    } else if (status == KERNEL_OUT_OF_MEMORY && expected == KERNEL_OK && !asked_too_much &&
               has_workspace(item)) {
        set_cause(verdict, RECORD_CAUSE_WORKSPACE_UNLIKE);
        verdict->record.number[RECORD_N_EXTENT] =
            (int64_t)session->check->options.lesson->workspace_bytes(&item->settled);
    } else if (status == KERNEL_OK && expected == KERNEL_OUT_OF_MEMORY) {
        set_cause(verdict, RECORD_CAUSE_NOT_REFUSED);
    } else if (tells_refusal(status) || (status == KERNEL_OUT_OF_MEMORY && tells_refusal(expected))) {
        set_cause(verdict, expected == KERNEL_OK ? RECORD_CAUSE_VALID_REFUSED : RECORD_CAUSE_OTHER_REFUSAL);
        if (expected == KERNEL_OK) take_message(result, record);
        if (expected == KERNEL_OK && status == KERNEL_INVALID_CONFIG)
            name_meaningless(session->check->options.lesson, item->settled.part, record);
    }
    if (!asked_too_much && record->note[0] != '\0') record->message = RECORD_STATUS_EXPLAINED;
}

/* The size of a workspace that is asked for beyond any launch: where the contract only limits it, no more than the limit;
 * if that is SIZE_MAX, it must not fit. */
static int limit_kept(const struct item *item, const struct wire_result *result, struct verdict *verdict)
{
    const uint64_t most = item->settled.workspace_most, asked = result->workspace_asked;
    if (!(item->settled.flags & CASE_ASK_ONLY) || most == 0 ||
        (most == SIZE_MAX ? asked == most : asked <= most))
        return 1;
    struct record *record = say(verdict, STATE_FAIL, RECORD_WRONG_WORKSPACE, RECORD_ASKED_WORKSPACE);
    record->number[RECORD_N_FIRST] = (int64_t)asked;
    record->number[RECORD_N_SECOND] = (int64_t)most;
    return 0;
}

static int status_right(const struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    size_t contract = session->check->options.lesson->workspace_bytes(&item->settled);
    for (int run = 0; run < 2; run++) {
        enum kernel_status status = (enum kernel_status)result->status[run];
        if (status == KERNEL_NOT_STARTED) {
            say(verdict, STATE_NOT_STARTED, RECORD_NOT_STARTED, RECORD_ANY_VARIANT);
            return 0;
        }
        if (status == item->settled.expected) continue;
        judge_status(session, item, result, status, verdict);
        return 0;
    }
    if (contract == SIZE_MAX) return limit_kept(item, result, verdict);
    if (result->workspace_asked == contract) return 1;
    struct record *record = say(verdict, STATE_FAIL, RECORD_WRONG_WORKSPACE, RECORD_ASKED_WORKSPACE);
    record->number[RECORD_N_FIRST] = (int64_t)result->workspace_asked;
    record->number[RECORD_N_SECOND] = (int64_t)contract;
    return 0;
}

/* The contract's buffers are all the device memory that a kernel may work in. The variables of a file are
 * large enough for a table; a matrix of scores does not fit. */
static int memory_right(const struct session *session, int index, struct verdict *verdict)
{
    const struct wire_result *result = &session_case(session, index)->result;
    if (result->variable_bytes <= WIRE_OWN_BYTES && result->constant_bytes <= WIRE_OWN_BYTES) return 1;
    const int constant = result->constant_bytes > WIRE_OWN_BYTES;
    struct record *record = say(verdict, STATE_FAIL, RECORD_OWN_MEMORY,
                                constant ? RECORD_CONSTANT_MEMORY : RECORD_VARIABLE_MEMORY);
    record->number[RECORD_N_FIRST] = (int64_t)(constant ? result->constant_bytes : result->variable_bytes);
    record->number[RECORD_N_SECOND] = WIRE_OWN_BYTES;
    return 0;
}

/* ---- the data -------------------------------------------------------------------------------------------- */

/* 1 if all that is wrong had to stay as it was. */
static int is_unasked(const struct judged *judged, int buffer)
{
    const double unasked = judged->session->check->options.lesson->unasked;
    const struct buffer_comparison *found = &judged->buffer[buffer];
    for (size_t i = 0; i < found->wrong && i < WRONG_KEPT; i++)
        if (found->first[i].expected != unasked) return 0;
    return unasked != 0.0;
}

static void judge_wrong(const struct judged *judged, int buffer, struct verdict *verdict)
{
    const struct buffer_comparison *found = &judged->buffer[buffer];
    const struct lesson_buffer *shape = &judged->item->buffer[buffer];
    const struct wrong *wrong = &found->first[0];
    struct record unwritten = {0};
    if (judged->item->one_call && !compare_written(judged, buffer, &unwritten)) {
        say_found(verdict, &unwritten);
        return;
    }
    if (is_unasked(judged, buffer)) {
        compare_place(shape, wrong->at,
                      say(verdict, STATE_FAIL, RECORD_WROTE_REFUSED, RECORD_OUTPUT_UNASKED));
        set_note(verdict, judged->session->check->options.lesson->left_out);
        return;
    }
    struct record *record = say(verdict, STATE_FAIL, RECORD_WRONG_VALUE, RECORD_ANY_VARIANT);
    record->value = (struct record_value){.expected = wrong->expected,
                                          .got = wrong->got,
                                          .share = fabs(wrong->got - wrong->expected) / wrong->bound,
                                          .wrong = found->wrong,
                                          .compared = found->compared};
    compare_place(shape, wrong->at, record);
    diagnose_item(judged, buffer, verdict);
    verdict->all_zero = diagnose_all_zero(judged, buffer);
}

static void judge_norm(const struct judged *judged, int buffer, struct verdict *verdict)
{
    const struct buffer_comparison *found = &judged->buffer[buffer];
    double times = compare_norm_share(found);
    struct record *record = say(verdict, STATE_FAIL, RECORD_LARGE_ERROR, RECORD_ANY_VARIANT);
    record->value = (struct record_value){.expected = found->largest_error / times,
                                          .got = found->largest_error,
                                          .share = times,
                                          .compared = found->compared};
    compare_place(&judged->item->buffer[buffer], 0, record);
    record->real[0] = found->largest_plain_error;
    record->real[1] = times;
    record->cause = RECORD_CAUSE_ROUNDING;
    record->certainty = RECORD_ROUNDING;
}

/* 1 if some element of an input is infinite or NaN; @p unread: or of what no kernel may read, which is a cache where nobody has
 * appended, or NaN where no result has to be infinite or NaN. */
static int holds_special(const struct judged *judged, int unread)
{
    int comes_out = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) comes_out |= judged->buffer[b].special > 0;
    for (int b = 0; b < judged->item->buffer_count; b++)
        for (size_t i = 0; judged->inputs[b] != NULL && i < lesson_elems(&judged->item->buffer[b]); i++)
            if (!isfinite(judged->inputs[b][i]) &&
                (unread || ((comes_out || isinf(judged->inputs[b][i])) &&
                            strcmp(judged->item->buffer[b].name, "cache") != 0)))
                return 1;
    return 0;
}

/* 1 if every element that is wrong either is, or should be, infinite or NaN, and comes of an input that is. */
static int only_special_wrong(const struct judged *judged)
{
    for (int b = 0; b < judged->item->buffer_count; b++) {
        const struct buffer_comparison *found = &judged->buffer[b];
        if (found->wrong > 0 && found->first == NULL) return 0;
        for (size_t i = 0; i < found->wrong && i < WRONG_KEPT; i++)
            if (isfinite(found->first[i].got) && isfinite(found->first[i].expected)) return 0;
    }
    return holds_special(judged, 1);
}

static void judge_values(struct judged *judged, struct verdict *verdict)
{
    struct record broken = {0};
    struct record *found;
    int right = compare_values(judged, &broken);
    if (broken.kind != RECORD_NO_KIND) {
        say_found(verdict, &broken);
        verdict->state = STATE_NOT_GRADED;
        return;
    }
    size_t compared = 0;
    for (int b = 0; b < judged->item->buffer_count; b++) compared += judged->buffer[b].compared;
    verdict->not_told = judged->item->settled.parts.total > 0 && compared == 0;
    verdict->budget_share = judged->share;
    verdict->sampled = judged->sampled;
    verdict->units = judged->units;
    for (int b = 0; b < judged->item->buffer_count && !right; b++) {
        if (judged->buffer[b].wrong > 0) {
            judge_wrong(judged, b, verdict);
            verdict->special = only_special_wrong(judged);
            /* whole numbers are never NaN, whatever they come of */
            verdict->ordinary = !verdict->special && judged->item->buffer[b].storage != STORAGE_I32 &&
                                holds_special(judged, 0);
            return;
        }
        if (compare_norm_share(&judged->buffer[b]) > 1.0) {
            judge_norm(judged, b, verdict);
            return;
        }
    }
    char reason[RECORD_NOTE];
    if (compare_identity(judged, reason, sizeof reason)) return;
    found = say(verdict, STATE_FAIL, RECORD_BROKEN_IDENTITY, RECORD_ANY_VARIANT);
    snprintf(found->note, sizeof found->note, "%s", reason);
}

/* How many arguments differ. */
static int unlike(const struct lesson_case *one, const struct lesson_case *other)
{
    int count = 0;
    for (int i = 0; i < WIRE_VALUES; i++) count += one->value[i] != other->value[i];
    for (int i = 0; i < LESSON_EXTENTS; i++) count += one->extent[i] != other->extent[i];
    for (int i = 0; i < LESSON_STARTS; i++) count += one->start[i] != other->start[i];
    return count;
}

/* Of the items of the set before this one that have other bits, tells of the one whose arguments are most alike. */
static void tell_nearest(const struct session *session, const struct judged *judged, struct record *found)
{
    const struct lesson_case *mine = &judged->item->settled;
    int least = INT_MAX;
    for (int i = judged->index - 1; i >= 0 && session->item[i].case_index == judged->item->case_index; i--) {
        const struct lesson_case *its = &session->item[i].settled;
        struct record record;
        struct judged other;
        if (session->item[i].end != ITEM_ANSWERED || judged_open(&other, session, i) != 0) return;
        if (unlike(mine, its) < least && !compare_same_bits(judged, &other, &record)) {
            least = unlike(mine, its);
            *found = record;
        }
        judged_close(&other);
        if (!(its->flags & CASE_SAME_BITS)) return;
    }
}

/* What a property demands of an item beyond right values. */
static void judge_pair(const struct lesson *lesson, const struct judged *judged, const struct judged *earlier,
                       struct verdict *verdict)
{
    const struct lesson_case *settled = &judged->item->settled;
    struct record found;
    char reason[RECORD_NOTE];
    if ((settled->flags & CASE_SAME_BITS) != 0 && !compare_same_bits(judged, earlier, &found)) {
        say_found(verdict, &found);
    } else if (lesson->holds != NULL && !lesson->holds(settled, judged->got[0], &earlier->item->settled,
                                                       earlier->got[0], reason, sizeof reason)) {
        say(verdict, STATE_FAIL, RECORD_BROKEN_PROPERTY, RECORD_ANY_VARIANT);
        set_note(verdict, reason);
    }
}

/* Also compares an item of a property with the one before it. Items that must have the same bits always
 * have one. */
static void judge_property(struct session *session, const struct judged *judged, struct verdict *verdict)
{
    const struct lesson *lesson = session->check->options.lesson;
    const struct item *item = judged->item, *before = judged->index > 0 ? item - 1 : NULL;
    int same_bits = (item->settled.flags & CASE_SAME_BITS) != 0;
    if (before == NULL || before->case_index != item->case_index ||
        before->item_index + 1 != item->item_index) {
        if (same_bits && !session->check->options.bench) say_broken(verdict, RECORD_NOTHING_TO_AGREE);
        return;
    }
    if (before->end != ITEM_ANSWERED || (lesson->holds == NULL && !same_bits)) return;
    struct judged earlier;
    if (judged_open(&earlier, session, judged->index - 1) != 0)
        say_broken(verdict, RECORD_NO_MEMORY);
    else
        judge_pair(lesson, judged, &earlier, verdict);
    if (verdict->record.kind == RECORD_WRONG_BITS) tell_nearest(session, judged, &verdict->record);
    judged_close(&earlier);
}

/* Compares a timed call whose inputs differ from the checked ones with the oracle, too. Only for untrusted
 * kernels: at the sizes that are timed the oracle is most of the cost of a check, and students do not
 * cheat themselves. */
static void judge_turned(struct session *session, int index, int which, struct verdict *verdict)
{
    struct judged judged;
    struct item turned;
    int opened = judged_open_turned(&judged, &turned, session, index, which);
    struct verdict found = {.state = STATE_PASS};
    if (opened == -1) say_broken(verdict, RECORD_NO_MEMORY);
    if (opened == -2) say(verdict, STATE_FAIL, RECORD_TIMED_CALL, RECORD_NO_OTHER_INPUTS);
    if (opened == 0) judge_values(&judged, &found);
    if (found.state != STATE_PASS) {
        verdict->state = found.state;
        verdict->record = found.record;
        verdict->record.cause = RECORD_NO_CAUSE_KNOWN; /* the student cannot see these inputs */
        verdict->record.certainty = RECORD_NO_CAUSE;
        verdict->record.number[RECORD_N_OTHER_INPUTS] = 1;
        verdict->record.number[RECORD_N_NEIGHBOURS] = 0;
    }
    judged_close_turned(&judged, &turned);
}

/* Where two runs differ because they take different code paths, one may be right: the other one shows
 * more. */
static void judge_worse_run(struct judged *judged, struct verdict *verdict)
{
    struct record broken = {0};
    for (int run = 0; run < 2 && verdict->record.certainty == RECORD_NO_CAUSE; run++) {
        for (int b = 0; b < judged->item->buffer_count; b++) {
            const void *raw = judged->raw[0][b];
            const float *got = judged->got[0][b];
            if (run == 0) continue;
            judged->raw[0][b] = judged->raw[1][b], judged->raw[1][b] = raw;
            judged->got[0][b] = judged->got[1][b], judged->got[1][b] = got;
            free(judged->buffer[b].first);
            judged->buffer[b] = (struct buffer_comparison){0};
        }
        if (compare_values(judged, &broken) || broken.kind != RECORD_NO_KIND) continue;
        for (int b = 0; b < judged->item->buffer_count && verdict->record.certainty == RECORD_NO_CAUSE; b++)
            if (judged->buffer[b].wrong > 0) diagnose_item(judged, b, verdict);
    }
}

static void judge_data(struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    struct judged judged;
    struct record found;
    if (item->settled.flags & CASE_ASK_ONLY || verdict->not_told) return;
    uint64_t begin = phases_now();
    if (judged_open(&judged, session, index) != 0) {
        say_broken(verdict, RECORD_NO_MEMORY);
    } else if (!compare_untouched(&judged, &found)) {
        say_found(verdict, &found);
    } else if (judged.item->settled.expected != KERNEL_OK ||
               (judged.item->settled.flags & CASE_LAUNCH_ONLY)) {
        if (!compare_refused(&judged, &found)) say_found(verdict, &found);
    } else if (!compare_runs(&judged, &found)) {
        say_found(verdict, &found);
        if (found.kind == RECORD_RUNS_DIFFER && compare_two_places(&judged))
            judge_worse_run(&judged, verdict);
    } else {
        phases_add(session->check, item, PHASE_BITS, begin);
        begin = phases_now();
        judge_values(&judged, verdict);
        phases_add(session->check, item, PHASE_ORACLE, begin);
        begin = phases_now();
        if (verdict->state == STATE_PASS) judge_property(session, &judged, verdict);
        if (verdict->state == STATE_PASS && session->timed > 0 &&
            session_case(session, index)->result.sample_count > 0 && !compare_timed(&judged, &found))
            say_found(verdict, &found);
        int doubted = session->timed > 0 && session->check->options.isolated;
        for (int which = 0; doubted && which < WIRE_JUDGED; which++)
            if (verdict->state == STATE_PASS) judge_turned(session, index, which, verdict);
    }
    judged_close(&judged);
    phases_add(session->check, item, PHASE_BITS, begin);
}

/* Comes last: somebody who prints to find a mistake should hear of the mistake first. */
static void judge_manners(const struct session *session, int index, struct verdict *verdict)
{
    enum { NOT_READY = 600 }; /* cudaErrorNotReady */
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    if (item->text[0] != '\0') {
        say(verdict, STATE_FAIL, RECORD_PRINTS, RECORD_ANY_VARIANT);
        take_findings(item, verdict);
    } else if (result->args_written) {
        say(verdict, STATE_FAIL, RECORD_WROTE_ARGS, RECORD_ANY_VARIANT);
    } else if (result->left_running) {
        struct record *record = say(verdict, STATE_FAIL, RECORD_CUDA_ERROR, RECORD_ANY_VARIANT);
        record->number[RECORD_N_FIRST] = NOT_READY;
        take_message(result, record);
    }
}

/* Which failures do not say that a part's values are wrong: those of a property about places where buffers begin, which no
 * lesson's own use has. */
static int is_of_places(const struct item *item)
{
    return item->settled.group == GROUP_PROPERTIES && item->settled.misaligned_buffer >= 0;
}

/* Whether a buffer lies apart on the device, over more memory than a device may have. */
static int is_far(const struct item *item)
{
    for (int b = 0; b < WIRE_BUFFERS; b++)
        if (item->settled.apart[b] != 0) return 1;
    return 0;
}

/* Adds the verdict on an item to that on its case. Several workers may have items of a case: what comes of them does not depend
 * on their order. */
static void merge(struct verdict *total, const struct verdict *verdict, const struct item *item)
{
    const int failed_before = total->items > 0 && total->state != STATE_PASS;
    const int failed = verdict->state != STATE_PASS;
    const int special = failed_before && failed ? total->special && verdict->special
                        : failed_before         ? total->special
                                                : verdict->special;
    const double share = fmax(total->budget_share, verdict->budget_share);
    const double seconds = total->measurement.host_seconds + item->host_seconds;
    const int items = total->items + 1, worse = rank_of(verdict->state) - rank_of(total->state);
    /* Of equally bad items the first is reported, with its own shape. */
    if (items == 1 || worse > 0 || (worse == 0 && item->item_index < total->item)) {
        struct measurement kept = total->measurement;
        *total = *verdict;
        total->measurement = kept;
        total->item = item->item_index;
    }
    total->items = items;
    total->special = special;
    total->budget_share = share;
    total->measurement.host_seconds = seconds;
}

void judge_item(struct session *session, int index)
{
    const struct item *item = &session->item[index];
    struct verdict *total = &session->check->verdicts[item->case_index];
    const struct lesson *lesson = session->check->options.lesson;
    struct verdict verdict = {.state = STATE_PASS, .about = item->settled.about};
    /* what an item of a property tests is not what its first one does */
    if (verdict.about == NULL && item->settled.repeat > 1 && lesson->purpose != NULL)
        verdict.about = lesson->purpose(&item->settled);
    /* the kernel needs no workspace, so a missing one is no fault */
    if ((item->settled.flags & CASE_IF_WORKSPACE) &&
        session_case(session, index)->result.workspace_asked == 0)
        session->item[index].settled.expected = KERNEL_OK;
    lesson->describe(&item->settled, verdict.shape, sizeof verdict.shape);
    const struct wire_result *result = &session_case(session, index)->result;
    verdict.not_told = is_far(item) && result->not_told && result->ended == 0;
    if (answered(session, index, &verdict) && device_content(session, index, &verdict) &&
        status_right(session, index, &verdict) && memory_right(session, index, &verdict))
        judge_data(session, index, &verdict);
    if (verdict.state == STATE_PASS) judge_manners(session, index, &verdict);
    verdict.special = verdict.state != STATE_PASS && (verdict.special || is_of_places(item));
    workers_merge(session->check, 1);
    merge(total, &verdict, item);
    workers_merge(session->check, 0);
}
