/**
 * @file report.c
 * @brief The report for people.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checker/verdict/diagnose.h"
#include "record/words.h"

enum { SHOWN_IN_FULL = 3, SHOWN_CAUSES = 24, NAMED = 6, SHOWN_LINES = 14 };

const char *report_group(enum case_group group)
{
    static const char *const names[GROUP_COUNT] = {"basic",     "edges",      "numerics",
                                                   "bad_input", "properties", "speed"};
    return names[group];
}

/* Text from untrusted code, indented: no control characters, and no tags that CTest reads. */
static void put_untrusted(const char *text, FILE *out)
{
    int lines = 0;
    for (const char *c = text; *c != '\0' && lines < SHOWN_LINES; lines++) {
        fputs("    | ", out);
        for (; *c != '\0' && *c != '\n'; c++) {
            unsigned char byte = (unsigned char)*c;
            fputc(byte == '<'                ? '('
                  : byte == '>'              ? ')'
                  : byte == '\t'             ? ' '
                  : byte < ' ' || byte > 126 ? '?'
                                             : byte,
                  out);
        }
        fputc('\n', out);
        if (*c == '\n') c++;
    }
}

void report_again(const struct check *check, int index, char *text, size_t size)
{
    const struct options *options = &check->options;
    char seed[40] = "";
    if (options->seed_given) snprintf(seed, sizeof seed, " --seed %llu", (unsigned long long)options->seed);
    const char *secret = options->secret_seed_file;
    snprintf(text, size, "build/bin/warpwise check %02d%s%s%s%s --case %s --device %s",
             options->lesson->number, options->again != NULL ? options->again : "", seed,
             secret != NULL ? " --secret-seed-file " : "", secret != NULL ? secret : "",
             check->cases[index].name, device_name(options->device));
}

void report_headline(const struct verdict *verdict, char *text, size_t size)
{
    record_verdict_headline(&verdict->record, text, size);
}

void report_pattern(const struct verdict *verdict, char *text, size_t size)
{
    record_print_cause(&verdict->record, text, size);
    size_t used = strlen(text);
    if (verdict->stage != NULL)
        snprintf(text + used, size - used, "%s%s", used > 0 ? "; " : "", verdict->stage);
}

void report_found(const struct verdict *verdict, const char *mark, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < verdict->finding_count && used + 1 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s", mark);
        if (used + 1 >= size) break;
        record_print(&verdict->finding[i], text + used, size - used - 1);
        used += strlen(text + used);
        text[used++] = '\n';
        text[used] = '\0';
    }
}

/* The findings of the device in its words, and what the program printed. */
static void put_findings(const struct verdict *verdict, FILE *out)
{
    char text[REPORT_FOUND + sizeof verdict->printed];
    report_found(verdict, "simt: ", text, REPORT_FOUND);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s", verdict->printed);
    put_untrusted(text, out);
}

/* 1 if the finding appears with the last case but is about the whole session: objects that were left,
 * unless they were made and left in one call. */
static int is_at_the_end(const struct verdict *verdict)
{
    const struct record *finding = &verdict->finding[0];
    if (verdict->finding_count == 0 || finding->kind != RECORD_LEAK) return 0;
    return finding->message != RECORD_SAYS_OBJECTS_LEFT || finding->number[1] == 0;
}

/* 1 if parts or rows lie so far apart that an offset needs 64 bits. */
static int is_far_case(const struct lesson_case *item)
{
    for (int b = 0; b < WIRE_BUFFERS; b++)
        if (item->apart[b] != 0) return 1;
    return 0;
}

static int part_has_failed(const struct check *check, int index, int part)
{
    enum state state = check->verdicts[index].state;
    if (!check->chosen[index] || check->cases[index].part != part) return 0;
    if (state == STATE_NOT_STARTED) return check_state(check, part) != STATE_NOT_STARTED;
    return state != STATE_PASS && state != STATE_NO_DEVICE;
}

/* 1 if a case of the part that is to be computed fails, whose parts and rows all lie near: what is wrong there is wrong in far cases as
 * well. */
static int fails_near(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (part_has_failed(check, i, part) && item->expected == KERNEL_OK && !is_far_case(item)) return 1;
    }
    return 0;
}

/* 1 if every failing case of the part has inputs that are infinite or NaN. */
static int fails_for_specials(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        const struct verdict *verdict = &check->verdicts[i];
        if (part_has_failed(check, i, part) && !verdict->ordinary && !verdict->special) return 0;
    }
    return 1;
}

static const char *about(const struct check *check, int index)
{
    const struct lesson *lesson = check->options.lesson;
    const struct lesson_case *item = &check->cases[index];
    if (check->verdicts[index].ordinary && !(item->flags & CASE_SAME_ADDRESSES) &&
        check->verdicts[index].record.cause != RECORD_CAUSE_STORAGE_TYPE &&
        fails_for_specials(check, item->part))
        return "only inputs with infinities or NaN fail, and ordinary results are wrong there: what stands "
               "beside one of those counts all the same";
    if (check->verdicts[index].about != NULL) return check->verdicts[index].about;
    if (item->about != NULL) return item->about;
    if (is_far_case(item) && check->verdicts[index].record.kind == RECORD_NEVER_WRITTEN)
        return "there is far more of one extent here than of others: how many elements do all blocks of each "
               "launch reach, or the loop in "
               "a block? Or has an offset 32 bits?";
    if (is_far_case(item))
        return "some of it lies beyond 2^32 elements: has an offset 32 bits, or a grid too few blocks?";
    return lesson->purpose != NULL ? lesson->purpose(item) : NULL;
}

/* 1 if a case of the part fails that has nothing special about it. */
static int fails_plainly(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++)
        if (part_has_failed(check, i, part) && about(check, i) == NULL) return 1;
    return 0;
}

/* 1 if a plain case of the part fails, too, and what is special about this one is so of as many that pass as that fail: not where it
 * is how far apart things are, which each case tries for others, nor where nothing is wrong but what is, or should be, infinite or
 * NaN. */
static int is_harmless(const struct check *check, int index)
{
    const char *purpose = about(check, index);
    int surplus = 0;
    const struct lesson_case *item = &check->cases[index];
    const int of_data = (item->distribution != 0 || item->scores != 0) && item->repeat == 1 &&
                        !(item->flags & CASE_SAME_ADDRESSES);
    if (is_far_case(item) || (check->verdicts[index].special && of_data)) return 0;
    for (int i = 0; i < check->case_count && purpose != NULL; i++) {
        if (!check->chosen[i] || check->cases[i].part != check->cases[index].part) continue;
        if (about(check, i) == purpose) surplus += check->verdicts[i].state == STATE_PASS ? 1 : -1;
    }
    return surplus >= 0 && fails_plainly(check, item->part);
}

/* 1 if shared memory or workspace was read where nobody wrote: how much of it is written depends on the case. */
static int is_own_unwritten(const struct record *record)
{
    return record->kind == RECORD_UNINITIALIZED_READ &&
           (record->memory.space == RECORD_SPACE_SHARED || record->memory.space == RECORD_SPACE_DYNAMIC ||
            strcmp(record->memory.buffer, "workspace") == 0);
}

/* 1 if a count is wrong, in a table of them. */
static int is_of_counts(const struct record *record)
{
    return record->kind == RECORD_WRONG_VALUE && record->value.storage == RECORD_WHOLE &&
           record->name[RECORD_NAME_FIELD][0] != '\0';
}

/* 1 if a failure of this kind may come of what a case's inputs are: it is one of contents, or a read of what was not given. Where
 * they are infinite or NaN, and ordinary elements are wrong, it does not, unless it may come of an earlier call's or nothing else
 * fails; nor where errors are of the size of what rounding leaves. */
static int is_of_inputs(const struct check *check, int index)
{
    const struct lesson_case *item = &check->cases[index];
    const struct verdict *verdict = &check->verdicts[index];
    const double few_bounds = 3.0;
    const int of_call = (item->flags & (CASE_SAME_ADDRESSES | CASE_MEANINGLESS)) != 0;
    switch ((enum record_kind)verdict->record.kind) {
    case RECORD_WRONG_VALUE:
    case RECORD_LARGE_ERROR:
        if (is_of_counts(&verdict->record)) return 0;
        if (is_far_case(item) && verdict->record.cause != RECORD_CAUSE_FAR && fails_near(check, item->part))
            return 0;
        return (verdict->record.certainty != RECORD_ROUNDING || verdict->record.value.share > few_bounds) &&
               (!verdict->ordinary || (item->flags & CASE_SAME_ADDRESSES) ||
                fails_for_specials(check, item->part));
    case RECORD_UNINITIALIZED_READ:
        if (is_far_case(item)) return 1;
        /* fall through */
    case RECORD_OUT_OF_BOUNDS: /* at an index read from there */
        return item->unread != 0 || of_call || (is_far_case(item) && item->about != NULL) ||
               is_own_unwritten(&verdict->record);
    case RECORD_MISALIGNED:
        return of_call ||
               (item->workspace_more > 0 && strcmp(verdict->record.memory.buffer, "workspace") == 0);
    case RECORD_HOST_POINTER:
        return of_call;
    case RECORD_GLOBAL_RACE:
    case RECORD_SAME_VALUE_RACE:
        return is_far_case(item) || (item->distribution == 0 && item->scores == 0 && item->special == 0);
    case RECORD_RUNS_DIFFER:
    case RECORD_NEVER_WRITTEN:
    case RECORD_WRONG_BITS:
    case RECORD_BROKEN_IDENTITY:
    case RECORD_BROKEN_PROPERTY:
    case RECORD_WROTE_REFUSED:
        return 1;
    case RECORD_WRONG_STATUS:
        if (item->flags & CASE_SECOND_DEVICE) return 1;
        /* what is usually refused is a list: what the case gives says more, unless that is its numbers */
        return verdict->record.cause == RECORD_NO_CAUSE_KNOWN ||
               verdict->record.cause == RECORD_CAUSE_NOT_REFUSED ||
               ((verdict->record.cause == RECORD_CAUSE_VALID_REFUSED ||
                 verdict->record.cause == RECORD_CAUSE_LAUNCH_REFUSED) &&
                verdict->record.message != RECORD_STATUS_EXPLAINED &&
                verdict->record.number[RECORD_N_FIRST] != KERNEL_UNSUPPORTED_ARCHITECTURE &&
                item->distribution == 0 && item->special == 0 && item->scores == 0);
    default:
        return 0;
    }
}

/* 1 if another case of the part fails of the same. */
static int fails_elsewhere(const struct check *check, int index)
{
    for (int i = 0; i < check->case_count; i++)
        if (i != index && part_has_failed(check, i, check->cases[index].part) &&
            record_same_cause(&check->verdicts[i].record, &check->verdicts[index].record))
            return 1;
    return 0;
}

/* 1 if what is special about a case may be why it fails: not a mistake that a guess names and other cases show, nor what most basic cases of the part
 * show as well; where results are not finite, errors of rounding are something else. */
static int explains_case(const struct check *check, int index)
{
    const struct verdict *verdict = &check->verdicts[index];
    const int beyond = verdict->record.certainty != RECORD_ROUNDING && !isfinite(verdict->record.value.got);
    int basic = 0, failed = 0;
    if (!is_of_inputs(check, index) || (verdict->record.guess > 0 && fails_elsewhere(check, index)) ||
        verdict->record.cause == RECORD_CAUSE_KEPT ||
        (verdict->record.cause == RECORD_CAUSE_NAN && verdict->record.number[RECORD_N_AXIS] != 0))
        return 0;
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (i == index || !check->chosen[i] || item->part != check->cases[index].part) continue;
        if (item->group != GROUP_BASIC || item->expected != KERNEL_OK) continue;
        basic++;
        failed += check->verdicts[i].state != STATE_PASS &&
                  !(beyond && check->verdicts[i].record.certainty == RECORD_ROUNDING);
    }
    return 2 * failed <= basic;
}

/* What the case tests, if its shape does not show that. */
static const char *purpose_of(const struct check *check, int index)
{
    const struct lesson_case *item = &check->cases[index];
    const struct verdict *verdict = &check->verdicts[index];
    if (item->flags & CASE_REFUSE_LAUNCHES)
        return "CUDA refuses the launch here: the entry point has to notice, and return KERNEL_CUDA_ERROR";
    if (is_at_the_end(verdict)) return "at the end of all cases that ran together";
    if (item->expected != KERNEL_OK && item->expected != KERNEL_CUDA_ERROR &&
        !(item->flags & CASE_IF_WORKSPACE) && (verdict->finding_count > 0 || verdict->printed[0] != '\0'))
        return "these arguments are to be refused: the entry point has to check them before it launches "
               "anything";
    return explains_case(check, index) && !is_harmless(check, index) ? about(check, index) : NULL;
}

void report_case(const struct check *check, int index, FILE *out)
{
    const struct verdict *verdict = &check->verdicts[index];
    const char *purpose = purpose_of(check, index);
    char text[2 * VERDICT_TEXT];
    report_headline(verdict, text, sizeof text);
    fprintf(out, "  %-11s case %s: %s\n", state_name(verdict->state), check->cases[index].name,
            verdict->shape);
    fprintf(out, "    %-12s %s\n", verdict->state == STATE_FAIL ? "wrong" : "what", text);
    report_pattern(verdict, text, sizeof text);
    if (text[0] != '\0') fprintf(out, "    %-12s %s\n", "pattern", text);
    if (purpose != NULL) fprintf(out, "    %-12s %s\n", "about", purpose);
    if (verdict->sampled > 0)
        fprintf(out, "    %-12s %zu of %zu rows%s\n", "sampled", verdict->sampled, verdict->units,
                check->options.lesson->identity != NULL ? ", and all elements by an identity" : "");
    put_findings(verdict, out);
    report_again(check, index, text, sizeof text);
    fprintf(out, "    %-12s %s\n", "again", text);
}

/* 99.96 of 100 points must not print as 100.0: anything short of all points is rounded down. */
static double short_of(double points, double most)
{
    return points < most - 1e-6 ? fmax(fmin(points, most - 0.1), 0.0) : points;
}

/* One line about one part. */
static void report_part(const struct check *check, int part)
{
    const struct lesson *lesson = check->options.lesson;
    int cases = 0, passed = 0, sampled = 0;
    double points = 0.0, share = 0.0;
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i] || check->cases[i].part != part) continue;
        cases++;
        passed += check_counts(check, i);
        sampled += check->verdicts[i].sampled > 0;
        points += check_points(check, i);
        if (check->verdicts[i].budget_share > share) share = check->verdicts[i].budget_share;
    }
    if (cases == 0) return;
    printf("  %-11s %-11s ", lesson->part[part].name, state_name(check_state(check, part)));
    if (!check->options.bench)
        printf("%5.1f/%d points, ", short_of(points, lesson->part[part].points), lesson->part[part].points);
    printf("%d of %d cases", passed, cases);
    if (passed == cases) printf(", largest error %.0f%% of its budget", 100.0 * share);
    if (sampled > 0) printf(", %d sampled", sampled);
    if (points > 0.0 && check_values_wrong(check, part))
        printf("; those that pass count half until every value is right");
    putchar('\n');
}

/* 1 if the report says of a case what is special about it. */
static int tells_purpose(const struct check *check, int index)
{
    return explains_case(check, index) && !is_harmless(check, index) && about(check, index) != NULL;
}

/* How precisely a failing case shows its cause: by the place of a finding, by what both runs show
 * together, or by the pattern of its values. */
static enum record_certainty certainty_of(const struct verdict *verdict)
{
    const int32_t cause = verdict->record.cause;
    if (record_names_cause(&verdict->record)) return RECORD_CAUSE;
    /* Where inputs are infinite or NaN, and ordinary values are wrong, too, those are not the cause. */
    if (verdict->ordinary && (cause == RECORD_CAUSE_NAN || cause == RECORD_CAUSE_INFINITY))
        return RECORD_NO_CAUSE;
    return (enum record_certainty)verdict->record.certainty;
}

/* Cases with the same cause are reported once. */
static int same_cause(const struct verdict *a, const struct verdict *b)
{
    const int by_stage = a->stage != NULL && a->record.cause == RECORD_NO_CAUSE_KNOWN &&
                         b->record.cause == RECORD_NO_CAUSE_KNOWN;
    return a->stage == b->stage && (by_stage || record_same_cause(&a->record, &b->record));
}

/** Names of cases on one line, as many as fit. */
struct names {
    const char *title;
    int count;
};

static void add_name(struct names *names, const char *name)
{
    if (names->count++ >= NAMED) return;
    if (names->count == 1)
        printf("  %s: %s", names->title, name);
    else
        printf(", %s", name);
}

static void end_names(const struct names *names)
{
    if (names->count > NAMED) printf(" and %d more (--verbose names them)", names->count - NAMED);
    if (names->count > 0) putchar('\n');
}

/** What has been reported so far, over all parts. */
struct told {
    int cases[CHECK_CASES];
    int count;
    const struct verdict *cause[SHOWN_CAUSES];
    int shown;
};

static int told_before(const struct told *told, const struct verdict *cause)
{
    for (int i = 0; i < told->count; i++)
        if (same_cause(told->cause[i], cause)) return 1;
    return 0;
}

/* Prints the names of the part's other cases with this cause. */
static void report_same(const struct check *check, int part, const char *title, const struct verdict *cause,
                        struct told *told)
{
    struct names same = {title, 0};
    for (int i = 0; i < check->case_count; i++) {
        if (told->cases[i] || !part_has_failed(check, i, part) || !same_cause(cause, &check->verdicts[i]))
            continue;
        told->cases[i] = 1;
        add_name(&same, check->cases[i].name);
    }
    end_names(&same);
}

/* Prints one case in full, the simplest with its cause, then the names of the others. A cause that an
 * earlier part has shown is not shown again. */
static void report_cause(struct check *check, int index, struct told *told)
{
    struct verdict *verdict = &check->verdicts[index];
    int part = check->cases[index].part;
    if (told_before(told, verdict)) {
        report_same(check, part, "as above", verdict, told);
        return;
    }
    report_case(check, index, stdout);
    verdict->shown = ++told->shown;
    told->cases[index] = 1;
    report_same(check, part, "  the same in", verdict, told);
    if (told->count < SHOWN_CAUSES) told->cause[told->count++] = verdict;
}

/* If most cases that compute something fail, the first of those, which is the simplest: then the special
 * feature of an involved case (infinities, NaN) is not the cause. -1 if few fail. */
static int simplest_of_most(const struct check *check, int part)
{
    int simplest = -1, failed = 0, cases = 0;
    for (int i = 0; i < check->case_count; i++) {
        enum case_group group = check->cases[i].group;
        if (!check->chosen[i] || check->cases[i].part != part) continue;
        if (group == GROUP_BAD_INPUT || group == GROUP_PROPERTIES) continue;
        cases++;
        failed += part_has_failed(check, i, part);
        if (simplest < 0 && part_has_failed(check, i, part)) simplest = i;
    }
    return 2 * failed > cases ? simplest : -1;
}

/* 1 if every failing case of the part names the same cause. */
static int have_one_cause(const struct check *check, int part)
{
    const struct verdict *first = NULL;
    for (int i = 0; i < check->case_count; i++) {
        const struct verdict *verdict = &check->verdicts[i];
        if (!part_has_failed(check, i, part)) continue;
        if (certainty_of(verdict) != RECORD_CAUSE) return 0;
        if (first == NULL) first = verdict;
        if (first != verdict && !same_cause(first, verdict)) return 0;
    }
    return first != NULL;
}

/* 1 if what is not infinite or NaN, and need not be, is wrong in a case of the part and shows where, or why. */
static int shows_without_specials(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        const struct verdict *verdict = &check->verdicts[i];
        if (part_has_failed(check, i, part) && !verdict->special && check->cases[i].expected == KERNEL_OK &&
            !is_far_case(&check->cases[i]) && certainty_of(verdict) != RECORD_NO_CAUSE)
            return 1;
    }
    return 0;
}

/* Of which step of report_cases() a case is: what is special about a case names a cause, after those that are certain, and so does a
 * mistake that explains a rounding. */
static int step_of(const struct check *check, int index)
{
    const struct verdict *verdict = &check->verdicts[index];
    const int certainty = (int)certainty_of(verdict);
    if (is_far_case(&check->cases[index]) && fails_near(check, check->cases[index].part))
        return 2 * RECORD_NO_CAUSE;
    if (verdict->special && shows_without_specials(check, check->cases[index].part))
        return 2 * RECORD_NO_CAUSE;
    if (certainty == RECORD_CAUSE) return 2 * RECORD_CAUSE + 1;
    if (certainty == RECORD_ROUNDING && verdict->record.cause != RECORD_CAUSE_ROUNDING)
        return 2 * RECORD_CAUSE;
    /* a call with another's addresses fails of whatever else is wrong, too */
    if (tells_purpose(check, index) && !(check->cases[index].flags & CASE_SAME_ADDRESSES))
        return 2 * RECORD_CAUSE;
    return 2 * certainty;
}

/* Prints the simplest case if most fail. Then the cases that name a cause, in the order of the table,
 * which goes from simple to involved. Cases that only say where, or nothing, are shown if none says more,
 * the simplest included. The rest is counted. */
static void report_cases(struct check *check, int part, struct told *told)
{
    int shown = 0, simplest = simplest_of_most(check, part), least = RECORD_NO_CAUSE;
    if (simplest >= 0) {
        least = (int)certainty_of(&check->verdicts[simplest]);
        report_cause(check, simplest, told);
        shown++;
    }
    const int before = shown;
    for (int step = 2 * RECORD_CAUSE + 1; step >= 2 * least && (shown == before || step == 2 * RECORD_CAUSE);
         step--)
        for (int i = 0; i < check->case_count && shown < SHOWN_IN_FULL; i++) {
            if (told->cases[i] || !part_has_failed(check, i, part)) continue;
            if (step_of(check, i) != step) continue;
            report_cause(check, i, told);
            shown++;
        }
    struct names rest = {"also failing", 0};
    for (int i = 0; i < check->case_count; i++)
        if (!told->cases[i] && part_has_failed(check, i, part)) add_name(&rest, check->cases[i].name);
    end_names(&rest);
}

/* 1 if in every failing case the device found what is wrong, or a count is: the lines that it names, and what is counted, say more than
 * what the cases share. Not where something else was read than was meant: such a line is the reader's. */
static int is_found(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        const struct record *record = &check->verdicts[i].record;
        if (!part_has_failed(check, i, part) || is_of_counts(record)) continue;
        if (record->origin != RECORD_DEVICE || record->kind == RECORD_UNINITIALIZED_READ ||
            record->kind == RECORD_OUT_OF_BOUNDS)
            return 0;
    }
    return 1;
}

static int has_unwritten(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++)
        if (check->chosen[i] && check->cases[i].part == part && check->verdicts[i].state == STATE_NOT_STARTED)
            return 1;
    return 0;
}

/* What the failing cases have in common points to the cause: it comes first, unless all of them name the
 * cause itself. */
static void report_failures(struct check *check, int part, struct told *told)
{
    char common[VERDICT_TEXT] = "";
    int cause_first = have_one_cause(check, part);
    if (!has_unwritten(check, part)) diagnose_part(check, part, common, sizeof common);
    if (common[0] != '\0' && !cause_first && !is_found(check, part)) printf("  in common    %s\n", common);
    report_cases(check, part, told);
    if (common[0] != '\0' && cause_first && !is_found(check, part)) printf("  in common    %s\n", common);
}

static void report_every_case(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        const struct verdict *verdict = &check->verdicts[i];
        if (!(check->chosen[i] || verdict->not_told) || item->part != part) continue;
        printf("    %-11s %-40s %s", state_name(verdict->state), item->name, report_group(item->group));
        if (item->flags & CASE_LAUNCH_ONLY) {
            printf(", its launches alone: too large to run here");
        } else if (verdict->not_told) {
            printf(", not judged: its blocks need each other or wrote nothing, or memory is short");
        } else if (item->expected == KERNEL_OK && verdict->state == STATE_PASS) {
            printf(", error %.1f%% of its budget", 100.0 * verdict->budget_share);
            if (verdict->sampled > 0)
                printf(", sampled %zu of %zu rows%s", verdict->sampled, verdict->units,
                       check->options.lesson->identity != NULL ? " and all elements by an identity" : "");
            if (item->repeat > 1) printf(", %d random inputs", item->repeat);
        }
        putchar('\n');
    }
}

/* How many cases were not judged on this device, or are not run there at all; @p last receives the last one. */
static int count_left_out(const struct check *check, int not_judged, int *last)
{
    int count = 0;
    for (int i = 0; i < check->case_count; i++) {
        if (!check_left_out(check, i) || check->verdicts[i].not_told != not_judged) continue;
        count++;
        *last = i;
    }
    return count;
}

int report_left_out(const struct check *check)
{
    int last = 0;
    if (check->options.case_count > 0 || check->options.groups != 0) return 0;
    return count_left_out(check, 0, &last) + count_left_out(check, 1, &last);
}

static void put_left_out(const struct check *check)
{
    const char *device = device_name(check->options.device);
    int last = 0, count = report_left_out(check) > 0 ? count_left_out(check, 0, &last) : 0;
    if (count == 1) printf("  left out on %s: %s\n", device, check->cases[last].name);
    if (count > 1)
        printf("  left out on %s: %d cases, such as %s (check %02d --list names them)\n", device, count,
               check->cases[last].name, check->options.lesson->number);
    count = count_left_out(check, 1, &last);
    if (count > 0)
        printf("  not judged on %s: %d case%s, such as %s: its blocks need each other or wrote nothing, or "
               "memory is short\n",
               device, count, count == 1 ? "" : "s", check->cases[last].name);
    if (check->stopped) puts("  stopped      at the first case that did not pass; the others did not run");
}

/* If all parts that have been written pass: names the parts that are not written yet. */
static void report_missing(const struct check *check)
{
    const char *before = ": what is written passes; not written yet: ";
    for (int part = 0; part < check->options.lesson->part_count; part++) {
        const enum state state = check_state(check, part);
        if (state != STATE_NOT_STARTED && state != STATE_IN_PROGRESS) continue;
        printf("%s%s", before, check->options.lesson->part[part].name);
        before = ", ";
    }
}

void report_text(struct check *check)
{
    struct told told = {.count = 0};
    const struct lesson *lesson = check->options.lesson;
    enum state state = check_state(check, -1);
    double points = 0.0, most = 0.0;
    printf("%02d %s on %s: %s\n", lesson->number, lesson->topic, device_name(check->options.device),
           lesson->title);
    for (int part = 0; part < lesson->part_count; part++) {
        report_part(check, part);
        if (check->options.verbose) report_every_case(check, part);
        report_failures(check, part, &told);
    }
    put_left_out(check);
    if (check->broken[0] != '\0') printf("  %s\n", check->broken);
    for (int i = 0; i < check->case_count; i++) {
        points += check_points(check, i);
        if (check->chosen[i]) most += check_points_max(check, i);
    }
    printf("%02d %-22s ", lesson->number, lesson->topic);
    if (check->options.bench) /* the points of a few cases say nothing */
        printf("%s", state_name(state));
    else
        printf("%-11s %.1f of %.1f points", state_name(state), short_of(points, most), most);
    if (state == STATE_NO_DEVICE) printf(" (%s)", check->device_name);
    if (state == STATE_NOT_GRADED && check->broken[0] != '\0') printf(": %s", check->broken);
    if (state == STATE_IN_PROGRESS) report_missing(check);
    if (state == STATE_NOT_STARTED)
        printf(": write lessons/%02d_%s/%s.cu", lesson->number, lesson->topic, lesson->topic);
    putchar('\n');
}

void report_list(const struct check *check)
{
    const struct lesson *lesson = check->options.lesson;
    for (int at = 0; at < 2 * check->case_count; at++) { // those that run here first
        char shape[160];
        const int i = at % check->case_count, here = (check->cases[i].devices >> check->options.device) & 1u;
        const struct lesson_case *item = &check->cases[i];
        if (here != (at < check->case_count)) continue;
        lesson->describe(item, shape, sizeof shape);
        printf("%-42s %-10s %5.2f points  %s", item->name, report_group(item->group),
               check_points_max(check, i), shape);
        if (item->repeat > 1) printf("; %d random inputs", item->repeat);
        if (item->expected != KERNEL_OK) printf("; expects %s", kernel_status_name(item->expected));
        if (!here) printf("; not on %s", device_name(check->options.device));
        putchar('\n');
    }
}
