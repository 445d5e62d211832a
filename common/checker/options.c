/**
 * @file options.c
 * @brief Reading the command line.
 */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checker/cases/case_table.h"
#include "checker/report/report.h"

#define PUBLIC_SEED 20240229
#define SIMT_SECONDS 60.0 /* wall-clock seconds; the device stops endless loops after less CPU time */
#define GPU_SECONDS 60.0
/* For all cases: many times what the slowest solution takes on a busy machine. */
#define SIMT_TOTAL_SECONDS 600.0
#define GPU_TOTAL_SECONDS 900.0

void options_usage(FILE *file)
{
    fputs("usage: checker --lesson NN_topic --runner PROGRAM --device simt|gpu [options]\n"
          "  --case NAME          only this case (\"part/name\", \"name\" in every part, or all of "
          "\"part/\"); may be "
          "repeated\n"
          "  --group NAME         only cases of this group: basic, edges, numerics, bad_input, properties, "
          "speed; may be\n"
          "                       repeated\n"
          "  --seed S             another public seed; --secret-seed-file F mixes in a secret one\n"
          "  --remember FOLDER    keep there what the oracle says, for checks of other kernels with the same "
          "seed;\n"
          "                       not with a secret seed and not with --isolated: right answers lie on the "
          "disk\n"
          "  --time-limit S       seconds a case may take\n"
          "  --total-limit S      seconds all cases together may take; what is left is not tried then\n"
          "  --most-inputs N      of the hundred and more random inputs of a property, the first N\n"
          "  --numerics-once      cases of numerics call once on simt, not twice: for tests of kernels known "
          "to be right\n"
          "  --again WORDS        what \"again\" lines put after `warpwise check NN`: which kernel this is\n"
          "  --fail-fast          stop at the first case that does not pass; cheap cases first\n"
          "  --isolated           the runner is untrusted: as another user, in bubblewrap where it works\n"
          "  -v                   a line for every case\n"
          "  --dump               what came back, beside what the oracle gives\n"
          "  --bench              times (gpu) or counters (simt) of the speed cases\n"
          "  --limit NAME=VALUE   measured copy_gbps, f32_tflops; theoretical peak_gbps, peak_tflops\n"
          "  --peer LABEL:CASE=US time of another kernel at a case, to compare with\n"
          "  --csv FILE --json FILE --ctest   records for programs\n"
          "  --progress FILE      keep there how far the check is: inputs done, and all of them, as 32-bit "
          "integers\n"
          "  --list               the cases; needs no runner\n"
          "  --phases             where the time goes: a table by what is done and by group of cases\n"
          "  --costs              what each case costs by definition, as CSV; needs no runner\n"
          "  --rubric             what the lesson's points are given for; needs no runner\n"
          "  --promises           alone: which cases show which promise of which lesson, as a page\n"
          "  --save-case NAME FILE  one case for `runner --case-file FILE`; needs no runner\n"
          "exit status: 0 pass, 1 fail, 2 the check could not be made, 77 not started or no device\n",
          file);
}

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "checker: %s: %s\n", what, value);
    return -1;
}

const struct lesson *options_lesson(const char *name)
{
    for (const struct lesson *const *at = lesson_table; *at != NULL; at++) {
        char full[80];
        char *end;
        snprintf(full, sizeof full, "%02d_%s", (*at)->number, (*at)->topic);
        if (strcmp(name, full) == 0) return *at;
        if (strtol(name, &end, 10) == (*at)->number && *end == '\0' && end != name) return *at;
    }
    return NULL;
}

static int read_number(const char *text, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' ? 0 : -1;
}

static int read_seed(const char *text, uint64_t *seed)
{
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' ? 0 : complain("not a seed", text);
}

static int read_limit(struct options *options, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || options->limit_count == CHECK_NAMES) return complain("not NAME=VALUE", text);
    struct limit *limit = &options->limit[options->limit_count++];
    snprintf(limit->name, sizeof limit->name, "%.*s", (int)(equals - text), text);
    return read_number(equals + 1, &limit->value) == 0 ? 0 : complain("not NAME=VALUE", text);
}

static int read_peer(struct options *options, const char *text)
{
    const char *colon = strchr(text, ':'), *equals = strchr(text, '=');
    if (colon == NULL || equals == NULL || equals < colon || options->peer_count == CHECK_NAMES)
        return complain("not LABEL:CASE=MICROSECONDS", text);
    struct peer *peer = &options->peer[options->peer_count++];
    snprintf(peer->label, sizeof peer->label, "%.*s", (int)(colon - text), text);
    snprintf(peer->case_name, sizeof peer->case_name, "%.*s", (int)(equals - colon - 1), colon + 1);
    return read_number(equals + 1, &peer->us) == 0 ? 0 : complain("not LABEL:CASE=MICROSECONDS", text);
}

static int read_device(struct options *options, const char *text)
{
    if (strcmp(text, "simt") != 0 && strcmp(text, "gpu") != 0)
        return complain("device is neither simt nor gpu", text);
    options->device = text[0] == 's' ? DEVICE_SIMT : DEVICE_GPU;
    return 0;
}

static int read_case(struct options *options, const char *text)
{
    if (options->case_count == CHECK_NAMES) return complain("too many --case", text);
    options->case_name[options->case_count++] = text;
    return 0;
}

static int read_group(struct options *options, const char *text)
{
    for (int group = 0; group < GROUP_COUNT; group++)
        if (strcmp(text, report_group((enum case_group)group)) == 0) {
            options->groups |= 1u << group;
            return 0;
        }
    return complain("no such group of cases", text);
}

static int read_lesson(struct options *options, const char *text)
{
    options->lesson = options_lesson(text);
    return options->lesson != NULL ? 0 : complain("no such lesson, or it is newer than this build", text);
}

/* Reads an option that has a value; 1 if it is one of those. */
static int read_value(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--lesson") == 0) return read_lesson(options, value);
    if (strcmp(name, "--device") == 0) return read_device(options, value);
    if (strcmp(name, "--case") == 0) return read_case(options, value);
    if (strcmp(name, "--group") == 0) return read_group(options, value);
    if (strcmp(name, "--seed") == 0) {
        options->seed_given = 1;
        return read_seed(value, &options->seed);
    }
    if (strcmp(name, "--limit") == 0) return read_limit(options, value);
    if (strcmp(name, "--peer") == 0) return read_peer(options, value);
    if (strcmp(name, "--time-limit") == 0) {
        if (read_number(value, &options->time_limit) == 0 && options->time_limit > 0.0) return 0;
        return complain("not a number of seconds", value);
    }
    if (strcmp(name, "--most-inputs") == 0) {
        double most;
        if (read_number(value, &most) != 0 || most < 1.0 || most > INT_MAX || most != floor(most))
            return complain("not a number of inputs", value);
        options->inputs_most = (int)most;
        return 0;
    }
    if (strcmp(name, "--total-limit") == 0) {
        if (read_number(value, &options->total_limit) == 0 && options->total_limit > 0.0) return 0;
        return complain("not a number of seconds", value);
    }
    const struct {
        const char *name;
        const char **value;
    } texts[] = {{"--runner", &options->runner},     {"--csv", &options->csv},
                 {"--json", &options->json},         {"--again", &options->again},
                 {"--remember", &options->remember}, {"--secret-seed-file", &options->secret_seed_file},
                 {"--progress", &options->progress}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].value = value;
            return 0;
        }
    return 1;
}

static int read_flag(struct options *options, const char *name)
{
    const struct {
        const char *name;
        int *flag;
    } flags[] = {{"-v", &options->verbose},
                 {"--verbose", &options->verbose},
                 {"--dump", &options->dump},
                 {"--bench", &options->bench},
                 {"--list", &options->list},
                 {"--costs", &options->costs},
                 {"--rubric", &options->rubric},
                 {"--ctest", &options->ctest},
                 {"--isolated", &options->isolated},
                 {"--phases", &options->phases},
                 {"--fail-fast", &options->fail_fast},
                 {"--numerics-once", &options->numerics_once}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].flag = 1;
            return 0;
        }
    return 1;
}

int options_read(struct options *options, int argc, char **argv)
{
    *options = (struct options){.device = DEVICE_SIMT, .seed = PUBLIC_SEED};
    for (int i = 1; i < argc; i++) {
        if (read_flag(options, argv[i]) == 0) continue;
        if (strcmp(argv[i], "--save-case") == 0 && i + 2 < argc) {
            options->save_case = argv[++i];
            options->save_file = argv[++i];
            continue;
        }
        int unknown = i + 1 < argc ? read_value(options, argv[i], argv[i + 1]) : 1;
        if (unknown < 0) return -1;
        if (unknown > 0) return complain("unknown option, or its value is missing", argv[i]);
        i++;
    }
    const double usual = options->device == DEVICE_GPU ? GPU_SECONDS : SIMT_SECONDS;
    options->more_time = options->time_limit > usual;
    if (options->time_limit == 0.0) options->time_limit = usual;
    if (options->total_limit == 0.0)
        options->total_limit = options->device == DEVICE_GPU ? GPU_TOTAL_SECONDS : SIMT_TOTAL_SECONDS;
    /* the variable is for tests of the timing loop: such times mean nothing */
    options->timed =
        options->bench && (options->device == DEVICE_GPU || getenv("WARPWISE_TIMED_ON_SIMT") != NULL);
    if (options->remember != NULL && (options->isolated || options->secret_seed_file != NULL))
        return complain("--remember puts right answers on the disk",
                        "neither with --isolated nor with --secret-seed-file");
    if (options->lesson == NULL) return complain("which lesson?", "--lesson is missing");
    if (options->runner == NULL && !options->list && !options->costs && !options->rubric &&
        options->save_case == NULL)
        return complain("which runner?", "--runner is missing");
    return 0;
}

int options_seed(const struct options *options, uint64_t *seed)
{
    *seed = options->seed;
    if (options->secret_seed_file == NULL) return 0;
    FILE *file = fopen(options->secret_seed_file, "re");
    if (file == NULL) return complain(options->secret_seed_file, strerror(errno));
    int byte;
    while ((byte = getc(file)) != EOF) *seed = rng_mix(*seed, (uint64_t)byte);
    int failed = ferror(file);
    fclose(file);
    return failed ? complain(options->secret_seed_file, "cannot be read") : 0;
}

int options_choose(const struct options *options, const struct lesson_case *item)
{
    if (!(item->devices & (1u << options->device))) return 0;
    if (options->groups != 0 && !(options->groups & 1u << item->group)) return 0;
    if (options->case_count == 0) return !options->bench || item->group == GROUP_SPEED;
    for (int i = 0; i < options->case_count; i++)
        if (case_table_means(options->case_name[i], item)) return 1;
    return 0;
}
