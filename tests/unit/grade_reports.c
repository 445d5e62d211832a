/* The reports of `warpwise grade`, from a class made by hand whose names and messages are as hostile as can
 * be. Each notation is held against its documented rules by a reader of its own, written here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/device.h"
#include "grading/grade.h"
#include "grading/grade_adjust.h"
#include "grading/journal.h"

static int failures;

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                 \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

/* ---- a class ------------------------------------------------------------------------------------------- */

static const char *const names[] = {
    "=1+1|cmd",  "</td><script>alert(1)</script>", "Zoë 山田", "]]>&amp;\"'", "a\nb,c\x1b[2J", "alice", "bob",
    "x\xff\xfey"};
enum { STUDENTS = sizeof names / sizeof names[0], ALICE = 5, BOB = 6 };

static void add_row(struct grade_result *result, const char *part, const char *group, enum state state,
                    double points, double points_max, enum record_kind finding, const char *pattern)
{
    struct grade_row *row = grade_add_row(result);
    *row = (struct grade_row){.part = copy_string(part),
                              .test_case = format_string("%s/%s_%zu", part, group, result->row_count),
                              .group = copy_string(group),
                              .state = state,
                              .shape = copy_string("batch 1"),
                              .finding = finding,
                              .cause = *pattern ? RECORD_CAUSE_ALL_ZERO : RECORD_NO_CAUSE_KNOWN,
                              .guess = -1,
                              .found = copy_string(""),
                              .headline = copy_string(state == STATE_PASS ? "" : "<out[0]> & \"more\"]]>"),
                              .pattern = copy_string(pattern),
                              .points = points,
                              .points_max = points_max};
}

static struct grade_result make_result(const char *student, enum device device, enum state state)
{
    return (struct grade_result){.student = copy_string(student),
                                 .lesson = copy_string("01_alpha"),
                                 .device = device,
                                 .graded = state != STATE_NOT_GRADED,
                                 .key = copy_string("k"),
                                 .state = state,
                                 .sentence = copy_string(""),
                                 .file = copy_string("alpha.cu"),
                                 .sha256 = copy_string("0123456789abcdef"),
                                 .model = copy_string("device <0>"),
                                 .driver = copy_string("1.0"),
                                 .at = copy_string("2026-01-01T00:00:00Z"),
                                 .seconds = 1.5,
                                 .log = copy_string("said \x1b]0;title\x07 <b>]]> ``` \n| \xff\n")};
}

static void add_measure(struct grade_result *result, const char *test_case, double sectors)
{
    struct grade_measure *measure = grade_add_measure(result);
    measure->test_case = copy_string(test_case);
    measure->state = STATE_PASS;
    measure->refused = copy_string("");
    measure->sectors = sectors;
    measure->min_bytes = 3200;
}

/* Right in everything; the case of the group "speed" moves so many sectors. */
static struct grade_result right_result(const char *student, double sectors)
{
    struct grade_result result = make_result(student, DEVICE_SIMT, STATE_PASS);
    add_row(&result, "one", "basic", STATE_PASS, 30, 30, RECORD_NO_KIND, "");
    add_row(&result, "one", "edges", STATE_PASS, 30, 30, RECORD_NO_KIND, "");
    add_row(&result, "two", "speed", STATE_PASS, 40, 40, RECORD_NO_KIND, "");
    add_measure(&result, "two/speed_3", sectors);
    return result;
}

static struct grade_result wrong_result(const char *student)
{
    struct grade_result result = make_result(student, DEVICE_SIMT, STATE_FAIL);
    add_row(&result, "one", "basic", STATE_PASS, 30, 30, RECORD_NO_KIND, "");
    add_row(&result, "one", "edges", STATE_FAIL, 0, 30, RECORD_NO_KIND,
            "constant factor: every wrong element is 0.5 times <x>");
    add_row(&result, "two", "speed", STATE_FAIL, 0, 40, RECORD_SHARED_RACE, "");
    return result;
}

static void make_class(struct grade_book *book)
{
    static struct grade_lesson lesson = {.name = "01_alpha",
                                         .number = "01",
                                         .title = "alpha & <beta>",
                                         .part_count = 2,
                                         .part = {"one", "two"},
                                         .part_points = {60, 40},
                                         .clean_points = 10,
                                         .speed_points = 20,
                                         .speed_none = 0.5,
                                         .speed_full = 1.0};
    *book = (struct grade_book){.lessons = &lesson,
                                .lesson_count = 1,
                                .students = (char **)names,
                                .student_count = STUDENTS,
                                .devices = {[DEVICE_SIMT] = 1},
                                .speed = 1,
                                .seed = "00112233445566778899aabbccddeeff",
                                .version = "1.2.3 <x>",
                                .shard = "",
                                .isolation = "bubblewrap <x>",
                                .whole = 1};
    struct grade_result solution = right_result("", 1000);
    grade_book_put(book, &solution);
    for (int i = 0; i < STUDENTS; i++) {
        struct grade_result result = i == ALICE ? right_result(names[i], 1250) : wrong_result(names[i]);
        if (i == BOB) continue; /* never tried */
        grade_book_put(book, &result);
    }
}

/* ---- JSON, read by its grammar (RFC 8259) -------------------------------------------------------------- */

struct json_reader {
    const char *at;
    int bad;
};

/* Told every value: its path ("tests.0.name"), and the text of a string or number. */
typedef void (*json_teller)(void *context, const char *path, char kind, const char *text);

static void blanks(struct json_reader *json)
{
    while (*json->at && strchr(" \t\r\n", *json->at) != NULL) json->at++;
}

static char *read_string(struct json_reader *json)
{
    struct text text = {0};
    text_append(&text, "", 0);
    json->bad = json->bad || *json->at++ != '"';
    while (!json->bad && *json->at != '"') {
        if ((unsigned char)*json->at < 0x20) json->bad = 1;
        if (*json->at == '\\') {
            json->at++;
            if (!*json->at || strchr("\"\\/bfnrt", *json->at) == NULL) json->bad = 1;
            text_append(&text, *json->at == 'n' ? "\n" : json->at, 1);
        } else {
            text_append(&text, json->at, 1);
        }
        json->at++;
    }
    json->at += !json->bad;
    return text.data;
}

static void read_value(struct json_reader *json, const char *path, json_teller tell, void *context);

static void read_members(struct json_reader *json, const char *path, char close, json_teller tell,
                         void *context)
{
    json->at++;
    blanks(json);
    for (int i = 0; !json->bad && *json->at != close; i++) {
        if (i > 0) {
            json->bad = json->bad || *json->at++ != ',';
            blanks(json);
        }
        char *name = close == '}' ? read_string(json) : format_string("%d", i);
        blanks(json);
        if (close == '}') {
            json->bad = json->bad || *json->at++ != ':';
            blanks(json);
        }
        char *below = format_string("%s%s%s", path, *path ? "." : "", name);
        if (!json->bad) read_value(json, below, tell, context);
        free(below);
        free(name);
        blanks(json);
    }
    json->at += !json->bad;
}

static void read_value(struct json_reader *json, const char *path, json_teller tell, void *context)
{
    if (*json->at == '{' || *json->at == '[') {
        char close = *json->at == '{' ? '}' : ']';
        tell(context, path, *json->at, "");
        read_members(json, path, close, tell, context);
    } else if (*json->at == '"') {
        char *text = read_string(json);
        tell(context, path, '"', text);
        free(text);
    } else {
        size_t length = strspn(json->at, "-0123456789.");
        char *number = format_string("%.*s", (int)length, json->at), *end;
        strtod(number, &end);
        json->bad = json->bad || length == 0 || *end;
        tell(context, path, '0', number);
        json->at += length;
        free(number);
    }
}

static int read_json(const char *text, json_teller tell, void *context)
{
    struct json_reader json = {.at = text};
    blanks(&json);
    read_value(&json, "", tell, context);
    blanks(&json);
    return !json.bad && *json.at == '\0';
}

/* ---- results.json against Gradescope's documented fields ----------------------------------------------- */

struct field {
    const char *name;
    char kind;          /* '"' string, '0' number, '[' list, '{' object */
    const char *values; /* " one two " if only these are allowed */
};

static const struct field top_fields[] = {
    {"score", '0', NULL},
    {"execution_time", '0', NULL},
    {"output", '"', NULL},
    {"output_format", '"', " text html simple_format md ansi "},
    {"test_output_format", '"', " text html simple_format md ansi "},
    {"test_name_format", '"', " text html simple_format md ansi "},
    {"visibility", '"', " hidden after_due_date after_published visible "},
    {"stdout_visibility", '"', " hidden after_due_date after_published visible "},
    {"extra_data", '{', NULL},
    {"tests", '[', NULL},
    {"leaderboard", '[', NULL},
    {NULL, 0, NULL}};
static const struct field test_fields[] = {
    {"score", '0', NULL},
    {"max_score", '0', NULL},
    {"status", '"', " passed failed "},
    {"name", '"', NULL},
    {"name_format", '"', " text html simple_format md ansi "},
    {"number", '"', NULL},
    {"output", '"', NULL},
    {"output_format", '"', " text html simple_format md ansi "},
    {"tags", '[', NULL},
    {"visibility", '"', " hidden after_due_date after_published visible "},
    {"extra_data", '{', NULL},
    {NULL, 0, NULL}};

struct gradescope {
    int tests, scores, wrong;
    double score, sum;
    char *output;
};

static void check_field(struct gradescope *found, const struct field *fields, const char *name, char kind,
                        const char *text)
{
    const struct field *field = fields;
    while (field->name != NULL && strcmp(field->name, name) != 0) field++;
    char *word = format_string(" %s ", text);
    int good = field->name != NULL && field->kind == kind &&
               (field->values == NULL || strstr(field->values, word) != NULL);
    if (!good) printf("results.json: field %s = %c%s is not as documented\n", name, kind, text);
    found->wrong += !good;
    free(word);
}

static void tell_gradescope(void *context, const char *path, char kind, const char *text)
{
    struct gradescope *found = context;
    if (!*path) {
        found->wrong += kind != '{';
    } else if (strchr(path, '.') == NULL) {
        check_field(found, top_fields, path, kind, text);
        found->scores += strcmp(path, "score") == 0;
        if (strcmp(path, "score") == 0) found->score = atof(text);
        if (strcmp(path, "output") == 0) found->output = copy_string(text);
    } else if (strncmp(path, "tests.", 6) == 0) {
        const char *name = strchr(path + 6, '.');
        if (name == NULL) {
            found->wrong += kind != '{';
            found->tests++;
        } else if (strchr(name + 1, '.') == NULL) {
            check_field(found, test_fields, name + 1, kind, text);
            if (strcmp(name, ".score") == 0) found->sum += atof(text);
        } else {
            found->wrong += strncmp(name, ".tags.", 6) != 0 || kind != '"';
        }
    }
}

static void test_gradescope(const struct grade_book *book, const struct grade_sheet *sheet)
{
    struct text out = {0};
    struct gradescope found = {0};
    grade_gradescope(book, sheet, &out);
    EXPECT(read_json(out.data, tell_gradescope, &found));
    EXPECT(found.wrong == 0 && found.output);
    int tests = (int)sheet->scores[0].group_count + (sheet->scores[0].adjusted.length > 0) +
                (sheet->adjusted.length > 0);
    EXPECT(sheet->graded ? found.tests == tests && found.scores == 1 : found.tests == 0 && found.scores == 0);
    EXPECT(sheet->scores[0].group_count >= 4 || sheet->scores[0].state == STATE_NOT_GRADED);
    EXPECT(fabs(found.sum - found.score) < 0.05 &&
           (!sheet->graded || fabs(found.score - sheet->points) < 0.01));
    free(found.output);
    text_free(&out);
}

/* ---- XML and HTML, read by their grammar --------------------------------------------------------------- */

struct element {
    char name[32];
    int children;
    char last[32]; /* the child before */
};

/* Told every element as it opens, with what it stands in and its attributes as they are written. */
typedef int (*element_teller)(const struct element *parent, const char *name, const char *attributes);

static int is_name(const char *text, size_t length)
{
    return length > 0 && length < 32 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") >= length;
}

/* 1 if every & begins one of the five entities that need no declaration, and no control character is there.
 * */
static int text_is_clean(const char *text, size_t length)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < length; i++) {
        int known = text[i] != '&';
        for (size_t j = 0; j < 5; j++)
            known = known || strncmp(text + i, entities[j], strlen(entities[j])) == 0;
        if (!known || text[i] == '<' || ((unsigned char)text[i] < 0x20 && text[i] != '\n')) return 0;
    }
    return 1;
}

/* name="value" name="value": quoted, no name twice. */
static int attributes_are_clean(const char *at, size_t length)
{
    const char *end = at + length;
    char seen[1024] = " ";
    while (at < end) {
        if (*at++ != ' ') return 0;
        size_t name = strcspn(at, "=");
        if (at + name + 1 >= end || at[name + 1] != '"' || !is_name(at, name < 31 ? name : 0)) {
            if (strncmp(at, "viewBox", 7) != 0 && strchr(at, '_') == NULL) return 0;
        }
        char *word = format_string(" %.*s ", (int)name, at);
        int twice = strstr(seen, word) != NULL;
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s", word + 1);
        free(word);
        const char *value = at + name + 2, *close = memchr(value, '"', (size_t)(end - value));
        if (twice || close == NULL || !text_is_clean(value, (size_t)(close - value))) return 0;
        at = close + 1;
    }
    return 1;
}

static const char *const void_elements = " meta br rect line ";

/* 1 if @p text is elements, properly nested, after what may come first. */
static int read_xml(const char *text, int html, element_teller tell)
{
    struct element open[64] = {{"", 0, ""}};
    int depth = 0;
    const char *at = strstr(text, html ? "<html" : "<testsuites");
    for (; at != NULL && *at;) {
        size_t run = strcspn(at, "<");
        const char *raw = depth > 0 && strcmp(open[depth].name, "style") == 0 ? "raw" : NULL;
        if (raw == NULL && !text_is_clean(at, run)) return 0;
        at += run;
        if (!*at) break;
        const char *end = strchr(at, '>');
        if (end == NULL) return 0;
        if (at[1] == '/') {
            size_t length = (size_t)(end - at - 2);
            if (depth == 0 || strlen(open[depth].name) != length ||
                strncmp(open[depth].name, at + 2, length) != 0)
                return 0;
            depth--;
        } else {
            size_t name = strcspn(at + 1, " />");
            int closed = end[-1] == '/';
            if (!is_name(at + 1, name) || depth == 62) return 0;
            size_t rest = (size_t)(end - at - 1) - name - (closed ? 1 : 0);
            if (!attributes_are_clean(at + 1 + name, rest)) return 0;
            struct element *parent = &open[depth], *child = &open[depth + 1];
            *child = (struct element){"", 0, ""};
            snprintf(child->name, sizeof child->name, "%.*s", (int)name, at + 1);
            char *attributes = format_string("%.*s", (int)rest, at + 1 + name);
            int good = tell(parent, child->name, attributes);
            free(attributes);
            if (!good) return 0;
            snprintf(parent->last, sizeof parent->last, "%.*s", (int)name, at + 1);
            parent->children++;
            char *word = format_string(" %s ", child->name);
            depth += !closed && !(html && strstr(void_elements, word) != NULL);
            free(word);
        }
        at = end + 1;
    }
    return at != NULL && depth == 0;
}

/* What the reporters that read JUnit files agree on: where an element may stand, in which order, and what it
 * must and may have. */
static int tell_junit(const struct element *parent, const char *name, const char *attributes)
{
    static const struct {
        const char *name, *parent, *after, *required, *allowed;
    } rules[] = {{"testsuites", "", "", "", " name tests failures errors time disabled "},
                 {"testsuite", "testsuites", "  testsuite ", " name tests failures errors ",
                  " name tests failures errors skipped time timestamp hostname id package "},
                 {"properties", "testsuite", "  ", "", ""},
                 {"property", "properties", "  property ", " name value ", " name value "},
                 {"testcase", "testsuite", "  properties testcase ", " name classname ",
                  " name classname time status assertions "},
                 {"skipped", "testcase", "  ", "", " message "},
                 {"failure", "testcase", "  ", " type ", " message type "},
                 {"error", "testcase", "  ", " type ", " message type "},
                 {"system-out", "testsuite", "  properties testcase ", "", ""}};
    char *last = format_string(" %s ", parent->last);
    int good = 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, name) != 0) continue;
        good = strcmp(rules[i].parent, parent->name) == 0 &&
               (!*rules[i].after || strstr(rules[i].after, last) != NULL);
        const char *required = rules[i].required;
        for (char *word; (word = next_word(&required, ' ')) != NULL; free(word)) {
            char *given = format_string(" %s=\"", word);
            good = good && (!*word || strstr(attributes, given) != NULL);
            free(given);
        }
        for (const char *at = attributes; *at;) { /* each name that is given is one that is known */
            char *given = format_string(" %.*s ", (int)strcspn(at + 1, "="), at + 1);
            good = good && strstr(rules[i].allowed, given) != NULL;
            free(given);
            at = strchr(strchr(at, '"') + 1, '"') + 1;
        }
    }
    if (!good) printf("junit.xml: <%s%s> in <%s> after <%s>\n", name, attributes, parent->name, parent->last);
    free(last);
    return good;
}

static void test_junit(const struct grade_book *book, const struct grade_sheet *sheet)
{
    struct text out = {0};
    grade_junit(book, sheet, &out);
    EXPECT(strncmp(out.data, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", 50) == 0);
    EXPECT(read_xml(out.data, 0, tell_junit));
    EXPECT((strstr(out.data, "<error") != NULL) == !sheet->graded);
    text_free(&out);
}

/* Nothing is loaded, nothing runs; tables have headings with a scope, the picture has words. */
static int tell_html(const struct element *parent, const char *name, const char *attributes)
{
    static const char *const forbidden[] = {"script", "iframe", "img", "object", "embed", "link", "form"};
    int good = strstr(attributes, " src=") == NULL && strstr(attributes, " on") == NULL &&
               strstr(attributes, "javascript:") == NULL;
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
        good = good && strcmp(name, forbidden[i]) != 0;
    if (strcmp(name, "th") == 0) good = good && strstr(attributes, "scope=") != NULL;
    if (strcmp(name, "svg") == 0) good = good && strstr(attributes, "aria-label=") != NULL;
    if (strcmp(name, "html") == 0) good = good && strstr(attributes, "lang=") != NULL;
    if (strcmp(parent->name, "table") == 0 && parent->children == 0)
        good = good && strcmp(name, "caption") == 0;
    if (!good) printf("summary.html: <%s%s> in <%s>\n", name, attributes, parent->name);
    return good;
}

static void test_summary(const struct grade_book *book, const struct grade_sheet *sheets)
{
    struct text out = {0};
    grade_summary(book, sheets, &out);
    EXPECT(strncmp(out.data, "<!DOCTYPE html>\n", 16) == 0);
    EXPECT(read_xml(out.data, 1, tell_html));
    EXPECT(!strstr(out.data, "://") && !strstr(out.data, "url(") && !strstr(out.data, "@import"));
    EXPECT(strstr(out.data, "prefers-color-scheme:dark"));
    EXPECT(strstr(out.data, "NOT_GRADED") && strstr(out.data, "shared-race"));
    EXPECT(strstr(out.data, ">6</td><th scope=\"row\">01_alpha</th><td>constant factor"));
    EXPECT(strstr(out.data, "0.80× alice"));
    EXPECT(!strstr(out.data, "<script>alert"));
    text_free(&out);
}

/* ---- points -------------------------------------------------------------------------------------------- */

static void test_points(const struct grade_book *book)
{
    struct grade_score score;
    grade_score(book, "alice", &book->lessons[0], &score);
    /* 1000 / 1250 sectors are 0.8 of the solution: 0.6 of the way from 0.5 to 1 */
    EXPECT(score.state == STATE_PASS && fabs(score.points - (100 + 10 + 12)) < 1e-9);
    EXPECT(score.points_max == 130 && score.withheld == 0 && fabs(score.speed_ratio - 0.8) < 1e-12);
    grade_score_free(&score);
    grade_score(book, names[0], &book->lessons[0], &score);
    /* part one earned half of its points and nothing was found in it; part two has a race */
    EXPECT(score.state == STATE_FAIL && fabs(score.points - (30 + 6)) < 1e-9);
    EXPECT(score.points_max == 130 && score.withheld == 0);
    grade_score_free(&score);
    grade_score(book, "bob", &book->lessons[0], &score);
    EXPECT(score.state == STATE_NOT_GRADED && score.points == 0 && score.points_max == 130);
    grade_score_free(&score);
}

static double speed_of(const struct grade_book *book, double *withheld)
{
    struct grade_score score;
    double points = -1;
    grade_score(book, "alice", &book->lessons[0], &score);
    for (size_t i = 0; i < score.group_count; i++) {
        if (score.group[i].kind == GRADE_SPEED) points = score.group[i].points;
    }
    *withheld = score.withheld;
    grade_score_free(&score);
    return points;
}

/* Points are withheld exactly where a measurement cannot be relied on. */
static void test_withheld(struct grade_book *book)
{
    double withheld;
    struct grade_result *alice =
        (struct grade_result *)grade_book_find(book, "alice", "01_alpha", DEVICE_SIMT);
    alice->measures[0].sectors = 99; /* 3200 bytes do not fit into 99 sectors */
    EXPECT(speed_of(book, &withheld) == 0 && withheld == 20);
    alice->measures[0].sectors = 100;
    EXPECT(speed_of(book, &withheld) == 20 && withheld == 0);
    alice->measures[0].sectors = NAN;
    EXPECT(speed_of(book, &withheld) == 0 && withheld == 20);
    alice->measures[0].sectors = 1000;
    alice->rows[2].points = 20; /* right, but other values of its part are not */
    struct grade_score score;
    grade_score(book, "alice", &book->lessons[0], &score);
    EXPECT(speed_of(book, &withheld) == 10 && isnan(score.speed_ratio)); /* fast, and in no ranking */
    grade_score_free(&score);
    alice->rows[2].points = 40;
    book->speed = 0;
    EXPECT(speed_of(book, &withheld) == 0 && withheld == 20);
    book->speed = 1;
    /* on a GPU: the solution before and after, and the student's in between */
    book->devices[DEVICE_GPU] = 1;
    struct grade_result solution = right_result("", 1000), own = right_result("alice", 1000);
    solution.device = own.device = DEVICE_GPU;
    struct grade_measure *time = &own.measures[0];
    time->before_us = 100, time->after_us = 105, time->time_us = 125;
    grade_book_put(book, &solution);
    grade_book_put(book, &own);
    EXPECT(fabs(speed_of(book, &withheld) - 12) < 1e-9 && withheld == 0);
    const struct grade_result *kept = grade_book_find(book, "alice", "01_alpha", DEVICE_GPU);
    kept->measures[0].after_us = 120;
    EXPECT(speed_of(book, &withheld) == 0 && withheld == 20);
    kept->measures[0].after_us = 100;
    kept->measures[0].refused = "faster than the device's memory can be";
    EXPECT(speed_of(book, &withheld) == 0 && withheld == 20);
    book->devices[DEVICE_GPU] = 0;
    alice = (struct grade_result *)grade_book_find(book, "alice", "01_alpha", DEVICE_SIMT);
    alice->measures[0].sectors = 1250;
}

static double rank_of(const struct grade_book *book, int *unusual)
{
    struct grade_score score;
    grade_score(book, "alice", &book->lessons[0], &score);
    double ratio = score.speed_ratio;
    *unusual = score.speed_unusual;
    grade_score_free(&score);
    return ratio;
}

/* Neither one absurd case nor a choice of cases lifts a kernel in the ranking. */
static void test_ranked(struct grade_book *book)
{
    int unusual;
    double withheld;
    struct grade_result *both[2] = {
        (struct grade_result *)grade_book_find(book, "", "01_alpha", DEVICE_SIMT),
        (struct grade_result *)grade_book_find(book, "alice", "01_alpha", DEVICE_SIMT)};
    for (int i = 0; i < 2; i++) {
        add_row(both[i], "two", "speed", STATE_PASS, 0, 0, RECORD_NO_KIND, "");
        add_measure(both[i], both[i]->rows[3].test_case, 1000);
    }
    struct grade_measure *slow = &both[1]->measures[0], *fast = &both[1]->measures[1];
    slow->sectors = 2000; /* half of the solution's speed, and no points */
    EXPECT(fabs(rank_of(book, &unusual) - 0.75) < 1e-12 && !unusual);
    fast->sectors = 100; /* all that the data allow: ten times */
    EXPECT(fabs(rank_of(book, &unusual) - (0.5 + 2.0) / 2) < 1e-12 && unusual);
    EXPECT(fabs(speed_of(book, &withheld) - 10) < 1e-9 && withheld == 0);
    fast->sectors = 99;
    EXPECT(isnan(rank_of(book, &unusual)) && !unusual);
    EXPECT(speed_of(book, &withheld) == 0 && withheld == 10);
    fast->sectors = 1000;
    both[1]->rows[2].state = STATE_FAIL; /* the slow one is left out: no rank by the other alone */
    EXPECT(isnan(rank_of(book, &unusual)));
    both[1]->rows[2].state = STATE_PASS;
    both[0]->measures[1].min_bytes = fast->min_bytes = 1e6; /* more than the solution moves: says nothing */
    fast->sectors = 501;
    EXPECT(rank_of(book, &unusual) > 0 && speed_of(book, &withheld) > 0 && withheld == 0);
    fast->sectors = 499;
    EXPECT(isnan(rank_of(book, &unusual)) && speed_of(book, &withheld) == 0 && withheld == 10);
    for (int i = 0; i < 2; i++) both[i]->row_count--, both[i]->measure_count--;
    slow->sectors = 1250;
}

/* The solution fails on this device: nobody's verdict there counts. */
static void test_unsound(struct grade_book *book)
{
    struct grade_score score;
    struct grade_result *solution = (struct grade_result *)grade_book_find(book, "", "01_alpha", DEVICE_SIMT);
    enum state kept = solution->state;
    solution->state = STATE_FAIL;
    grade_score(book, names[0], &book->lessons[0], &score);
    EXPECT(score.state == STATE_NOT_GRADED);
    grade_score_free(&score);
    solution->state = kept;
}

/* ---- lines of the journal ------------------------------------------------------------------------------ */

static void test_lines(const struct grade_book *book)
{
    for (size_t i = 0; i < book->result_count; i++) {
        struct text line = {0}, again = {0};
        struct grade_result result;
        grade_result_line(&book->results[i], &line);
        EXPECT(grade_result_parse(line.data, &result) == 0);
        grade_result_line(&result, &again);
        EXPECT(strcmp(line.data, again.data) == 0);
        text_free(&line);
        text_free(&again);
    }
    struct text line = {0}, again = {0};
    struct journal_record record;
    struct grade_book other = {0};
    grade_class_line(book, &line);
    EXPECT(record_parse(line.data, &record) == 0);
    grade_book_read(&other, &record);
    grade_class_line(&other, &again);
    EXPECT(strcmp(line.data, again.data) == 0 && other.student_count == STUDENTS);
    record_free(&record);
    text_free(&line);
    text_free(&again);
}

static void test_csv(const struct grade_book *book, const struct grade_sheet *sheets)
{
    struct text out = {0};
    size_t lines = 0;
    grade_csv(book, sheets, &out);
    for (const char *at = out.data; *at; at++) lines += *at == '\n';
    EXPECT(lines == STUDENTS + 1);
    EXPECT(strstr(out.data, "\nalice,alice,122.00,130.00,0.00,PASS,122.00,130.00,whole,122.00,,\n"));
    EXPECT(strstr(out.data, "\nbob,bob,,130.00,0.00,NOT_GRADED,,130.00,whole,0.00,,\n"));
    EXPECT(strstr(out.data, "\n\"'=1+1|cmd\","));
    text_free(&out);
}

/* A class that was graded with less than the whole isolation: each report says so, and what was missing. */
static void test_isolation(struct grade_book *book, const struct grade_sheet *sheets)
{
    void (*const makers[])(const struct grade_book *, const struct grade_sheet *, struct text *) = {
        grade_gradescope, grade_junit, grade_student_report, grade_student_log, grade_summary, grade_csv};
    char *whole = book->isolation;
    for (int lacking = 0; lacking < 2; lacking++) {
        book->whole = !lacking;
        book->isolation = lacking ? "no bubblewrap here" : whole;
        for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
            struct text out = {0};
            makers[i](book, sheets, &out);
            EXPECT((strstr(out.data, "no bubblewrap here") != NULL) == lacking);
            text_free(&out);
        }
    }
    book->whole = 1;
    book->isolation = whole;
}

/* ---- late days and overrides --------------------------------------------------------------------------- */

static void test_times(void)
{
    static const struct {
        const char *text;
        long long seconds; /* -1: no time */
    } times[] = {{"1970-01-01T00:00:00Z", 0},
                 {"2026-10-05T23:59:30.25Z", 1791244770},
                 {"2026-10-05 23:59:30", 1791244770},
                 {"2026-10-06T01:59:30+02:00", 1791244770},
                 {"2026-10-05 15:59:30 -0800", 1791244770},
                 {"2026-10-05 23:59 UTC", 1791244740},
                 {"2024-02-29 00:00Z", 1709164800},
                 {"2026-10-05", 1791244800}, /* its end */
                 {"2025-02-29 00:00", -1},
                 {"2026-06-31", -1},
                 {"2026-10-05 24:00", -1},
                 {"2026-10-05 23:60", -1},
                 {"2026-10-05 23", -1},
                 {"2026-10-05 23:59:30 CET", -1},
                 {"2026-10-05 23:59+99:00", -1},
                 {"5.10.2026", -1},
                 {"10/05/2026 11:59 PM", -1},
                 {"", -1}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        long long seconds = 0;
        int failed = grade_read_time(times[i].text, 1, &seconds);
        int right = failed ? times[i].seconds == -1 : seconds == times[i].seconds;
        if (!right) printf("\"%s\" is %lld\n", times[i].text, failed ? -1 : seconds);
        EXPECT(right);
    }
    long long seconds;
    EXPECT(grade_read_time("2026-10-05", 0, &seconds) != 0); /* when was it handed in? */
    EXPECT(grade_days_between(1000, 1000) == 0 && grade_days_between(1000, 1001) == 1);
    EXPECT(grade_days_between(0, 86400) == 1 && grade_days_between(0, 86401) == 2 &&
           grade_days_between(5, 0) == 0);
}

/* As spreadsheets write them: a mark at the beginning, line ends of two characters, quotes, line ends inside. */
static void test_tables(void)
{
    struct grade_table table;
    static const char text[] =
        "\xef\xbb\xbfstudent,  note ,points\r\n\"a, b\",\"two\nlines, \"\"quoted\"\"\",5\r\n\r\n x ,,\r\n";
    EXPECT(grade_table_read("t.csv", text, &table) == EXIT_PASS && table.columns == 3 && table.count == 2);
    EXPECT(strcmp(grade_table_cell(&table, 0, "student"), "a, b") == 0);
    EXPECT(strcmp(grade_table_cell(&table, 0, "note"), "two\nlines, \"quoted\"") == 0);
    EXPECT(strcmp(grade_table_cell(&table, 1, "student"), "x") == 0 && table.row[1].line == 5);
    EXPECT(strcmp(grade_table_cell(&table, 1, "none"), "") == 0 && !grade_table_has(&table, "none"));
    grade_table_free(&table);
    EXPECT(grade_table_read("t.csv", "a,b\n1,2,3\n", &table) == EXIT_TROUBLE);
    grade_table_free(&table);
    EXPECT(grade_table_read("t.csv", "", &table) == EXIT_PASS && table.columns == 0);
}

/* Sheets of @p book with these settings, and all reports of them, read by their grammars. */
static struct grade_sheet *adjusted_sheets(struct grade_book *book)
{
    struct grade_sheet *sheets;
    EXPECT(grade_sheets_make(book, &sheets) == EXIT_PASS);
    for (int i = 0; i < STUDENTS; i++) {
        test_gradescope(book, &sheets[i]);
        test_junit(book, &sheets[i]);
    }
    struct text page = {0};
    grade_summary(book, sheets, &page);
    EXPECT(read_xml(page.data, 1, tell_html));
    EXPECT(strstr(page.data, "Late, or changed by hand") && !strstr(page.data, "<script>"));
    text_free(&page);
    return sheets;
}

static void expect_in_all(const struct grade_book *book, struct grade_sheet *sheet, const char *words)
{
    void (*const makers[])(const struct grade_book *, const struct grade_sheet *, struct text *) = {
        grade_gradescope, grade_junit, grade_student_report, grade_student_log};
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        struct text out = {0};
        makers[i](book, sheet, &out);
        if (strstr(out.data, words) == NULL)
            printf("report %zu does not say \"%s\":\n%s\n", i, words, out.data);
        EXPECT(strstr(out.data, words));
        text_free(&out);
    }
}

static void test_adjusted(struct grade_book *book)
{
    struct text csv = {0};
    book->setting[GRADE_OVERRIDES] = "student,lesson,points,comment\n"
                                     "alice,1,100,oral exam\nalice,alpha,+5,<script>alert(2)</script>\n"
                                     "bob,01,50,crashed our machine\n"
                                     "'=1+1|cmd,,-7,\"=not, a formula\"\n"
                                     "Zo\xc3\xab \xe5\xb1\xb1\xe7\x94\xb0,01_alpha,,well said\n";
    struct grade_sheet *sheets = adjusted_sheets(book), *alice = &sheets[ALICE];
    EXPECT(alice->points == 105 && alice->earned == 122 && alice->scores[0].earned == 122);
    EXPECT(sheets[BOB].graded && sheets[BOB].points == 50 && sheets[BOB].scores[0].decided);
    EXPECT(fabs(sheets[0].points - (sheets[0].earned - 7)) < 1e-9);
    EXPECT(sheets[2].points == sheets[2].earned && strstr(sheets[2].scores[0].adjusted.data, "well said"));
    expect_in_all(book, alice, "oral exam");
    expect_in_all(book, &sheets[2], "well said");
    grade_csv(book, sheets, &csv);
    EXPECT(strstr(csv.data,
                  "alice,alice,105.00,130.00,0.00,PASS,105.00,130.00,whole,122.00,"
                  "\"01: set by hand to 100.00 points, 122.00 before: oral exam; +5.00 points by hand"));
    EXPECT(strstr(csv.data, "bob,bob,50.00,130.00,0.00,NOT_GRADED,50.00,130.00,whole,0.00,"));
    text_free(&csv);
    grade_sheets_free(book, sheets);
    static const char *const wrong[] = {
        "student,points\na,1\n", "student,lesson,points,comment\nalice,1,many,\n",
        "student,lesson,points,comment\nalice,,95,\n", "student,lesson,points,comment\nalice,1,nan,\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct grade_rules rules;
        book->setting[GRADE_OVERRIDES] = (char *)wrong[i];
        EXPECT(grade_rules_make(book, &rules) == EXIT_TROUBLE);
        grade_rules_free(&rules);
    }
    book->setting[GRADE_OVERRIDES] = NULL;
}

/* Alice is two days late by the class's deadline; a row of her own moves it. */
static void test_late(struct grade_book *book)
{
    static const struct {
        const char *deadlines, *late_days;
        double points;
    } tries[] = {{"1,2026-10-05,10,", "", 122 * 0.8},
                 {"1,2026-10-05,10,15", "", 122 * 0.85},
                 {"1,2026-10-05,10,", "1", 122 * 0.9},
                 {"1,2026-10-05,10,", "5", 122},
                 {"1,2026-10-05,60,", "", 0},
                 {"1,2026-10-05,10,\n1,2026-10-06T18:00Z,10,,alice", "", 122 * 0.9},
                 {"1,2026-10-09,10,,alice\n1,2026-10-05,10,", "", 122},
                 {"1,2026-10-09,10,,bob\n1,2026-10-05,10,", "", 122 * 0.8},
                 {"2,2026-10-05,10,", "", 122}};
    book->setting[GRADE_TIMES] =
        "Email,Submission Time\nalice,2026-10-03 09:00:00 -0800\nalice,2026-10-07 09:00:00 -0800\n";
    book->setting[GRADE_TIME_COLUMN] = "Submission Time";
    book->setting[GRADE_STUDENT_COLUMN] = "Email";
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        struct text deadlines = {0};
        text_print(&deadlines, "lesson,deadline,penalty_percent,most_percent,student\n");
        for (const char *at = tries[i].deadlines; *at;) { /* rows without a student end early */
            char *row = format_string("%.*s", (int)strcspn(at, "\n"), at);
            text_print(&deadlines, "%s%s\n", row,
                       strstr(row, ",,") != NULL || strstr(row, "alice") != NULL ? "" : ",");
            at += strlen(row) + (at[strlen(row)] != '\0');
            free(row);
        }
        book->setting[GRADE_DEADLINES] = deadlines.data;
        book->setting[GRADE_LATE_DAYS] = (char *)tries[i].late_days;
        struct grade_sheet *sheets;
        EXPECT(grade_sheets_make(book, &sheets) == EXIT_PASS);
        if (!(fabs(sheets[ALICE].points - tries[i].points) < 1e-9))
            printf("late %zu: %g\n", i, sheets[ALICE].points);
        EXPECT(fabs(sheets[ALICE].points - tries[i].points) < 1e-9);
        EXPECT(sheets[0].points == sheets[0].earned); /* no time of theirs is known */
        grade_sheets_free(book, sheets);
        text_free(&deadlines);
    }
    book->setting[GRADE_DEADLINES] = "lesson,deadline,penalty_percent\n01,2026-10-05,10\n";
    struct grade_sheet *sheets = adjusted_sheets(book);
    expect_in_all(book, &sheets[ALICE], "2 days after 2026");
    grade_sheets_free(book, sheets);
    struct grade_rules rules;
    book->setting[GRADE_TIME_COLUMN] = "time";
    EXPECT(grade_rules_make(book, &rules) == EXIT_TROUBLE); /* there is no such column */
    grade_rules_free(&rules);
    for (int i = 0; i < GRADE_SETTINGS; i++) book->setting[i] = NULL;
}

static void test_visibility(struct grade_book *book, const struct grade_sheet *sheet)
{
    struct text out = {0};
    book->setting[GRADE_VISIBILITY] = "after_due_date,speed=hidden,real_sizes=visible";
    EXPECT(grade_visibility_check(book) == EXIT_PASS);
    test_gradescope(book, sheet);
    grade_gradescope(book, sheet, &out);
    EXPECT(strstr(out.data, "[\"01\", \"ratio\"], \"visibility\": \"hidden\""));
    EXPECT(strstr(out.data, "[\"01\", \"speed\"], \"visibility\": \"visible\""));
    EXPECT(strstr(out.data, "[\"01\", \"edges\"], \"visibility\": \"after_due_date\""));
    EXPECT(strstr(out.data, "\n  \"visibility\": \"after_due_date\""));
    text_free(&out);
    book->setting[GRADE_VISIBILITY] = "later";
    EXPECT(grade_visibility_check(book) == EXIT_TROUBLE);
    book->setting[GRADE_VISIBILITY] = "corners=hidden";
    EXPECT(grade_visibility_check(book) == EXIT_TROUBLE);
    book->setting[GRADE_VISIBILITY] = NULL;
}

/* A file that does not compile: the class's page has the first error, and its report promises no commands. Bob's from here on. */
static void test_broken(struct grade_book *book)
{
    struct grade_result broken = make_result("bob", DEVICE_SIMT, STATE_BUILD_ERROR);
    struct grade_sheet *sheets;
    struct text page = {0}, report = {0}, other = {0};
    free(broken.sentence);
    free(broken.log);
    broken.sentence = copy_string("it does not compile");
    broken.log = copy_string("in one():\n  alpha.cu:3:1: error: no <b>\n  alpha.cu:4:1: error: nor this\n");
    grade_book_put(book, &broken);
    EXPECT(grade_sheets_make(book, &sheets) == EXIT_PASS);
    grade_summary(book, sheets, &page);
    EXPECT(read_xml(page.data, 1, tell_html));
    EXPECT(
        strstr(page.data, ">it does not compile: <code>alpha.cu:3:1: error: no &lt;b&gt;</code> (<a href"));
    grade_student_report(book, &sheets[BOB], &report);
    EXPECT(strstr(report.data, "not public.\n"));
    grade_student_report(book, &sheets[0], &other);
    EXPECT(strstr(other.data, "not public; the commands above use the public ones"));
    text_free(&page);
    text_free(&report);
    text_free(&other);
    grade_sheets_free(book, sheets);
}

int main(int count, char **words)
{
    struct grade_book book;
    char folder[] = "/tmp/warpwise_reports_XXXXXX";
    make_class(&book);
    test_points(&book);
    test_withheld(&book);
    test_ranked(&book);
    test_unsound(&book);
    test_lines(&book);
    test_times();
    test_tables();
    struct grade_sheet *sheets;
    EXPECT(grade_sheets_make(&book, &sheets) == EXIT_PASS && !sheets[BOB].graded && sheets[ALICE].graded);
    for (int i = 0; i < STUDENTS; i++) {
        test_gradescope(&book, &sheets[i]);
        test_junit(&book, &sheets[i]);
    }
    test_csv(&book, sheets);
    test_adjusted(&book);
    test_late(&book);
    test_visibility(&book, &sheets[ALICE]);
    test_isolation(&book, sheets);
    test_summary(&book, sheets);
    EXPECT(mkdtemp(folder) != NULL);
    EXPECT(grade_reports(&book, sheets, count > 1 ? words[1] : folder) == EXIT_PASS);
    grade_sheets_free(&book, sheets);
    test_broken(&book);
    remove_tree(folder);
    printf("%d failures\n", failures);
    return failures != 0;
}
