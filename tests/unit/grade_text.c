/* Unit tests of what stands between hostile names and the reports (escape.c), and of the journal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/text.h"
#include "grading/journal.h"

static int failures;

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                 \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

static void expect_text(int line, char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0) {
        printf("%s:%d: \"%s\" instead of \"%s\"\n", __FILE__, line, got, wanted);
        failures++;
    }
    free(got);
}
#define EXPECT_TEXT(got, wanted) expect_text(__LINE__, got, wanted)

static char *put(void (*function)(struct text *, const char *), const char *string)
{
    struct text out = {0};
    text_append(&out, "", 0);
    function(&out, string);
    return out.data;
}

/* ---- visible text -------------------------------------------------------------------------------------- */

static void test_visible(void)
{
    EXPECT_TEXT(escape_visible("plain", ESCAPE_ONE_LINE), "plain");
    EXPECT_TEXT(escape_visible("Zoë 山田 🙂", ESCAPE_ONE_LINE), "Zoë 山田 🙂");
    EXPECT_TEXT(escape_visible("a\nb\tc\x1b[31m", ESCAPE_ONE_LINE), "a\\x0ab\\x09c\\x1b[31m");
    EXPECT_TEXT(escape_visible("a\nb\tc", ESCAPE_MANY_LINES), "a\nb    c");
    EXPECT_TEXT(escape_visible("a\r\n\x7f", ESCAPE_MANY_LINES), "a\\x0d\n\\x7f");
    /* not UTF-8: a lone byte, a form longer than needed, a surrogate, beyond the last, cut off */
    EXPECT_TEXT(escape_visible("\xff", ESCAPE_ONE_LINE), "\\xff");
    EXPECT_TEXT(escape_visible("\xc0\xaf", ESCAPE_ONE_LINE), "\\xc0\\xaf");
    EXPECT_TEXT(escape_visible("\xe0\x80\xaf", ESCAPE_ONE_LINE), "\\xe0\\x80\\xaf");
    EXPECT_TEXT(escape_visible("\xed\xa0\x80", ESCAPE_ONE_LINE), "\\xed\\xa0\\x80");
    EXPECT_TEXT(escape_visible("\xf4\x90\x80\x80", ESCAPE_ONE_LINE), "\\xf4\\x90\\x80\\x80");
    EXPECT_TEXT(escape_visible("x\xe2\x82", ESCAPE_ONE_LINE), "x\\xe2\\x82");
    /* valid, but not to be seen */
    EXPECT_TEXT(escape_visible("\u202egnp.exe", ESCAPE_ONE_LINE), "\\u{202e}gnp.exe");
    EXPECT_TEXT(escape_visible("a\u200bb\ufeff\uffff", ESCAPE_ONE_LINE), "a\\u{200b}b\\u{feff}\\u{ffff}");
    EXPECT_TEXT(escape_visible("\xc2\x85", ESCAPE_ONE_LINE), "\\x85");
}

/* ---- file names ---------------------------------------------------------------------------------------- */

static void test_folder_names(void)
{
    static const char *const names[] = {"alice", "..",          ".",       "../../etc/passwd",
                                        "-rf",   "a b",         "a_b",     "a\nb",
                                        "a\tb",  "\xff",        "\xfe",    "con",
                                        "=1+1",  "_1_1",        "",        "a/b",
                                        "a\\b",  ".hidden",     "_hidden", "Zoë",
                                        "Zoe",   "a-b",         "a",       "<b>",
                                        "zoe",   "Zoe\xcc\x88", "CON",     "con.txt",
                                        "com1",  "LPT9.x",      "x.",      "x"};
    enum { COUNT = sizeof names / sizeof names[0] };
    char *made[COUNT];
    EXPECT_TEXT(escape_folder_name("alice"), "alice");
    for (size_t i = 0; i < COUNT; i++) {
        made[i] = escape_folder_name(names[i]);
        EXPECT(*made[i] && made[i][0] != '.' && strlen(made[i]) < 100);
        EXPECT(strspn(made[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               strlen(made[i]));
        EXPECT(made[i][strlen(made[i]) - 1] != '.');
        for (size_t j = 0; j < i; j++) EXPECT(strcasecmp(made[i], made[j]) != 0);
    }
    EXPECT_TEXT(escape_folder_name("zoe"), "zoe");
    EXPECT(escape_folder_name("con.txt")[0] == '_' && escape_folder_name("LPT9.x")[0] == '_');
    /* a name that is chosen to be what another one becomes */
    char *forged = escape_folder_name(made[5]);
    EXPECT(strcmp(forged, made[5]) != 0);
    free(forged);
    for (size_t i = 0; i < COUNT; i++) free(made[i]);
    char *longer = format_string("%0300d", 1), *longest = format_string("%0301d", 1);
    char *one = escape_folder_name(longer), *other = escape_folder_name(longest);
    EXPECT(strlen(one) < 100 && strcmp(one, other) != 0);
    free(one);
    free(other);
    free(longer);
    free(longest);
}

/* ---- notations ----------------------------------------------------------------------------------------- */

static void test_notations(void)
{
    EXPECT_TEXT(put(put_csv, "alice"), "alice");
    EXPECT_TEXT(put(put_csv, "O'Neill, \"Bob\""), "\"O'Neill, \"\"Bob\"\"\"");
    EXPECT_TEXT(put(put_csv, "=cmd|'/C calc'!A0"), "\"'=cmd|'/C calc'!A0\"");
    EXPECT_TEXT(put(put_csv, "+1+1"), "\"'+1+1\"");
    EXPECT_TEXT(put(put_csv, "-2+3"), "\"'-2+3\"");
    EXPECT_TEXT(put(put_csv, "-rf"), "\"'-rf\"");
    EXPECT_TEXT(put(put_csv, "@SUM(A1)"), "\"'@SUM(A1)\"");
    EXPECT_TEXT(put(put_csv, "  =1"), "\"'  =1\"");
    EXPECT_TEXT(put(put_csv, "\uff1d1"), "\"'\uff1d1\"");
    EXPECT_TEXT(put(put_csv, "-12.5"), "-12.5");
    EXPECT_TEXT(put(put_csv, "\t=1\r\n"), "\\x09=1\\x0d\\x0a");
    EXPECT_TEXT(put(put_csv, "a;b"), "\"a;b\"");

    EXPECT_TEXT(put(put_json, "a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
    EXPECT_TEXT(put(put_json, "\x01\xff"), "\"\\\\x01\\\\xff\"");
    EXPECT_TEXT(put(put_json, "</script>"), "\"</script>\"");
    EXPECT_TEXT(put(put_xml, "<a href=\"x\" id='y'>&]]>"),
                "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;]]&gt;");
    EXPECT_TEXT(put(put_xml, "\x0b\ufffe"), "\\x0b\\u{fffe}");
    EXPECT_TEXT(put(put_markdown, "[x](http://y) *z* <b> | `c`\n# h"),
                "\\[x\\]\\(http\\://y\\) \\*z\\* &lt;b\\> \\| \\`c\\`\\\\x0a\\# h");
    EXPECT_TEXT(put(put_markdown_block, "```\nevil"), "````text\n```\nevil\n````\n");
    EXPECT_TEXT(put(put_markdown_block, "a\n"), "```text\na\n```\n");
}

/* ---- records ------------------------------------------------------------------------------------------- */

static void test_records(void)
{
    struct text line = {0};
    struct journal_record record;
    record_put(&line, "kind", "test");
    record_put(&line, "name", "a\tb\nc\\d\re");
    record_put(&line, "empty", "");
    record_put_number(&line, "third", 1.0 / 3.0);
    EXPECT(!strchr(line.data, '\n'));
    EXPECT(record_parse(line.data, &record) == 0 && record.count == 4);
    EXPECT(strcmp(record_value(&record, "name"), "a\tb\nc\\d\re") == 0);
    EXPECT(strcmp(record_value(&record, "empty"), "") == 0);
    EXPECT(strcmp(record_value(&record, "absent"), "") == 0);
    EXPECT(record_number(record_value(&record, "third")) == 1.0 / 3.0);
    EXPECT(record_number("") != record_number(""));
    record_free(&record);
    EXPECT(record_parse("a\tb\tc", &record) == -1);
    EXPECT(record_parse("a\tb\\x", &record) == -1);
    EXPECT(record_parse("a\tb\\", &record) == -1);
    text_free(&line);
}

/* ---- the journal --------------------------------------------------------------------------------------- */

struct seen {
    int count, wrong;
};

/* Record number n must say "n" and hold a line that looks like a record. */
static void see(void *context, const struct journal_record *record)
{
    struct seen *seen = context;
    char number[16];
    snprintf(number, sizeof number, "%d", seen->count++);
    seen->wrong += strcmp(record_value(record, "number"), number) != 0;
    seen->wrong += strstr(record_value(record, "log"), "\n0123456789abcdef kind\tresult\n") == NULL;
}

static int append_number(struct journal *journal, int number)
{
    struct text line = {0};
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    record_put(&line, "number", text);
    record_put(&line, "log", "hostile\n0123456789abcdef kind\tresult\n");
    int error = journal_append(journal, &line);
    text_free(&line);
    return error;
}

enum { RECORDS = 6 };

/* Cut off after every number of bytes: what is left is a beginning of the records, and can be appended to. */
static void test_every_cut(const char *path, const struct text *whole)
{
    int before = 0;
    for (size_t length = 0; length <= whole->length; length++) {
        struct journal journal;
        struct seen seen = {0}, again = {0};
        EXPECT(write_file(path, whole->data, length) == 0);
        EXPECT(journal_open(path, see, &seen, &journal) == 0);
        EXPECT(seen.wrong == 0 && seen.count >= before && seen.count <= before + 1);
        EXPECT(journal.cut == (length > 0 && whole->data[length - 1] != '\n'));
        before = seen.count;
        EXPECT(append_number(&journal, seen.count) == 0);
        journal_close(&journal);
        EXPECT(journal_read(path, see, &again, &journal) == 0);
        EXPECT(again.count == seen.count + 1 && again.wrong == 0 && !journal.cut && !journal.damaged);
    }
    EXPECT(before == RECORDS);
}

/* A changed byte costs its own record and no other. */
static void test_every_damage(const char *path, const struct text *whole)
{
    size_t first = strcspn(whole->data, "\n") + 1;
    for (size_t at = first; at < whole->length; at += 7) {
        struct journal journal;
        struct seen seen = {0};
        char kept = whole->data[at];
        if (kept == '\n') continue;
        whole->data[at] = kept == 'x' ? 'y' : 'x';
        EXPECT(write_file(path, whole->data, whole->length) == 0);
        whole->data[at] = kept;
        EXPECT(journal_read(path, see, &seen, &journal) == 0);
        EXPECT(journal.damaged == 1 && seen.count == RECORDS - 1);
    }
}

static void test_journal(void)
{
    char folder[] = "/tmp/warpwise_journal_XXXXXX";
    struct journal journal;
    struct seen seen = {0};
    struct text whole = {0};
    EXPECT(mkdtemp(folder) != NULL);
    char *path = format_string("%s/journal", folder);
    EXPECT(journal_read(path, see, &seen, &journal) == ENOENT);
    EXPECT(journal_open(path, see, &seen, &journal) == 0 && seen.count == 0);
    for (int i = 0; i < RECORDS; i++) EXPECT(append_number(&journal, i) == 0);
    EXPECT(journal.records == RECORDS);
    journal_close(&journal);
    EXPECT(read_file(path, &whole) == 0);
    test_every_cut(path, &whole);
    test_every_damage(path, &whole);
    for (int i = 0; i < 5000; i++) text_append(&whole, "x", 1); /* a half-written line longer than the next */
    struct seen again = {0};
    EXPECT(write_file(path, whole.data, whole.length) == 0);
    EXPECT(journal_open(path, see, &again, &journal) == 0 && journal.cut && again.count == RECORDS);
    EXPECT(append_number(&journal, RECORDS) == 0);
    journal_close(&journal);
    again.count = 0;
    EXPECT(journal_read(path, see, &again, &journal) == 0 && !journal.cut && again.count == RECORDS + 1);
    EXPECT(write_file(path, "something else\n", 15) == 0);
    EXPECT(journal_open(path, see, &seen, &journal) == EPROTO);
    text_free(&whole);
    free(path);
    remove_tree(folder);
}

/* A full disk: the record that does not fit leaves no trace, and the next one is as if it had never been
 * tried. */
static void test_full_disk(void)
{
    struct journal journal = {.file = open("/dev/full", O_WRONLY), .length = 0};
    if (journal.file < 0) return;
    EXPECT(append_number(&journal, 0) == ENOSPC);
    EXPECT(journal.length == 0 && journal.records == 0);
    close(journal.file);
}

int main(void)
{
    test_visible();
    test_folder_names();
    test_notations();
    test_records();
    test_journal();
    test_full_disk();
    printf("%d failures\n", failures);
    return failures != 0;
}
