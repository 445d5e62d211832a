/* Unit tests of the parts of `warpwise` that need no course around them: strings, sums, rows, distances. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/process.h"
#include "base/sha256.h"
#include "base/source_sum.h"
#include "base/terminal.h"
#include "base/text.h"
#include "judging/results.h"
#include "protocol/record_columns.h"

static int failures;

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                 \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

static void sum_of(const char *data, size_t repeat, char digits[65])
{
    struct sha256 hash;
    sha256_begin(&hash);
    for (size_t i = 0; i < repeat; i++) sha256_add(&hash, data, strlen(data));
    sha256_end(&hash, digits);
}

/* The examples of FIPS 180-4's companion, and lengths around the border of a block. */
static void test_sha256(void)
{
    char digits[65], other[65];
    sum_of("", 1, digits);
    EXPECT(strcmp(digits, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") == 0);
    sum_of("abc", 1, digits);
    EXPECT(strcmp(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0);
    sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, digits);
    EXPECT(strcmp(digits, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1") == 0);
    sum_of("a", 1000000, digits);
    EXPECT(strcmp(digits, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0);
    for (size_t length = 54; length <= 66; length++) {
        char *whole = format_string("%0*d", (int)length, 0);
        sum_of("0", length, digits);
        sum_of(whole, 1, other);
        EXPECT(strcmp(digits, other) == 0);
        free(whole);
    }
}

static void test_edit_distance(void)
{
    static const char *const names[] = {"check", "bench", "tour", NULL};
    EXPECT(edit_distance("", "") == 0);
    EXPECT(edit_distance("", "abc") == 3);
    EXPECT(edit_distance("kitten", "sitting") == 3);
    EXPECT(edit_distance("chekc", "check") == 1);
    EXPECT(edit_distance("tour", "tour") == 0);
    EXPECT(strcmp(nearest_name("chek", names), "check") == 0);
    EXPECT(strcmp(nearest_name("tuor", names), "tour") == 0);
    EXPECT(nearest_name("zzzzzz", names) == NULL);
    EXPECT(nearest_name("a word far longer than any that this program knows, by a good measure", names) ==
           NULL);
}

static void test_words(void)
{
    const char *list = "a,,b";
    const char *expected[] = {"a", "", "b"};
    for (int i = 0; i < 3; i++) {
        char *word = next_word(&list, ',');
        EXPECT(word && strcmp(word, expected[i]) == 0);
        free(word);
    }
    EXPECT(next_word(&list, ',') == NULL);
    struct argument_list arguments = {0};
    argument_add_words(&arguments, "-a b;;c");
    EXPECT(arguments.count == 3 && strcmp(arguments.items[2], "c") == 0 && !arguments.items[3]);
}

static void test_numbers(void)
{
    char buffer[32];
    EXPECT(strcmp(grouped_number(buffer, 0), "0") == 0);
    EXPECT(strcmp(grouped_number(buffer, 999), "999") == 0);
    EXPECT(strcmp(grouped_number(buffer, 1000), "1,000") == 0);
    EXPECT(strcmp(grouped_number(buffer, -1234567), "-1,234,567") == 0);
    EXPECT(strcmp(grouped_number(buffer, NAN), "nan") == 0);
}

static void read_rows(const char *text, struct results *results)
{
    char *path = format_string("unit_course_rows.%ld.csv", (long)getpid());
    *results = (struct results){0};
    EXPECT(write_file(path, text, strlen(text)) == 0);
    EXPECT(results_read(path, results) == EXIT_PASS);
    unlink(path);
    free(path);
}

static void test_rows(void)
{
    struct results results;
    double points_max;
    read_rows("lesson,case,shape,state,points,points_max,median_us,unknown\n"
              "01_a,one,\"heads 2, \"\"f32\"\"\",PASS,3,4,12.5,x\n"
              "01_a,two,plain,FAIL,,1,,\n"
              "01_a,short\n",
              &results);
    EXPECT(results.count == 3);
    EXPECT(strcmp(results.rows[0].shape, "heads 2, \"f32\"") == 0);
    EXPECT(results.rows[0].median_us == 12.5);
    EXPECT(isnan(results.rows[0].flop) && isnan(results.rows[1].median_us) && isnan(results.rows[1].points));
    EXPECT(strcmp(results.rows[2].test_case, "short") == 0 && results.rows[2].state == STATE_NOTHING_RAN);
    EXPECT(results_points(&results, &points_max) == 3 && points_max == 5);
    EXPECT(results_state(&results) == STATE_FAIL);
    EXPECT(strncmp(results.lines.data, "01_a,one,", 9) == 0);
}

/* What a program decides by comes in fields; a text of several lines is one line of the file. */
static void test_fields(void)
{
    struct results results;
    read_rows("case,state,kind,finding,cause,guess,at,other_at,shown,text\n"
              "one,FAIL,wrong-value,,all-zero,,,,2,a\\nb \\\\n\n"
              "two,FAIL,shared-race,shared-race,,7,a b.cu:12;c.cuh:3,a b.cu:9,1,\n",
              &results);
    const struct result_row *first = &results.rows[0], *second = results_shown(&results, 1);
    EXPECT(results.count == 2 && results_shown(&results, 2) == first && results_shown(&results, 3) == NULL);
    EXPECT(first->kind == RECORD_WRONG_VALUE && first->cause == RECORD_CAUSE_ALL_ZERO && first->guess == -1);
    EXPECT(first->finding == RECORD_NO_KIND && first->at[0][0].file == NULL);
    EXPECT(strcmp(first->text, "a\nb \\n") == 0);
    EXPECT(second && second->finding == RECORD_SHARED_RACE && second->guess == 7);
    EXPECT(second && second->at[0][0].line == 12 && strcmp(second->at[0][0].file, "a b.cu") == 0);
    EXPECT(second && second->at[0][1].line == 3 && second->at[0][2].file == NULL &&
           second->at[1][0].line == 9);
}

/* The row of a kernel file that never came to run has the columns of those that the checker writes. */
static void test_rows_without_run(void)
{
    static const enum state states[] = {STATE_BUILD_ERROR, STATE_REFUSED,   STATE_NOT_STARTED,
                                        STATE_TIMEOUT,     STATE_NO_DEVICE, STATE_NOTHING_RAN};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        struct results written = {0}, got;
        results_without_run(&written, "05", "simt", states[i], "not \"so\", but,\nanother way");
        EXPECT(strcmp(written.header, RECORD_COLUMNS) == 0);
        size_t columns = 0, fields = 0;
        const char *header = written.header, *line = written.lines.data;
        for (; header != NULL; columns++) free(csv_field(&header));
        for (; line != NULL; fields++) free(csv_field(&line));
        EXPECT(columns == fields && columns > 30);
        char *file = format_string("%s\n%s", written.header, written.lines.data);
        read_rows(file, &got);
        free(file);
        EXPECT(got.count == 1 && strcmp(got.rows[0].lesson, "05") == 0);
        EXPECT(got.rows[0].state == states[i] && got.rows[0].points == 0);
    }
}

static void test_states(void)
{
    static const struct {
        const char *rows;
        enum state state;
    } table[] = {
        {"state\n", STATE_NOTHING_RAN},
        {"state\nLEFT_OUT\n", STATE_NOTHING_RAN},
        {"state\nPASS\nLEFT_OUT\n", STATE_PASS},
        {"state\nNOT_STARTED\nNOT_STARTED\n", STATE_NOT_STARTED},
        {"state\nPASS\nNOT_STARTED\n", STATE_IN_PROGRESS},
        {"state\nPASS\nNOT_STARTED\nTIMEOUT\n", STATE_TIMEOUT},
        {"state\nNOT_STARTED\nFAIL\nPASS\n", STATE_FAIL},
        {"state\nFAIL\nTIMEOUT\nCRASH\n", STATE_FAIL},
    };
    for (int state = 0; state < STATE_COUNT; state++)
        EXPECT((int)state_of(state_name((enum state)state)) == state);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct results results;
        read_rows(table[i].rows, &results);
        EXPECT(results_state(&results) == table[i].state);
    }
    EXPECT(state_is_failure(STATE_REFUSED) && !state_is_failure(STATE_NOT_STARTED) &&
           !state_is_failure(STATE_NO_DEVICE));
    EXPECT(state_was_executed(STATE_FAIL) && state_was_executed(STATE_CRASH) &&
           state_was_executed(STATE_PASS));
    EXPECT(!state_was_executed(STATE_NOT_STARTED) && !state_was_executed(STATE_BUILD_ERROR) &&
           !state_was_executed(STATE_NOTHING_RAN));
}

static void test_files(void)
{
    char *folder = format_string("unit_course.%ld/a/b", (long)getpid());
    char *top = format_string("unit_course.%ld", (long)getpid());
    char *file = format_string("%s/file", folder);
    struct text content = {0};
    EXPECT(make_folders(folder) == 0 && make_folders(folder) == 0 && is_folder(folder));
    EXPECT(write_file(file, "one\0two", 7) == 0);
    EXPECT(read_file(file, &content) == 0 && content.length == 7 && memcmp(content.data, "one\0two", 8) == 0);
    EXPECT(read_file(top, &content) != 0 && make_folders(file) == 0 && !is_folder(file));
    EXPECT(symlink("/", "unit_course_link") == 0);
    remove_tree("unit_course_link");
    EXPECT(is_folder("/") && access("unit_course_link", F_OK) != 0);
    remove_tree(top);
    EXPECT(!is_folder(top));
    EXPECT(find_program("sh") && !find_program("") && !find_program("/") && !find_program("no such program"));
}

static char *make_aged(const char *folder, const char *name, long age)
{
    char *path = format_string("%s/%s", folder, name);
    struct timespec then = {.tv_sec = time(NULL) - age};
    EXPECT(write_file(path, "half of it", 10) == 0);
    utimensat(AT_FDCWD, path, (const struct timespec[]){then, then}, 0);
    return path;
}

/* What a killed program left goes; what somebody holds, what is new, other names and links stay. */
static void test_leftovers(void)
{
    char folder[] = "/tmp/warpwise_unit_XXXXXX";
    EXPECT(mkdtemp(folder) != NULL);
    char *dead = make_aged(folder, "build.4711", 60), *held = make_aged(folder, "build.4712", 60);
    char *young = make_aged(folder, "build.4713", 0), *other = make_aged(folder, "build.mine", 60);
    char *left = format_string("%s/build.4714", folder), *in_left = format_string("%s/work", left);
    char *link = format_string("%s/build.4715", folder);
    int hold = leftovers_hold(held);
    EXPECT(hold >= 0 && make_folders(in_left) == 0 && symlink(other, link) == 0);
    utimensat(AT_FDCWD, left, (const struct timespec[]){{0}, {0}}, 0);
    EXPECT(leftovers_hold(held) < 0); /* it has somebody */
    leftovers_remove(folder, "build", "#");
    EXPECT(access(dead, F_OK) != 0 && access(left, F_OK) != 0);
    EXPECT(access(held, F_OK) == 0 && access(young, F_OK) == 0 && access(other, F_OK) == 0 &&
           access(link, F_OK) == 0);
    close(hold);
    leftovers_remove(folder, "build", "");
    EXPECT(access(held, F_OK) != 0 && access(other, F_OK) != 0 && access(young, F_OK) == 0);
    remove_tree(folder);
    char *const paths[] = {dead, held, young, other, left, in_left, link};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) free(paths[i]);
}

static double sum_of_tree(const char *tree, const char *kernel, const char *header, const char *contract)
{
    static const char *const files[] = {"solutions/01_some_topic/some_topic.cu",
                                        "lessons/01_some_topic/given.h", "common/contracts/contract.h"};
    const char *const contents[] = {kernel, header, contract};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = format_string("%s/%s", tree, files[i]);
        char *folder = format_string("%.*s", (int)(strrchr(path, '/') - path), path);
        EXPECT(make_folders(folder) == 0 && write_file(path, contents[i], strlen(contents[i])) == 0);
        free(folder);
        free(path);
    }
    return source_sum(tree, "01_some_topic");
}

/* Code counts, wherever it is included from; comments, white space and files that nobody includes do not. */
static void test_source_sum(void)
{
    static const char kernel[] =
        "#include \"given.h\"\nint a = 1; char c = '\"'; const char *s = \"a // b\";",
                      given[] = "#include \"contract.h\"\n#include \"given.h\"\nint b;";
    char tree[] = "/tmp/warpwise_unit_XXXXXX";
    EXPECT(mkdtemp(tree) != NULL);
    double sum = sum_of_tree(tree, kernel, given, "int c;");
    EXPECT(sum > 0 && sum == floor(sum) && sum < 281474976710656.0);
    EXPECT(sum ==
           sum_of_tree(tree,
                       "// it's \"new\"\n#include \"given.h\" /* \" */\n\n int a  =\n1; char c = '\"'; const "
                       "char *s = \"a // b\";",
                       given, "/* c */ int c;"));
    EXPECT(sum != sum_of_tree(tree,
                              "#include \"given.h\"\nint a = 1; char c = '\"'; const char *s = \"a // c\";",
                              given, "int c;"));
    EXPECT(sum != sum_of_tree(tree, kernel, "#include \"contract.h\"\nint d;", "int c;"));
    EXPECT(sum != sum_of_tree(tree, kernel, given, "int d;"));
    EXPECT(sum_of_tree(tree, kernel, "", "int c;") == sum_of_tree(tree, kernel, "", "int d;"));
    EXPECT(source_sum(tree, "02_other_topic") == 0);
    remove_tree(tree);
}

int main(void)
{
    test_sha256();
    test_source_sum();
    test_edit_distance();
    test_words();
    test_numbers();
    test_rows();
    test_fields();
    test_rows_without_run();
    test_states();
    test_files();
    test_leftovers();
    if (failures == 0) printf("all parts of warpwise are as they should be\n");
    return failures != 0;
}
