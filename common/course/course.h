/**
 * @file course.h
 * @brief The parts of the program `warpwise`, and what each of them offers to the others.
 *
 *     main.c       the table of commands, help, options; companion.h lists the files that accompany a student
 *     check.c bench.c tour.c runner.c doctor.c ran.c     one command each
 *     grade*.c journal.c escape.c       grading a class: see grade.h
 *     handout.c    the student's tree
 *     judge.c      one kernel file, one device: build and check
 *     build.c      from a kernel file to a runner
 *     build_untrusted.c   the same for a stranger's file, with source_check.c and object_check.c
 *     submission.c one lesson of one student's submission (submission.h)
 *     results.c    the rows that the checker writes
 *     table.c      the tables that tour and bench print
 *     device.c     is there a GPU, what can it do
 *     course.c     where things are, which lessons exist
 *     process.c    programs started from here
 *     terminal.c   colours, complaints, progress
 *     text.c       strings, files, edit distance
 *     sha256.c     names of cached builds
 *
 * Nothing here knows what a kernel should compute: that is the checker's business (common/checker), and no
 * student code runs in this process: that is the runner's (common/runner).
 *
 * The program lives for one command. Memory is taken as needed and goes with it; running out of it ends the
 * program with one sentence.
 */
#ifndef WARPWISE_COURSE_H
#define WARPWISE_COURSE_H

#include <stddef.h>
#include <stdio.h>

/** @brief Exit codes, the same for every command. */
enum exit_code {
    EXIT_PASS = 0,     /**< everything asked for was done and is right */
    EXIT_FAIL = 1,     /**< a kernel is wrong, or does not compile */
    EXIT_TROUBLE = 2,  /**< bad usage, or something outside the kernel is broken: no verdict */
    EXIT_SKIPPED = 77, /**< not started, or the device is not here */
};

enum device { DEVICE_SIMT, DEVICE_GPU, DEVICE_COUNT };

/* ---- strings and files (text.c) ----------------------------------------------------------------------- */

/** @brief A string that grows. Zero-initialise; @c data is NULL until something is appended. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
};

void text_append(struct text *text, const char *data, size_t length);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);

void *must_allocate(size_t bytes);
char *copy_string(const char *string);
char *format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** @brief The whole file in @p content; 0, or errno. */
int read_file(const char *path, struct text *content);
/** @brief Writes @p content beside @p path and renames it into place; 0, or errno. */
int write_file(const char *path, const char *content, size_t length);
/** @brief Creates @p path and the folders above it; 0, or errno. */
int make_folders(const char *path);
/** @brief Removes @p path, a folder with all that is in it. Never follows a link. */
void remove_tree(const char *path);
int is_folder(const char *path);
/** @brief Full path of @p program if it can be executed (looked up on PATH unless it has a slash), or NULL.
 */
char *find_program(const char *program);

/** @brief Letters to insert, delete, replace or swap to turn @p a into @p b. */
int edit_distance(const char *a, const char *b);
/** @brief The one of @p names (ended by NULL) nearest to @p word, or NULL if none is near. */
const char *nearest_name(const char *word, const char *const *names);

/** @brief The first word of @p list, cut off at @p separator, copied; moves @p list on. NULL at the end. */
char *next_word(const char **list, char separator);

/* ---- what the terminal shows (terminal.c) ------------------------------------------------------------- */

enum colour { COLOUR_NONE, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BOLD, COLOUR_DIM };

/** @brief The control code for @p colour on stdout, or "" where colours are not wanted (NO_COLOR, no tty). */
const char *colour_on(enum colour colour);
/** @brief The code that ends any colour. */
const char *colour_off(void);
enum colour state_colour(const char *state);

/** @brief One sentence on stderr, after "warpwise: ". Returns EXIT_TROUBLE, so that callers can return it. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** @brief From now on (1) complaints are kept instead of printed, until 0. */
void complaints_keep(int keep);
/** @brief The last complaint kept, "" if there was none. */
const char *complaint_kept(void);
/** @brief A line of progress on stderr, overwritten by the next; only on a terminal. NULL wipes it. */
void show_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** @brief 1234567 as "1,234,567", in @p buffer of at least 32 bytes. */
const char *grouped_number(char *buffer, double value);

/* ---- programs started from here (process.c) ----------------------------------------------------------- */

struct process {
    const char *const *arguments;   /**< ended by NULL; the first is looked up on PATH */
    const char *const *environment; /**< NAME=VALUE added to ours, ended by NULL; NULL for none */
    int echo;                       /**< 1: output is copied to our stdout as it comes */
    int seconds;                    /**< limit; 0: none */
};

struct process_end {
    int exit_code;      /**< -1 unless it exited by itself */
    int signal;         /**< the signal that ended it, or 0 */
    int start_error;    /**< errno if it could not be started, or 0 */
    int timed_out;      /**< 1 if it was stopped at its limit */
    int given_up;       /**< 1 if it was stopped because its result is not wanted any more */
    struct text output; /**< stdout and stderr together, at most 4 MB of it */
};

/** @brief Runs a program in its own process group and waits. On ^C the whole group is stopped. */
void process_run(const struct process *process, struct process_end *end);
/** @brief From now on, whatever runs is stopped when @p unwanted(@p context) says 1. NULL: nothing is. */
void process_give_up_when(int (*unwanted)(void *), void *context);
/** @brief Catches SIGINT, SIGTERM and SIGHUP, so that children can be stopped and files cleaned up. */
void process_catch_signals(void);
/** @brief The signal that asked this program to stop, or 0. */
int process_interrupted(void);

/** @brief Arguments for a program, ended by NULL at all times. */
struct argument_list {
    const char **items;
    size_t count;
};
void argument_add(struct argument_list *list, const char *argument);
/** @brief Adds each word of @p words, which are separated by semicolons or blanks. */
void argument_add_words(struct argument_list *list, const char *words);

/* ---- names of cached builds (sha256.c) ---------------------------------------------------------------- */

struct sha256 {
    unsigned state[8];
    unsigned char block[64];
    unsigned long long length;
};
void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t length);
/** @brief Ends the sum: 64 hexadecimal digits and a zero. */
void sha256_end(struct sha256 *hash, char digits[65]);

/* ---- where things are (course.c) ---------------------------------------------------------------------- */

struct lesson_folder {
    char *name;   /**< "04_flash_attention_1" */
    char *number; /**< "04" */
    char *topic;  /**< "flash_attention_1" */
};

/** @brief 0 if this program stands in the build folder it was configured for and the sources are there. */
int course_locate(void);
const char *course_source_dir(void);
const char *course_binary_dir(void);
/** @brief The lessons, by number; @p count receives how many. */
const struct lesson_folder *course_lessons(size_t *count);
/** @brief The lesson meant by "4", "04", "04_topic", a topic or a path; complains and returns NULL if none
 * is. */
const struct lesson_folder *course_find_lesson(const char *word);
/** @brief lessons/NN_topic/topic.cu, or the same under solutions/. */
char *course_kernel_path(const struct lesson_folder *lesson, int solution);
/** @brief @p path without the source folder before it, where that makes it valid from the working folder. */
const char *course_short_path(const char *path);

/* ---- devices (device.c) ------------------------------------------------------------------------------- */

const char *device_name(enum device device);

enum { MAX_LIMITS = 64 };

/** @brief What `ceilings` says about the GPU, as names and values. */
struct device_facts {
    int usable;   /**< 1 if kernels can run on it */
    char *reason; /**< why not, one sentence without its full stop */
    char *model;  /**< "NVIDIA H200" */
    int arch;     /**< 90 for sm_90 */
    size_t count; /**< facts below */
    char *name[MAX_LIMITS];
    char *value[MAX_LIMITS];
};

/** @brief Whether kernels can run on @p device here and now; asked once for each device. */
const struct device_facts *device_probe(enum device device);
/** @brief Measures the limits of the GPU, once. The result has no facts if that did not work. */
const struct device_facts *device_measure(void);
/** @brief The fact called @p name, or 0. */
double device_fact(const struct device_facts *facts, const char *name);

/** @brief The devices that --device asks for. */
struct device_choice {
    int wanted[DEVICE_COUNT];
    int explicitly; /**< named by the user: missing it is an end, not a note */
};
/** @brief Reads "gpu", "simt", "both" or NULL (both); EXIT_PASS or EXIT_TROUBLE. */
int device_choose(const char *word, struct device_choice *choice);

/* ---- from a kernel file to a runner (build.c) --------------------------------------------------------- */

enum build_state {
    BUILD_READY,
    BUILD_BROKEN,    /**< the kernel file does not compile or link */
    BUILD_IMPOSSIBLE, /**< something else is wrong; it has been complained about */
    BUILD_REFUSED,    /**< the kernel file does what a stranger's may not (build_untrusted() only) */
    BUILD_LATE        /**< the compiler took too much time or memory over it (build_untrusted() only) */
};

struct build {
    enum build_state state;
    char *runner;       /**< the program, if ready */
    int cached;         /**< 1 if it was there already */
    char *sentence;     /**< why it was refused or late; else NULL */
    struct text errors; /**< first messages of the compiler, if broken */
    struct text log;    /**< everything the compiler said */
};

/** @brief Builds @p kernel as a runner of @p lesson, or finds the one built before from the same content. */
void build_runner(const struct lesson_folder *lesson, const char *kernel, enum device device,
                  struct build *build);
/**
 * @brief The same for a stranger's file: compilers run in the sandbox (common/checker/sandbox.h); the text, what the
 *        preprocessor made of it and the object are checked before anything is linked.
 */
void build_untrusted(const struct lesson_folder *lesson, const char *kernel, enum device device,
                     struct build *build);
/** @brief From now on compilers get @p seconds for a stranger's file; without, 90 for simt and 300 for gpu. */
void build_untrusted_limit(double seconds);
/** @brief EXIT_PASS if @p path is a kernel file that can be read; complains otherwise. */
int build_kernel_file_usable(const char *path);

/* ---- the rows that the checker writes (results.c) ----------------------------------------------------- */

struct result_row {
    char *lesson, *part, *test_case, *group, *shape, *state;
    char *finding;               /**< what the software device found: "shared-race", …; or "" */
    char *time_refused;          /**< why the time is not to be believed, or "" */
    char *headline, *pattern;    /**< what is wrong, and what that looks like */
    double points, points_max;
    double median_us, p10_us, p90_us;
    double flop, min_bytes;
    double workspace_bytes, launches, occupancy;
    double load_requests, load_sectors, store_requests, store_sectors, bank_conflicts;
    double shared_load_wavefronts, shared_store_wavefronts, atomics, barriers;
};

struct results {
    struct result_row *rows;
    size_t count;
    struct text lines; /**< the rows as they were read, without the header */
    char *header;
};

/** @brief Cuts one field off the front of @p line, without its quotes; the line is NULL after the last. */
char *csv_field(const char **line);
/** @brief Appends a field to a line that ends at its last field, or begins one after a line end. */
void csv_append(struct text *line, const char *value);

/** @brief Appends the rows of a file of the checker; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int results_read(const char *path, struct results *results);
/** @brief Sets header and lines, not rows: the one line of a kernel file that never came to run, with @p state and
 *         the reason. It has the columns of the checker's lines. */
void results_without_run(struct results *results, const char *lesson, const char *device, const char *state,
                         const char *headline);
/** @brief The one state that stands for all rows; "NOTHING_RAN" if there are none. */
const char *results_state(const struct results *results);
double results_points(const struct results *results, double *points_max);
/** @brief 1 for a state that means a wrong kernel: FAIL, CRASH, TIMEOUT, REFUSED, BUILD_ERROR. */
int state_is_failure(const char *state);
/** @brief 1 if @p state is what `--expect @p expected` asks for: FAIL stands for every failure but BUILD_ERROR. */
int state_is_expected(const char *state, const char *expected);
/** @brief 1 if a kernel was really executed to reach this state. */
int state_was_executed(const char *state);

/* ---- one kernel file, one device (judge.c) ------------------------------------------------------------ */

struct judgement_request {
    const struct lesson_folder *lesson;
    const char *kernel;
    const char *submission; /**< folder of a submission to take the kernel file from, or NULL */
    enum device device;
    const char *order; /**< SIMT_ORDER for the runner, or NULL */
    const char *again; /**< words that name the kernel on a command line, or NULL for the lesson's own */
    int bench;
    int build_only; /**< 1: a submission is built and not run */
    int echo; /**< 1: the checker's report goes to stdout */
    int verbose;
    struct argument_list checker_arguments; /**< passed on as they are */
};

struct judgement {
    int exit_code;     /**< an ::exit_code */
    const char *state; /**< PASS, FAIL, … */
    struct results results;
    struct text report;
    int device_finding; /**< 1 if the software device reported something */
};

void judge(const struct judgement_request *request, struct judgement *judgement);
/** @brief The second half of judge(): a runner that is there already, handed to the checker. */
void judge_runner(const struct judgement_request *request, const char *runner, struct judgement *judgement);
/** @brief 1 if it came to no verdict because the device is not there. */
int judgement_lacks_device(const struct judgement *judgement);
/** @brief Notes on disk that a kernel of @p lesson ran, for the test run.executed_something. */
void record_run(const struct lesson_folder *lesson, enum device device, const char *state);

/* ---- tables (table.c) --------------------------------------------------------------------------------- */

void print_device_heading(enum device device);
void print_table_head(enum device device);
void print_table_foot(enum device device);
/** @brief One line for the lesson's verdict, then one for each timed or counted case. */
void print_lesson_rows(const struct lesson_folder *lesson, enum device device, const struct judgement *check,
                       const struct judgement *bench, const struct results *before);
/** @brief What the names of the cases stand for. */
void print_shapes(const struct results *results);

/* ---- commands ----------------------------------------------------------------------------------------- */

enum { MAX_OPTIONS = 24, MAX_OPERANDS = 256 };

/** @brief One option of a command. */
struct option_description {
    const char *name;     /**< "--case" */
    const char *argument; /**< "NAME", or NULL for a switch */
    const char *help;
    int many; /**< 1: may be given more than once */
};

/** @brief What stands on the command line. */
struct command_line {
    const char *operand; /**< NULL if none was given */
    size_t operand_count;
    const char *operands[MAX_OPERANDS]; /**< all of them, for a command that takes many */
    size_t count;
    const char *name[MAX_OPTIONS * 4];
    const char *value[MAX_OPTIONS * 4]; /**< "" for a switch */
};

struct command {
    const char *name;
    const char *operand; /**< what stands after the name: "NN", or NULL */
    const char *second;  /**< and after that */
    int many;            /**< 1: it takes more than one of these */
    const char *summary; /**< NULL: not listed */
    const char *details;
    const struct option_description *options; /**< ended by a NULL name */
    int (*run)(const struct command_line *line);
};

/** @brief The value of option @p name (the last one given), "" for a switch, NULL if it was not given. */
const char *option_value(const struct command_line *line, const char *name);

extern const struct command check_command, bench_command, tour_command, runner_command, doctor_command,
    ran_command, grade_command, handout_command;

#endif
