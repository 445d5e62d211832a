/**
 * @file ncu.c
 * @brief Reads what Nsight Compute and the software device write about kernels into one form.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "judging/results.h"
#include "profile.h"

#define GLOBAL_OP "pipe_lsu_mem_global_op_"

const struct metric profile_metrics[] = {
    {"gpu__time_duration.sum", NULL, "time", "of all launches in one call, the clocks left as they are", 0},
    {"l1tex__t_requests_" GLOBAL_OP "ld.sum", "global_load_requests", "load requests",
     "a load of a warp is one request", 0},
    {"l1tex__t_sectors_" GLOBAL_OP "ld.sum", "global_load_sectors", "load sectors",
     "32 bytes each, as asked of the L1 cache", 0},
    {"l1tex__t_requests_" GLOBAL_OP "st.sum", "global_store_requests", "store requests",
     "likewise for stores", 0},
    {"l1tex__t_sectors_" GLOBAL_OP "st.sum", "global_store_sectors", "store sectors", "likewise for stores",
     0},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "shared_bank_conflicts", "bank conflicts",
     "wavefronts that were lost because lanes wanted different words of one bank", 0},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", NULL, "shared wavefronts",
     "passes of requests through the banks of shared memory, in all", 0},
    {"l1tex__t_sector_hit_rate.pct", NULL, "L1 hit rate, %", "sectors found in the SM's own cache", 1},
    {"lts__t_sector_hit_rate.pct", NULL, "L2 hit rate, %",
     "sectors that L1 did not have, found in the cache that all SMs share; the rest comes from device memory",
     1},
    {"dram__bytes_read.sum", NULL, "DRAM read, bytes", "bytes that device memory delivered", 0},
    {"dram__bytes_write.sum", NULL, "DRAM written, bytes", "bytes that device memory stored", 0},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", NULL, "DRAM busy, %",
     "near 90: device memory is the limit, and only fewer bytes help", 1},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", NULL, "SM busy, %",
     "the busiest unit of the SMs; near 80 and more: arithmetic or issue is the limit", 1},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", NULL, "warps resident, %",
     "achieved occupancy: how many warps there are to hide waiting with", 1},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", NULL, "tensor pipe, %",
     "cycles in which the tensor cores multiply", 1},
};
const size_t profile_metric_count = sizeof profile_metrics / sizeof profile_metrics[0];

char *profile_metric_list(void)
{
    struct text list = {0};
    for (size_t i = 0; i < profile_metric_count; i++)
        text_print(&list, "%s%s", i ? "," : "", profile_metrics[i].ncu);
    return list.data;
}

/* "void row_kernel<4>(const float *)" without type, arguments and template arguments. */
static char *base_name(const char *kernel)
{
    size_t length = strcspn(kernel, "(<");
    const char *begin = kernel;
    for (const char *at = kernel; at < kernel + length; at++)
        if (*at == ' ' || *at == ':') begin = at + 1;
    return format_string("%.*s", (int)(kernel + length - begin), begin);
}

static struct profiled_kernel *kernel_called(struct profile *profile, const char *full_name)
{
    char *name = base_name(full_name);
    for (size_t i = 0; i < profile->count; i++) {
        if (strcmp(profile->kernels[i].name, name) != 0) continue;
        free(name);
        return &profile->kernels[i];
    }
    if (profile->count == MOST_KERNELS) {
        free(name);
        return NULL;
    }
    struct profiled_kernel *kernel = &profile->kernels[profile->count++];
    *kernel = (struct profiled_kernel){.name = name};
    for (size_t i = 0; i < MOST_METRICS; i++) kernel->value[i] = NAN;
    return kernel;
}

/* Adds a launch: counts are summed, and rates averaged at the end. */
static void add_value(struct profiled_kernel *kernel, size_t metric, double value)
{
    if (!isfinite(value)) return;
    double *sum = &kernel->value[metric];
    *sum = isfinite(*sum) ? *sum + value : value;
}

/* All values are sums over all launches of @p calls calls: turns counts into those of one call, and rates
 * into means. */
static void finish(struct profile *profile, int calls)
{
    for (size_t k = 0; k < profile->count; k++) {
        struct profiled_kernel *kernel = &profile->kernels[k];
        int per_launch = kernel->launches;
        for (size_t i = 0; i < profile_metric_count; i++)
            kernel->value[i] /= profile_metrics[i].is_rate ? per_launch : calls;
        if (kernel->launches >= calls) kernel->launches /= calls;
    }
}

/* ---- Nsight Compute ----------------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 512 };

struct row {
    char *field[MOST_COLUMNS];
    size_t count;
};

static void read_row(const char *line, struct row *row)
{
    row->count = 0;
    while (line != NULL && row->count < MOST_COLUMNS) row->field[row->count++] = csv_field(&line);
}

static void free_row(struct row *row)
{
    for (size_t i = 0; i < row->count; i++) free(row->field[i]);
    row->count = 0;
}

/* "1,648" and "1,648 (32; 64)": reads the total, which comes first. NaN for "n/a". */
static double leading_number(const char *text)
{
    char digits[64];
    size_t length = 0;
    for (; *text && *text != ' ' && length + 1 < sizeof digits; text++)
        if (*text != ',') digits[length++] = *text;
    digits[length] = '\0';
    char *end;
    double value = strtod(digits, &end);
    return end != digits && *end == '\0' ? value : NAN;
}

/* Older and newer versions write "nsecond" or "ns", "Kbyte" or "KB"; the base units are ns and bytes. */
static double unit_factor(const char *unit)
{
    static const struct {
        const char *prefix;
        double factor;
    } times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}},
      sizes[] = {{"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
    size_t length = strlen(unit);
    int is_size = strstr(unit, "byte") != NULL || (length && unit[length - 1] == 'B');
    for (size_t i = 0; is_size && i < sizeof sizes / sizeof sizes[0]; i++)
        if (*unit == *sizes[i].prefix) return sizes[i].factor;
    for (size_t i = 0; !is_size && i < sizeof times / sizeof times[0]; i++)
        if (strncmp(unit, times[i].prefix, strlen(times[i].prefix)) == 0) return times[i].factor;
    return 1;
}

static size_t column_called(const struct row *heading, const char *name)
{
    size_t at = 0;
    while (at < heading->count && strcmp(heading->field[at], name) != 0) at++;
    return at;
}

static void take_launch(const struct row *heading, const struct row *units, const struct row *row,
                        struct profile *profile)
{
    size_t name = column_called(heading, "Kernel Name");
    struct profiled_kernel *kernel = name < row->count ? kernel_called(profile, row->field[name]) : NULL;
    if (kernel == NULL) return;
    kernel->launches++;
    for (size_t i = 0; i < profile_metric_count; i++) {
        size_t at = column_called(heading, profile_metrics[i].ncu);
        if (at >= row->count) continue;
        double factor = at < units->count ? unit_factor(units->field[at]) : 1;
        add_value(kernel, i, leading_number(row->field[at]) * factor);
    }
}

int profile_read_ncu(const char *content, int calls, struct profile *profile)
{
    struct row heading = {.count = 0}, units = {.count = 0}, row;
    int launches = 0;
    profile->count = 0;
    for (char *line; (line = next_word(&content, '\n')) != NULL; free(line)) {
        if (*line != '"') continue; /* lines that ncu and the program print in between */
        struct row *into = !heading.count ? &heading : !units.count ? &units : &row;
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r') line[length - 1] = '\0';
        read_row(line, into);
        if (into == &heading && column_called(&heading, "Kernel Name") == heading.count) free_row(&heading);
        if (into != &row) continue;
        take_launch(&heading, &units, &row, profile);
        launches++;
        free_row(&row);
    }
    int known = heading.count > 0;
    free_row(&heading);
    free_row(&units);
    finish(profile, calls);
    return known ? launches : -1;
}

/* ---- the software device ------------------------------------------------------------------------------------ */

enum { SIMT_NUMBERS = 9, SIMT_AFTER_NAME = 2 };

/* A kernel's name may hold commas in its template arguments: fields are counted from the end. */
static int take_simt_line(char *line, struct row *names, struct profile *profile)
{
    char *field[SIMT_NUMBERS + SIMT_AFTER_NAME];
    size_t wanted = SIMT_NUMBERS + SIMT_AFTER_NAME, found = 0;
    char *first = strchr(line, ',');
    for (char *end = line + strlen(line); end > line && found < wanted; end--) {
        if (end[-1] != ',') continue;
        field[found++] = end;
        end[-1] = '\0';
    }
    if (first == NULL || found < wanted) return 0;
    struct profiled_kernel *kernel = kernel_called(profile, first + 1);
    if (kernel == NULL) return 0;
    kernel->launches++;
    double wavefronts = 0;
    for (size_t i = 0; i < SIMT_NUMBERS; i++) {
        const char *name = names->field[names->count - 1 - i];
        double value = atof(field[i]);
        if (strstr(name, "_wavefronts") != NULL) wavefronts += value;
        for (size_t m = 0; m < profile_metric_count; m++)
            if (profile_metrics[m].simt != NULL && strcmp(profile_metrics[m].simt, name) == 0)
                add_value(kernel, m, value);
    }
    for (size_t m = 0; m < profile_metric_count; m++)
        if (strcmp(profile_metrics[m].title, "shared wavefronts") == 0) add_value(kernel, m, wavefronts);
    return 1;
}

int profile_read_simt(const char *content, int calls, struct profile *profile)
{
    struct row names = {.count = 0};
    int launches = 0;
    profile->count = 0;
    for (char *line; (line = next_word(&content, '\n')) != NULL; free(line)) {
        if (strncmp(line, "launch,", 7) == 0 && !names.count) read_row(line, &names);
        if (names.count > SIMT_NUMBERS && *line >= '0' && *line <= '9')
            launches += take_simt_line(line, &names, profile);
    }
    int known = names.count > 0;
    free_row(&names);
    finish(profile, calls);
    return known ? launches : -1;
}
