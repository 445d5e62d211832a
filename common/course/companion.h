/**
 * @file companion.h
 * @brief What the commands that accompany a student share: progress that is remembered, pages and skeletons that are
 *        read, text that fits the terminal, figures that are recorded.
 *
 *     status.c next.c watch.c hint.c diff.c reset.c                  one command each, about working
 *     predict.c profile.c roofline.c completion.c                    one command each, about measuring
 *     progress.c   what was passed, which hints were shown; outside the tree, so that git never sees it
 *     page.c       a lesson's page (goal, hints) and the regions of its kernel file
 *     skeleton.c   the kernel file as it was handed out
 *     layout.c     columns, wrapped text, bars, letters a terminal can show
 *     line_diff.c  which lines of two files are the same
 *     watched.c    waits for a file to be saved
 *     screen.c     the terminal while something is watched
 *     rivals.c     the kernels that `bench` sets beside each other
 *     record.c     docs/results/DEVICE.csv
 *     limits.c     what a GPU can do, measured or recorded
 *     ncu.c        what Nsight Compute writes
 *     catalogue.c  cases and what they cost, asked of the checker
 */
#ifndef WARPWISE_COMPANION_H
#define WARPWISE_COMPANION_H

#include "course.h"

/* ---- text that fits (layout.c) ------------------------------------------------------------------------ */

/** @brief Columns of the terminal on stdout; $COLUMNS, or 80, where it is none. At least 20. */
int layout_width(void);
/** @brief Lines of the terminal on stdout; a large number where it is none. */
int layout_height(void);
/** @brief 1 if the locale of the environment shows UTF-8. */
int layout_is_utf8(void);
/** @brief @p utf8 as this locale can show it: unchanged, or in ASCII ("≤" as "<="). The caller's to free. */
char *layout_shown(const char *utf8);
/** @brief Appends @p utf8 to @p out, broken between words to fit @p width, every line after @p indent blanks.
 *         The first line goes on after @p used columns. Lines that begin with four blanks stay as they are. */
void layout_wrap(struct text *out, const char *utf8, int used, int indent, int width);
/** @brief The same for one line that already is in the terminal's letters, control codes included. */
void layout_wrap_words(struct text *out, const char *line, int used, int indent, int width);
/** @brief Prints a paragraph that way on stdout, with a line end after it. */
void layout_paragraph(const char *utf8, int used, int indent);
/** @brief A bar of @p width cells, filled to @p share (0 to 1; at least one cell if more than 0). */
char *layout_bar(double share, int width);
/** @brief Columns that @p utf8 takes, control codes left out. */
int layout_columns(const char *utf8);

/* ---- a page and a kernel file (page.c) ---------------------------------------------------------------- */

struct hint {
    char *region;   /**< "softmax": what stands before the colon */
    char *question; /**< what stands after it */
    char *answer;   /**< paragraphs, Markdown */
};

struct hints {
    struct hint *items;
    size_t count;
};

/** @brief The hints of a lesson's page, in its order; none if there is no page. */
void page_hints(const struct lesson_folder *lesson, struct hints *hints);
/** @brief The first paragraph of a lesson's goal, on one line, or NULL. */
char *page_goal(const struct lesson_folder *lesson);
/** @brief lessons/NN_topic/README.md */
char *page_path(const struct lesson_folder *lesson);

/** @brief One `[student: NAME]` of a kernel file. */
struct region {
    char *name;
    int todo; /**< 1 if a TODO is in it */
    int line;
};

enum { MAX_REGIONS = 32 };

/** @brief The regions in @p source; returns how many there are, at most MAX_REGIONS. */
size_t kernel_regions(const char *source, struct region regions[MAX_REGIONS]);
/** @brief 1 if @p source is as it was handed out: it has regions, and each of them says TODO. */
int kernel_is_skeleton(const char *source);
/** @brief "scores_kernel, block_max": the regions of a file that still say TODO; NULL if none does. */
char *kernel_regions_left(const char *kernel);

/* ---- the file as it was handed out (skeleton.c) ------------------------------------------------------- */

/** @brief Keeps a copy of the lesson's kernel file if it still is the skeleton, for a later reset. */
void skeleton_keep(const struct lesson_folder *lesson);
/** @brief The skeleton: the newest in git's history, else the kept copy. 0, or -1 if there is neither. */
int skeleton_find(const struct lesson_folder *lesson, struct text *source);

/* ---- what is remembered (progress.c) ------------------------------------------------------------------ */

enum { MOST_FAILED = 8, MOST_HINTS = 64 };

/** @brief The last whole check of a lesson's kernel file on one device. */
struct past_check {
    char state[16]; /**< "" if there was none */
    double points, points_max;
    char sum[65]; /**< of the file that was checked */
    char date[16];
};

/** @brief All that is remembered of a lesson. */
struct progress {
    struct past_check check[DEVICE_COUNT];
    char passed[16];           /**< the day of the first pass, "" before */
    char *failed[MOST_FAILED]; /**< cases that failed last, "part/name" */
    size_t failed_count;
    unsigned char hint_shown[MOST_HINTS];
};

/** @brief The folder of what is remembered for this tree: $WARPWISE_STATE, else a folder under
 *         $XDG_STATE_HOME or ~/.local/state, else one in the build folder. Created if needed. */
const char *progress_folder(void);
void progress_read(const struct lesson_folder *lesson, struct progress *progress);
/** @brief Writes it; says so once if that fails, since no command should fail for it. */
void progress_write(const struct lesson_folder *lesson, const struct progress *progress);
/** @brief Remembers a whole check of the lesson's own file. */
void progress_note_check(const struct lesson_folder *lesson, enum device device,
                         const struct judgement *judgement);
/** @brief Remembers which cases failed in a check of only some. */
void progress_note_failures(const struct lesson_folder *lesson, const struct judgement *judgement);
/** @brief SHA-256 of a file, 64 digits; "" if it cannot be read. */
void progress_sum(const char *path, char digits[65]);

/** @brief Where a lesson stands, from what is remembered and the file as it is. */
struct standing {
    const char *state; /**< PASS, FAIL, NOT_STARTED, NO_DEVICE, ... */
    double points, points_max;
    enum device device;
    int edited; /**< 1: the file has changed since that check; 0: it has not, or was never checked */
    int checked;
};

void standing_of(const struct lesson_folder *lesson, struct standing *standing);
/** @brief The first lesson that does not stand at PASS, or NULL. */
const struct lesson_folder *standing_next(void);
/** @brief The lesson @p word means, or the next one if it is NULL; complains and returns NULL if there is none. */
const struct lesson_folder *lesson_or_next(const char *word);
/** @brief The name of this program as it was called, for commands that are to be typed. */
const char *program_name(void);
void set_program_name(const char *name);

/* ---- which lines are the same (line_diff.c) ----------------------------------------------------------- */

/** @brief Appends the differences from @p old to @p new as a unified diff, without file names. Returns how
 *         many lines differ, 0 for none. */
size_t line_diff(const char *old_text, const char *new_text, struct text *out);

/* ---- waiting for a save (watched.c) ------------------------------------------------------------------- */

/** @brief One file that is watched, in a folder that may see renames. */
struct watched {
    char *path;
    int notify;  /**< inotify, or -1: then the file is looked at a few times a second */
    int wait_ms; /**< after which it is looked at in any case; -1: never */
    char stamp[80], sum[65];
};

/** @brief Begins. @p way: "poll" leaves inotify out, "notify" trusts it alone, NULL takes both. */
void watched_open(struct watched *watched, const char *path, const char *way);
/** @brief 1 if the content has changed since the last call that said so; never waits. */
int watched_changed(struct watched *watched);
/** @brief Waits until the content may have changed, a key is pressed, or a signal comes. */
void watched_wait(const struct watched *watched, int keys);
void watched_close(struct watched *watched);

/* ---- the terminal while something is watched (screen.c) ----------------------------------------------- */

/** @brief Takes keys one by one without echo, if this is a terminal we stand in front of. 1 if so. */
int screen_open(void);
/** @brief As it was before; also called at exit. */
void screen_close(void);
/** @brief Shows @p text instead of what was there; on a pipe, after it. Too long a text is cut at the bottom
 *         and @p more says where the rest is. */
void screen_show(const char *text, const char *more);
/** @brief A key that was pressed, or 0. */
int screen_key(void);
/** @brief 1 once after the terminal has changed its size or the program was resumed. */
int screen_changed(void);

/* ---- cases and what they cost (catalogue.c) ----------------------------------------------------------- */

struct known_case {
    char *part, *name, *group, *shape;
    int on[DEVICE_COUNT];
    double flop, min_bytes;
};

struct catalogue {
    struct known_case *cases;
    size_t count;
};

/** @brief The cases of a lesson that have a cost, from the checker; EXIT_PASS, or EXIT_TROUBLE after a complaint.
 */
int catalogue_read(const struct lesson_folder *lesson, struct catalogue *catalogue);
/** @brief The case called @p name ("part/name" or "name"), or the first one of group "speed" on @p device if
 *         @p name is NULL; complains and returns NULL if there is none. */
const struct known_case *catalogue_case(const struct catalogue *catalogue, const struct lesson_folder *lesson,
                                        const char *name, enum device device);

/* ---- figures that are recorded (record.c) ------------------------------------------------------------- */

/** @brief One row of docs/results/DEVICE.csv; docs/results/README.md describes the format. */
struct figure {
    char *date, *device, *toolkit, *lesson, *kernel, *test_case, *metric, *value, *unit, *command;
};

struct figures {
    struct figure *items;
    size_t count;
};

/** @brief Reads such a file; a missing one has no rows. EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int figures_read(const char *path, struct figures *figures);
/** @brief Adds a row, or replaces the one with its key. An exact figure that is the same keeps its row. */
void figures_put(struct figures *figures, const struct figure *figure, int exact);
/** @brief Sorts and writes; EXIT_PASS, or EXIT_TROUBLE after a complaint. */
int figures_write(const char *path, struct figures *figures);
/** @brief The value of a key, or NaN. */
double figures_value(const struct figures *figures, const char *lesson, const char *kernel,
                     const char *test_case, const char *metric);
/** @brief docs/results/DEVICE.csv for a device's name. */
char *figures_path(const char *device);
/** @brief The one recorded file of a GPU that there is (the first by name), read; NULL if none. Returns the device's
 *         name. */
char *figures_of_some_gpu(struct figures *figures);
/** @brief Puts measured rows of the checker and the device's limits. @p kernel names them, or NULL for the part. */
void figures_put_results(struct figures *figures, enum device device, const struct results *results,
                         const char *kernel, const char *command);
/** @brief Reads docs/results/DEVICE.csv of this device, puts the rows and writes it. */
int figures_record(enum device device, const struct results *results, const char *command);
/** @brief Sets counters of the software device beside the recorded ones; EXIT_FAIL if one by the same compiler
 *         differs. Figures that are not recorded, or by another compiler, are counted and said. */
int figures_compare(const struct results *results);
/** @brief The name under which this device is recorded: the GPU's model, or "simt". */
const char *figures_device(enum device device);

/** @brief The student's own figures on @p device: the same format, where progress is remembered. */
char *figures_own_path(const char *device);
/** @brief Remembers what the student's kernel took; without a word if it cannot. */
void figures_remember_own(enum device device, const struct results *results, const char *command);

/* ---- what a GPU can do (limits.c) --------------------------------------------------------------------- */

struct limits {
    const char *device, *date;
    int measured; /**< 1: on this machine and now; 0: recorded elsewhere */
    double copy_gbps, f32_tflops, f16_tflops, launch_us;
    struct figures figures; /**< all that is recorded of this device */
};

/** @brief Those of this machine's GPU, or the recorded ones of another; EXIT_SKIPPED if there are neither. */
int limits_find(struct limits *limits);
/** @brief The time below which nothing can be, and in @p bound what sets it: memory, compute or latency. */
double limits_least_us(const struct limits *limits, const char *shape, double flop, double min_bytes,
                       const char **bound);

/* ---- kernels beside each other (rivals.c) ------------------------------------------------------------- */

enum { MOST_RIVALS = 24 };

/** @brief What one kernel took at one problem. */
struct rival {
    const char *name; /**< "yours", "solution", "lesson 01", "cuBLAS unfused attention" */
    double value;     /**< us on a GPU, sectors on simt */
};

/** @brief Everything measured at one case of the lesson. */
struct contest {
    const char *test_case, *shape;
    double minimum; /**< sectors that have to be moved, simt only */
    size_t count;
    struct rival rivals[MOST_RIVALS];
};

/** @brief The rivals of the case @p row: @p named results that have the same shape and part. */
void contest_add(struct contest *contest, const char *name, const struct result_row *row,
                 const struct results *results, enum device device);
void contest_print(const struct contest *contest, enum device device);

/* ---- what Nsight Compute writes (ncu.c) --------------------------------------------------------------- */

enum { MOST_METRICS = 24, MOST_KERNELS = 64 };

/** @brief One kernel of a profile: all its launches together. */
struct profiled_kernel {
    char *name;
    int launches;
    double value[MOST_METRICS]; /**< NaN where it was not measured */
};

struct profile {
    struct profiled_kernel kernels[MOST_KERNELS];
    size_t count;
};

/** @brief A metric that is asked for. */
struct metric {
    const char *ncu;  /**< Nsight Compute's name */
    const char *simt; /**< the software device's column, or NULL */
    const char *title;
    const char *meaning;
    int is_rate; /**< 1: the mean over launches counts, 0: the sum */
};

extern const struct metric profile_metrics[];
extern const size_t profile_metric_count;
/** @brief The --metrics argument for ncu. */
char *profile_metric_list(void);
/** @brief Reads what `ncu --csv --page raw` wrote about @p calls calls of the lesson; the profile is that of one.
 *         Returns how many launches were found, -1 if it is none of that. */
int profile_read_ncu(const char *content, int calls, struct profile *profile);
/** @brief The same for what SIMT_COUNTERS wrote. */
int profile_read_simt(const char *content, int calls, struct profile *profile);

/** @brief Saves a case of a lesson for `runner --case-file`; its path, or NULL after a complaint (runner.c). */
char *runner_save_case(const struct lesson_folder *lesson, const char *test_case, enum device device);

/** @brief Every command, NULL at the end (main.c). */
extern const struct command *const course_commands[];

extern const struct command status_command, next_command, watch_command, hint_command, diff_command,
    reset_command, predict_command, profile_command, roofline_command, completion_command;

#endif
