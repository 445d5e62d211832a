/**
 * @file judge.c
 * @brief The order of questions: did it answer, did it start, did the device object, did it return what it
 *        should, did it keep to its buffers, do both runs agree, is every element right.
 */
#include "judge.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"

/* How bad a state is; the worst item decides for its case. */
static int rank_of(enum state state)
{
    static const int rank[STATE_COUNT] = {
        [STATE_PASS] = 0,  [STATE_NOT_STARTED] = 2, [STATE_FAIL] = 3,  [STATE_TIMEOUT] = 4,
        [STATE_CRASH] = 5, [STATE_NO_DEVICE] = 1,   [STATE_BROKEN] = 6};
    return rank[state];
}

static void say(struct verdict *verdict, enum state state, const char *headline)
{
    verdict->state = state;
    snprintf(verdict->headline, sizeof verdict->headline, "%s", headline);
}

/* ---- the runner ------------------------------------------------------------------------------------------ */

static void judge_crash(const struct check *check, const struct item *item, struct verdict *verdict)
{
    char text[VERDICT_TEXT];
    if (item->end == ITEM_LATE && item->host_seconds > 0.0)
        snprintf(text, sizeof text, "the time limit passed: an endless loop, a deadlock, or far too slow");
    else if (item->end == ITEM_LATE && check->overdue)
        snprintf(text, sizeof text, "not tried: all cases together took longer than %.0f s (--total-limit)",
                 check->options.total_limit);
    else if (item->end == ITEM_LATE)
        snprintf(text, sizeof text, "not tried: the time limit passed in cases of this part before");
    else if (item->end == ITEM_GREEDY && item->host_seconds <= 0.0)
        snprintf(text, sizeof text, "not tried: cases of this part took all memory before");
    else if (item->end == ITEM_GREEDY)
        snprintf(text, sizeof text, "the runner took more memory of the host than any case needs");
    else if (item->signal != 0)
        snprintf(text, sizeof text, "the runner was killed by signal %d (%s)", item->signal,
                 strsignal(item->signal));
    else
        snprintf(text, sizeof text, "the runner ended by itself (exit code %d) before it had answered",
                 item->exit_code);
    say(verdict, item->end == ITEM_LATE ? STATE_TIMEOUT : STATE_CRASH, text);
    if (item->signal == SIGFPE) {
        snprintf(verdict->pattern, sizeof verdict->pattern, "an integer was divided by zero");
        verdict->pattern_kind = PATTERN_CAUSE;
    }
    /* What a kernel does with a wrong pointer is found by the device. */
    if (item->signal == SIGSEGV && item->text[0] == '\0' && item->record_count == 0) {
        snprintf(verdict->pattern, sizeof verdict->pattern,
                 "a function of the host used a pointer that is null, or is not the host's: device memory is "
                 "for kernels and cudaMemcpy");
        verdict->pattern_kind = PATTERN_CAUSE;
    }
    session_tell(item, verdict->detail, sizeof verdict->detail);
}

/* 1 if there is an answer to look at. */
static int answered(const struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    if (session->check->broken[0] != '\0') {
        say(verdict, STATE_BROKEN, session->check->broken);
    } else if (item->end != ITEM_ANSWERED && item->end != ITEM_NOT_RUN) {
        judge_crash(session->check, item, verdict);
    } else if (item->end == ITEM_NOT_RUN && session->header->no_device &&
               session->check->options.device == DEVICE_GPU) {
        say(verdict, STATE_NO_DEVICE, session->check->device_name);
    } else if (item->end == ITEM_NOT_RUN) {
        say(verdict, STATE_CRASH, "the runner gave up before it came to this case");
    } else if (memcmp(result->stamp, item->nonce, sizeof item->nonce) != 0) {
        say(verdict, STATE_CRASH, "the runner said that it was done, but its result is not complete");
    } else {
        return 1;
    }
    return 0;
}

/* The runner's text comes from the untrusted side: it may lack its terminator. */
static void device_message(const struct wire_result *result, char *text, size_t size)
{
    snprintf(text, size, "CUDA error %d: %.*s", result->cuda_error, (int)sizeof result->cuda_message - 1,
             result->cuda_message);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* Where the device objects: the workspace is as large as the kernel file asks for, and what does not fit is out of bounds. */
static void tell_of_workspace(const struct session *session, int index, struct verdict *verdict)
{
    const size_t contract = session->check->options.lesson->workspace_bytes(&session->item[index].settled);
    const unsigned long long asked = session_case(session, index)->result.workspace_asked;
    if (contract == SIZE_MAX || asked >= contract) return;
    snprintf(verdict->pattern, sizeof verdict->pattern,
             "the workspace is too small: ..._workspace_bytes() says %llu bytes, the contract %zu%s", asked,
             contract, asked == 0 ? ", so that the kernel is given none, and NULL as its pointer" : "");
    verdict->pattern_kind = PATTERN_CAUSE;
}

static int device_content(const struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    char text[VERDICT_TEXT];
    if (item->finding || result->findings > 0) {
        say(verdict, STATE_FAIL,
            item->record_count > 0
                ? "the software device found a mistake"
                : "the software device found a mistake; checked alone, the case shows where");
        session_tell(item, verdict->detail, sizeof verdict->detail);
        tell_of_workspace(session, index, verdict);
        return 0;
    }
    if (result->cuda_error == 0) return 1;
    device_message(result, text, sizeof text);
    say(verdict, result->setup_failed ? STATE_BROKEN : STATE_FAIL, text);
    if (!result->setup_failed) tell_of_workspace(session, index, verdict);
    session_tell(item, verdict->detail, sizeof verdict->detail);
    return 0;
}

/* Of a workspace that the contract limits, as much as the limit is given. */
static size_t workspace_given(const struct session *session, const struct item *item)
{
    size_t contract = session->check->options.lesson->workspace_bytes(&item->settled);
    for (int b = 0; b < item->buffer_count && contract == SIZE_MAX; b++)
        if (item->buffer[b].role == WIRE_WORKSPACE) return lesson_bytes(&item->buffer[b]);
    return contract;
}

/* What to look at where an entry point refuses what it should take; NULL if @p status does not tell of that. */
static const char *refusal(enum kernel_status status)
{
    switch (status) {
    case KERNEL_INVALID_CONFIG:
        return "does a check ask for a pointer that may be NULL here, or for another option?";
    case KERNEL_INVALID_DIMENSION:
        return "does a check ask more of an extent, or of a leading dimension, than the contract does?";
    case KERNEL_UNSUPPORTED_DTYPE:
        return "does a check leave out a storage type, or look at one that has no meaning here?";
    case KERNEL_ALIGNMENT_ERROR:
        return "does a check ask for a larger alignment than the contract does, or look at a pointer that "
               "has "
               "no meaning here?";
    default:
        return NULL;
    }
}

static int status_right(const struct session *session, int index, struct verdict *verdict)
{
    const struct item *item = &session->item[index];
    const struct wire_result *result = &session_case(session, index)->result;
    char text[VERDICT_TEXT];
    size_t contract = session->check->options.lesson->workspace_bytes(&item->settled);
    for (int run = 0; run < 2; run++) {
        enum kernel_status status = (enum kernel_status)result->status[run];
        if (status == KERNEL_NOT_STARTED) {
            say(verdict, STATE_NOT_STARTED, "KERNEL_NOT_STARTED: nothing has been written here yet");
            return 0;
        }
        if (status == item->settled.expected) continue;
        snprintf(text, sizeof text, "returned %s, expected %s", kernel_status_name(status),
                 kernel_status_name(item->settled.expected));
        size_t given = workspace_given(session, item);
        if (status == KERNEL_OUT_OF_MEMORY && given != SIZE_MAX && result->workspace_asked > given)
            snprintf(text, sizeof text,
                     "asked for %llu bytes of workspace, but was given the %zu of the contract",
                     (unsigned long long)result->workspace_asked, given);
        say(verdict, STATE_FAIL, text);
        if (status == KERNEL_CUDA_ERROR && item->settled.expected == KERNEL_OK) {
            const char *refused = session->check->options.lesson->refused;
            snprintf(
                verdict->pattern, sizeof verdict->pattern, "%s",
                refused != NULL
                    ? refused
                    : "the runtime refused a call: a launch of no block, of too many (did a product or sum "
                      "overflow?), of more than 1024 threads, or of more than 48 KB of shared memory that "
                      "were "
                      "not asked for; or, while capturing, a wait or an allocation");
            verdict->pattern_kind = PATTERN_CAUSE;
        } else if (item->settled.expected == KERNEL_OK && refusal(status) != NULL) {
            snprintf(verdict->pattern, sizeof verdict->pattern, "valid arguments are refused: %s",
                     refusal(status));
            verdict->pattern_kind = PATTERN_CAUSE;
        }
        return 0;
    }
    if (contract == SIZE_MAX || result->workspace_asked == contract) return 1;
    snprintf(text, sizeof text, "..._workspace_bytes() says %llu bytes, the contract %zu",
             (unsigned long long)result->workspace_asked, contract);
    say(verdict, STATE_FAIL, text);
    return 0;
}

/* What the contract gives is all the device memory there is for the work itself. A table fits in what a file may have of its
 * own; a matrix of scores does not. */
static int memory_right(const struct session *session, int index, struct verdict *verdict)
{
    const struct wire_result *result = &session_case(session, index)->result;
    char text[VERDICT_TEXT];
    if (result->variable_bytes <= WIRE_OWN_BYTES && result->constant_bytes <= WIRE_OWN_BYTES) return 1;
    if (result->constant_bytes > WIRE_OWN_BYTES)
        snprintf(text, sizeof text, "has %llu bytes of __constant__ variables, but a GPU has room for %d",
                 (unsigned long long)result->constant_bytes, WIRE_OWN_BYTES);
    else
        snprintf(
            text, sizeof text,
            "has %llu bytes of __device__ and static variables, but a kernel file may have %d beside the "
            "memory that it is given",
            (unsigned long long)result->variable_bytes, WIRE_OWN_BYTES);
    say(verdict, STATE_FAIL, text);
    return 0;
}

/* ---- the data -------------------------------------------------------------------------------------------- */

static void tell_number(enum storage storage, double value, char *text, size_t size)
{
    if (isnan(value)) {
        snprintf(text, size, "NaN");
    } else if (storage == STORAGE_I32) {
        snprintf(text, size, "%.0f", value); /* all digits of a whole number */
    } else {
        snprintf(text, size, "%.6g", value);
    }
}

static void judge_wrong(const struct judged *judged, int buffer, struct verdict *verdict)
{
    const struct buffer_comparison *found = &judged->buffer[buffer];
    const struct wrong *wrong = &found->first[0];
    char name[96], got[32], expected[32], times[48] = "";
    compare_name(&judged->item->buffer[buffer], wrong->at, name, sizeof name);
    enum storage storage = judged->item->buffer[buffer].storage;
    tell_number(storage, wrong->got, got, sizeof got);
    tell_number(storage, wrong->expected, expected, sizeof expected);
    double share = fabs(wrong->got - wrong->expected) / wrong->bound;
    if (isfinite(share)) snprintf(times, sizeof times, " (%.3gx the error budget)", share);
    verdict->state = STATE_FAIL;
    snprintf(verdict->headline, sizeof verdict->headline, "%s = %s, expected %s%s; %zu of %zu wrong", name,
             got, expected, times, found->wrong, found->compared);
    diagnose_item(judged, buffer, verdict);
    verdict->all_zero = diagnose_all_zero(judged, buffer);
}

static void judge_norm(const struct judged *judged, int buffer, struct verdict *verdict)
{
    const struct buffer_comparison *found = &judged->buffer[buffer];
    double times = compare_norm_share(found);
    verdict->state = STATE_FAIL;
    snprintf(verdict->headline, sizeof verdict->headline,
             "largest error of %s is %.3g; a computation in f32%s may lose %.3g, a plain one loses %.3g",
             judged->item->buffer[buffer].name, found->largest_error,
             judged->item->buffer[buffer].storage == STORAGE_F32 ? "" : ", stored so",
             found->largest_error / times, found->largest_plain_error);
    diagnose_rounding(times, verdict->pattern, sizeof verdict->pattern);
    verdict->pattern_kind = PATTERN_ROUNDING;
}

static void judge_values(struct judged *judged, struct verdict *verdict)
{
    char broken[VERDICT_TEXT];
    int right = compare_values(judged, broken, sizeof broken);
    if (broken[0] != '\0') {
        say(verdict, STATE_BROKEN, broken);
        return;
    }
    verdict->budget_share = judged->share;
    verdict->sampled = judged->sampled;
    verdict->units = judged->units;
    for (int b = 0; b < judged->item->buffer_count && !right; b++) {
        if (judged->buffer[b].wrong > 0) {
            judge_wrong(judged, b, verdict);
            return;
        }
        if (compare_norm_share(&judged->buffer[b]) > 1.0) {
            judge_norm(judged, b, verdict);
            return;
        }
    }
    char reason[VERDICT_TEXT];
    if (!compare_identity(judged, reason, sizeof reason)) say(verdict, STATE_FAIL, reason);
}

/* An item of a property is also held against the one before it. One that must have the same bits never goes without. */
static void judge_property(struct session *session, const struct judged *judged, struct verdict *verdict)
{
    const struct lesson *lesson = session->check->options.lesson;
    const struct item *item = judged->item, *before = judged->index > 0 ? item - 1 : NULL;
    int same_bits = (item->settled.flags & CASE_SAME_BITS) != 0;
    char reason[VERDICT_TEXT];
    if (before == NULL || before->case_index != item->case_index ||
        before->item_index + 1 != item->item_index) {
        if (same_bits && !session->check->options.bench)
            say(verdict, STATE_BROKEN, "what this has to agree with is not there; please report this");
        return;
    }
    if (before->end != ITEM_ANSWERED || (lesson->holds == NULL && !same_bits)) return;
    struct judged earlier;
    if (judged_open(&earlier, session, judged->index - 1) != 0)
        say(verdict, STATE_BROKEN, "no memory to compare the result");
    else if ((same_bits && !compare_same_bits(judged, &earlier, reason, sizeof reason)) ||
             (lesson->holds != NULL && !lesson->holds(&item->settled, judged->got[0], &before->settled,
                                                      earlier.got[0], reason, sizeof reason)))
        say(verdict, STATE_FAIL, reason);
    judged_close(&earlier);
}

/* A call of those that were timed, with other inputs than the checked ones, is held against the oracle like them. Only of an
 * untrusted kernel: at the sizes that are timed the oracle is most of what a check costs, and nobody cheats themselves. */
static void judge_turned(struct session *session, int index, int which, struct verdict *verdict)
{
    static const char what[] = "a timed call with other inputs: ";
    struct judged judged;
    struct item turned;
    int opened = judged_open_turned(&judged, &turned, session, index, which);
    struct verdict found = {.state = STATE_PASS};
    if (opened == -1) say(verdict, STATE_BROKEN, "no memory to compare the result");
    if (opened == -2) say(verdict, STATE_FAIL, "the timing loop made no call with other inputs");
    if (opened == 0) judge_values(&judged, &found);
    if (found.state != STATE_PASS) {
        verdict->state = found.state;
        snprintf(verdict->headline, sizeof verdict->headline, "%s%.*s", what,
                 (int)(sizeof verdict->headline - sizeof what), found.headline);
    }
    judged_close_turned(&judged, &turned);
}

/* Of two runs that differ, because they take two ways, one may be right: the other one tells more. */
static void judge_worse_run(struct judged *judged, struct verdict *verdict)
{
    char broken[VERDICT_TEXT];
    for (int run = 0; run < 2 && verdict->pattern[0] == '\0'; run++) {
        for (int b = 0; b < judged->item->buffer_count; b++) {
            const void *raw = judged->raw[0][b];
            const float *got = judged->got[0][b];
            if (run == 0) continue;
            judged->raw[0][b] = judged->raw[1][b], judged->raw[1][b] = raw;
            judged->got[0][b] = judged->got[1][b], judged->got[1][b] = got;
            free(judged->buffer[b].first);
            judged->buffer[b] = (struct buffer_comparison){0};
        }
        if (compare_values(judged, broken, sizeof broken) || broken[0] != '\0') continue;
        for (int b = 0; b < judged->item->buffer_count && verdict->pattern[0] == '\0'; b++)
            if (judged->buffer[b].wrong > 0) diagnose_item(judged, b, verdict);
    }
}

static void judge_data(struct session *session, int index, struct verdict *verdict)
{
    struct judged judged;
    char reason[VERDICT_TEXT];
    if (judged_open(&judged, session, index) != 0) {
        say(verdict, STATE_BROKEN, "no memory to compare the result");
    } else if (!compare_untouched(&judged, reason, sizeof reason)) {
        say(verdict, STATE_FAIL, reason);
    } else if (judged.item->settled.expected != KERNEL_OK ||
               (judged.item->settled.flags & CASE_LAUNCH_ONLY)) {
        if (!compare_refused(&judged, reason, sizeof reason)) say(verdict, STATE_FAIL, reason);
    } else if (!compare_runs(&judged, reason, sizeof reason)) {
        say(verdict, STATE_FAIL, reason);
        if (strncmp(reason, "differs", 7) == 0 && compare_two_places(&judged))
            judge_worse_run(&judged, verdict);
    } else {
        judge_values(&judged, verdict);
        if (verdict->state == STATE_PASS) judge_property(session, &judged, verdict);
        if (verdict->state == STATE_PASS && session->timed > 0 &&
            session_case(session, index)->result.sample_count > 0 &&
            !compare_timed(&judged, reason, sizeof reason))
            say(verdict, STATE_FAIL, reason);
        int doubted = session->timed > 0 && session->check->options.isolated;
        for (int which = 0; doubted && which < WIRE_JUDGED; which++)
            if (verdict->state == STATE_PASS) judge_turned(session, index, which, verdict);
    }
    judged_close(&judged);
}

/* Asked last: who prints to find a mistake is told the mistake. */
static void judge_text(const struct item *item, struct verdict *verdict)
{
    if (item->text[0] == '\0') return;
    say(verdict, STATE_FAIL, "right, but it prints: an entry point and its kernels never do");
    session_tell(item, verdict->detail, sizeof verdict->detail);
}

/* Which of its mistakes the software device named first while the item ran. */
static const char *kind_found(const struct session *session, int index)
{
    const struct item *item = &session->item[index];
    if (!item->finding && session_case(session, index)->result.findings == 0) return NULL;
    return item->record_count > 0 ? record_kind_name(item->record[0].kind) : "seen-before";
}

void judge_item(struct session *session, int index)
{
    const struct item *item = &session->item[index];
    struct verdict *total = &session->check->verdicts[item->case_index];
    struct verdict verdict = {.state = STATE_PASS};
    if ((item->settled.flags & CASE_IF_WORKSPACE) &&
        session_case(session, index)->result.workspace_asked == 0)
        session->item[index].settled.expected = KERNEL_OK; /* what is missing is not needed */
    session->check->options.lesson->describe(&item->settled, verdict.shape, sizeof verdict.shape);
    if (answered(session, index, &verdict) && device_content(session, index, &verdict) &&
        status_right(session, index, &verdict) && memory_right(session, index, &verdict))
        judge_data(session, index, &verdict);
    if (verdict.state == STATE_PASS) judge_text(item, &verdict);
    if (verdict.state != STATE_PASS) verdict.finding = kind_found(session, index);
    double share = fmax(total->budget_share, verdict.budget_share);
    double seconds = total->measurement.host_seconds + item->host_seconds;
    /* The first of equally bad items is told, and the shape is its own. */
    if (item->item_index == 0 || rank_of(verdict.state) > rank_of(total->state)) {
        struct measurement kept = total->measurement;
        *total = verdict;
        total->measurement = kept;
    }
    total->budget_share = share;
    total->measurement.host_seconds = seconds;
}
