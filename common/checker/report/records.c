/**
 * @file records.c
 * @brief The report for programs: CSV, JSON and CTest's measurements.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/** Writes one field of a record; `number` is 0 for text. */
typedef void (*field_writer)(void *context, const char *name, const char *value, int number);

static void put_text(field_writer put, void *context, const char *name, const char *value)
{
    put(context, name, value, 0);
}

static void put_real(field_writer put, void *context, const char *name, double value, int known)
{
    char text[40] = "";
    int whole = value > -1e15 && value < 1e15 && value == (double)(int64_t)value;
    if (known) snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", value);
    put(context, name, text, 1);
}

static void put_count(field_writer put, void *context, const char *name, uint64_t value, int known)
{
    char text[40] = "";
    if (known) snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put(context, name, text, 1);
}

static void put_measurement(field_writer put, void *context, const struct measurement *m)
{
    int measured = m->timed || m->counted;
    int timed = m->timed && m->refused == NULL;
    put_real(put, context, "median_us", m->median_us, timed);
    put_real(put, context, "p10_us", m->p10_us, timed);
    put_real(put, context, "p90_us", m->p90_us, timed);
    put_real(put, context, "flop", m->cost.flop, measured);
    put_real(put, context, "min_bytes", m->cost.min_bytes, measured);
    put_count(put, context, "workspace_bytes", m->workspace_bytes, measured);
    put_count(put, context, "launches", m->launches, m->counted || m->described);
    put_count(put, context, "blocks_per_sm", m->blocks_per_sm, m->described);
    put_real(put, context, "occupancy", m->occupancy, m->described);
    put_count(put, context, "load_requests", m->load_requests, m->counted);
    put_count(put, context, "load_sectors", m->load_sectors, m->counted);
    put_count(put, context, "store_requests", m->store_requests, m->counted);
    put_count(put, context, "store_sectors", m->store_sectors, m->counted);
    put_count(put, context, "shared_load_wavefronts", m->shared_load_wavefronts, m->counted);
    put_count(put, context, "shared_store_wavefronts", m->shared_store_wavefronts, m->counted);
    put_count(put, context, "bank_conflicts", m->bank_conflicts, m->counted);
    put_count(put, context, "atomics", m->atomics, m->counted);
    put_count(put, context, "barriers", m->barriers, m->counted);
    put_real(put, context, "host_seconds", m->host_seconds, 1);
}

/* "0,1,64,0": the index of the first wrong element; "" if the record is about none. */
static void put_index(field_writer put, void *context, const struct record *record)
{
    char text[24 * RECORD_AXES] = "";
    size_t used = 0;
    for (int axis = 0; axis < record->memory.rank && axis < RECORD_AXES; axis++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", axis > 0 ? "," : "",
                                 (long long)record->memory.index[axis]);
    put_text(put, context, "index", text);
}

/* Writes one side of a finding into the columns NAMES[]: lines "alpha.cu:121;alpha.cu:84", innermost call
 * first; block "0,0,3"; thread "31,0,0". */
static void put_actor(field_writer put, void *context, const struct record_actor *actor,
                      const char *const names[3])
{
    char at[RECORD_FRAMES * (RECORD_TEXT + 16)] = "", block[40] = "", thread[40] = "";
    size_t used = 0;
    for (int i = 0; i < RECORD_FRAMES && actor->at[i].line > 0; i++)
        used += (size_t)snprintf(at + used, sizeof at - used, "%s%s:%d", i > 0 ? ";" : "", actor->at[i].file,
                                 actor->at[i].line);
    if (actor->operation != RECORD_NO_OPERATION) {
        snprintf(block, sizeof block, "%u,%u,%u", actor->block[0], actor->block[1], actor->block[2]);
        snprintf(thread, sizeof thread, "%u,%u,%u", actor->thread[0], actor->thread[1], actor->thread[2]);
    }
    put_text(put, context, names[0], at);
    put_text(put, context, names[1], block);
    put_text(put, context, names[2], thread);
}

static void put_record(field_writer put, void *context, const struct record *record)
{
    static const char *const certainties[RECORD_CERTAINTIES] = {"", "place", "rounding", "cause"};
    static const char *const one[] = {"at", "block", "thread"}, *const other[] = {"other_at", "other_block",
                                                                                  "other_thread"};
    const struct record_value *value = &record->value;
    const int measured = value->compared > 0 || record->kind == RECORD_WRONG_BITS;
    put_text(put, context, "kind", record_kind_name(record->kind));
    put_text(put, context, "certainty", certainties[record->certainty]);
    put_text(put, context, "cause", record_cause_name(record->cause));
    put_count(put, context, "guess", (uint64_t)(record->guess - 1), record->guess > 0);
    put_text(put, context, "buffer", record->memory.buffer);
    put_index(put, context, record);
    put_real(put, context, "expected", value->expected, measured);
    put_real(put, context, "got", value->got, measured);
    put_real(put, context, "share", value->share, value->compared > 0);
    put_count(put, context, "wrong", value->wrong, value->compared > 0);
    put_count(put, context, "compared", value->compared, value->compared > 0);
    put_text(put, context, "function", record->kernel);
    put_actor(put, context, &record->actor[0], one);
    put_actor(put, context, &record->actor[1], other);
    put_count(put, context, "seen", record->seen, record->kind != RECORD_NO_KIND);
}

/* The lines that the report shows about a case, for programs that show them again. */
static void put_shown(field_writer put, void *context, const struct check *check, int index)
{
    const struct verdict *verdict = &check->verdicts[index];
    char headline[VERDICT_TEXT] = "", pattern[2 * VERDICT_TEXT] = "", found[REPORT_FOUND], *text = NULL;
    size_t size = 0;
    if (verdict->record.kind != RECORD_NO_KIND) {
        report_headline(verdict, headline, sizeof headline);
        report_pattern(verdict, pattern, sizeof pattern);
    }
    put_text(put, context, "headline", headline);
    put_text(put, context, "pattern", pattern);
    report_found(verdict, "", found, sizeof found);
    put_text(put, context, "found", found);
    put_count(put, context, "shown", (uint64_t)verdict->shown, verdict->shown > 0);
    FILE *file = verdict->shown > 0 ? open_memstream(&text, &size) : NULL;
    if (file != NULL) {
        report_case(check, index, file);
        fclose(file);
    }
    put_text(put, context, "text", text != NULL ? text : "");
    free(text);
}

/* The first finding of the software device; "seen-before" if an earlier case has reported it. */
static const char *first_finding(const struct verdict *verdict)
{
    if (verdict->finding_count > 0) return record_kind_name(verdict->finding[0].kind);
    return verdict->record.origin == RECORD_DEVICE ? record_kind_name(verdict->record.kind) : "";
}

static void put_case(field_writer put, void *context, const struct check *check, int index)
{
    const struct lesson *lesson = check->options.lesson;
    const struct lesson_case *item = &check->cases[index];
    const struct verdict *verdict = &check->verdicts[index];
    const struct measurement *m = &verdict->measurement;
    char number[8];
    snprintf(number, sizeof number, "%02d", lesson->number);
    put_text(put, context, "lesson", number);
    put_text(put, context, "part", lesson->part[item->part].name);
    put_text(put, context, "case", item->name);
    put_text(put, context, "group", report_group(item->group));
    put_text(put, context, "shape", verdict->shape);
    put_text(put, context, "device", device_name(check->options.device));
    put_text(put, context, "state", state_name(verdict->state));
    put_real(put, context, "points", check_points(check, index), 1);
    put_real(put, context, "points_max", check_points_max(check, index), 1);
    put_real(put, context, "budget_share", verdict->budget_share,
             item->expected == KERNEL_OK && verdict->state == STATE_PASS);
    put_measurement(put, context, m);
    put_count(put, context, "seed", check->options.seed, 1);
    put_text(put, context, "finding", first_finding(verdict));
    put_text(put, context, "time_refused", m->timed && m->refused != NULL ? m->refused : "");
    put_text(put, context, "part_state", state_name(check_state(check, item->part)));
    put_count(put, context, "left_out", (uint64_t)report_left_out(check), 1);
    put_record(put, context, &verdict->record);
    put_shown(put, context, check, index);
}

/* ---- CSV ------------------------------------------------------------------------------------------------- */

struct csv {
    FILE *file;
    int names, column;
};

/* One row is one line: a line end within a field is written as \n, and a backslash as two. */
static void put_escaped(const char *text, FILE *file)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc(*text, file);
        if (*text == '\n')
            fputs("\\n", file);
        else
            fputc(*text, file);
    }
}

static void put_csv(void *context, const char *name, const char *value, int number)
{
    struct csv *csv = context;
    (void)number;
    if (csv->column++ > 0) fputc(',', csv->file);
    const char *text = csv->names ? name : value;
    int quoted = strpbrk(text, ",\"\n") != NULL;
    if (quoted) fputc('"', csv->file);
    put_escaped(text, csv->file);
    if (quoted) fputc('"', csv->file);
}

static int close_file(FILE *file, const char *path)
{
    int failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (failed) fprintf(stderr, "checker: %s cannot be written: %s\n", path, strerror(errno));
    return failed ? -1 : 0;
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) fprintf(stderr, "checker: %s cannot be written: %s\n", path, strerror(errno));
    return file;
}

int report_csv(const struct check *check, const char *path)
{
    struct csv csv = {open_file(path), 1, 0};
    if (csv.file == NULL) return -1;
    put_case(put_csv, &csv, check, 0);
    fputc('\n', csv.file);
    csv.names = 0;
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i]) continue;
        csv.column = 0;
        put_case(put_csv, &csv, check, i);
        fputc('\n', csv.file);
    }
    return close_file(csv.file, path);
}

static int points_or(int given, int usual)
{
    return given == 0 ? usual : given < 0 ? 0 : given;
}

void report_rubric(const struct lesson *lesson)
{
    enum { USUAL_CLEAN_POINTS = 10, USUAL_SPEED_POINTS = 20 };
    const double usual_none = 0.3, usual_full = 0.9;
    const struct lesson_credit *credit = &lesson->credit;
    printf("title,,%s\n", lesson->title);
    for (int i = 0; i < lesson->part_count; i++)
        printf("part,%s,%d\n", lesson->part[i].name, lesson->part[i].points);
    printf("clean,,%d\n", points_or(credit->clean_points, USUAL_CLEAN_POINTS));
    printf("speed,,%d\n", points_or(credit->speed_points, USUAL_SPEED_POINTS));
    printf("speed_none,,%g\n", credit->speed_none > 0.0 ? credit->speed_none : usual_none);
    printf("speed_full,,%g\n", credit->speed_full > 0.0 ? credit->speed_full : usual_full);
}

/* Only costs known before anything runs: a property has many inputs, and so no single cost. */
void report_costs(const struct check *check)
{
    const struct lesson *lesson = check->options.lesson;
    printf("lesson,part,case,group,shape,simt,gpu,flop,min_bytes\n");
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        struct lesson_cost cost = {0};
        char shape[160];
        if (item->repeat > 1 || item->expected != KERNEL_OK || (item->flags & CASE_ASK_ONLY)) continue;
        lesson->describe(item, shape, sizeof shape);
        lesson->cost(item, &cost);
        printf("%02d,%s,%s,%s,\"%s\",%d,%d,%.15g,%.15g\n", lesson->number, lesson->part[item->part].name,
               item->name, report_group(item->group), shape, (item->devices & ON_SIMT) != 0,
               (item->devices & ON_GPU) != 0, cost.flop, cost.min_bytes);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

struct json {
    FILE *file;
    int column;
};

static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            fprintf(file, "\\%c", byte);
        } else if (byte < ' ' || byte > 126) {
            fprintf(file, "\\u%04x", byte);
        } else {
            fputc(byte, file);
        }
    }
    fputc('"', file);
}

static void put_json(void *context, const char *name, const char *value, int number)
{
    struct json *json = context;
    fputs(json->column++ > 0 ? ", " : "    {", json->file);
    put_string(json->file, name);
    fputs(": ", json->file);
    if (!number) {
        put_string(json->file, value);
    } else {
        fputs(value[0] == '\0' || strpbrk(value, "ni") != NULL ? "null" : value, json->file);
    }
}

int report_json(const struct check *check, const char *path)
{
    struct json json = {open_file(path), 0};
    const struct lesson *lesson = check->options.lesson;
    if (json.file == NULL) return -1;
    double points = 0.0, most = 0.0;
    for (int i = 0; i < check->case_count; i++) {
        points += check_points(check, i);
        if (check->chosen[i]) most += check_points_max(check, i);
    }
    fprintf(json.file,
            "{\n  \"lesson\": \"%02d_%s\", \"state\": \"%s\", \"points\": %.3f, \"points_max\": %.3f,\n",
            lesson->number, lesson->topic, state_name(check_state(check, -1)), points, most);
    fprintf(json.file, "  \"device_name\": ");
    put_string(json.file, check->device_name);
    fprintf(json.file, ",\n  \"parts\": [");
    for (int part = 0; part < lesson->part_count; part++)
        fprintf(json.file, "%s{\"name\": \"%s\", \"state\": \"%s\"}", part > 0 ? ", " : "",
                lesson->part[part].name, state_name(check_state(check, part)));
    fprintf(json.file, "],\n  \"cases\": [\n");
    for (int i = 0, rows = 0; i < check->case_count; i++) {
        if (!check->chosen[i]) continue;
        if (rows++ > 0) fprintf(json.file, ",\n");
        json.column = 0;
        put_case(put_json, &json, check, i);
        char again[VERDICT_TEXT];
        report_again(check, i, again, sizeof again);
        put_json(&json, "again", again, 0);
        fputc('}', json.file);
    }
    fprintf(json.file, "\n  ]\n}\n");
    return close_file(json.file, path);
}

/* ---- CTest ----------------------------------------------------------------------------------------------- */

static void measurement(const char *case_name, const char *what, double value)
{
    printf("<CTestMeasurement type=\"numeric/double\" name=\"%s %s\">%.15g</CTestMeasurement>\n", case_name,
           what, value);
}

void report_ctest(const struct check *check)
{
    double points = 0.0;
    for (int i = 0; i < check->case_count; i++) {
        const struct measurement *m = &check->verdicts[i].measurement;
        const char *name = check->cases[i].name;
        points += check_points(check, i);
        if (!check->chosen[i] || check->verdicts[i].state != STATE_PASS) continue;
        if (m->timed && m->refused == NULL) measurement(name, "median_us", m->median_us);
        if (m->counted) {
            measurement(name, "load_sectors", (double)m->load_sectors);
            measurement(name, "store_sectors", (double)m->store_sectors);
            measurement(name, "bank_conflicts", (double)m->bank_conflicts);
        }
    }
    measurement(check->options.lesson->topic, "points", points);
}
