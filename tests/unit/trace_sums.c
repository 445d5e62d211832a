/**
 * @file trace_sums.c
 * @brief trace_sums TRACE: what the events of a trace add up to, as the rows of SIMT_COUNTERS. Every block must be in it, whole,
 *        and what is counted for each block must be what its events cost.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "trace/read.h"

static int complain_of(const struct trace_launch *launch, const char *what)
{
    fprintf(stderr, "%s: %s\n", launch->kernel, what);
    return 1;
}

/* A block with barriers of the whole grid has a part for each of its phases. */
static uint64_t different_blocks(const struct trace_launch *launch)
{
    uint64_t count = 0;
    for (size_t i = 0; i < launch->block_count; i++) {
        int seen = 0;
        for (size_t k = 0; k < i; k++) seen |= launch->blocks[k].index == launch->blocks[i].index;
        count += !seen;
    }
    return count;
}

static int print_launch(const struct trace_launch *launch, size_t number)
{
    struct trace_counters sum = {{0}};
    if (different_blocks(launch) != trace_blocks_of(launch)) return complain_of(launch, "blocks are missing");
    for (size_t i = 0; i < launch->block_count; i++) {
        struct trace_counters block = {{0}};
        if (launch->blocks[i].left_out) return complain_of(launch, "events were left out");
        if (trace_add_events(&launch->blocks[i], &block) != 0)
            return complain_of(launch, "events are damaged");
        if (memcmp(&block, &launch->blocks[i].counters, sizeof block) != 0)
            return complain_of(launch, "a block's events cost something else than was counted");
        for (int k = 0; k < TRACE_COUNTED; k++) sum.value[k] += block.value[k];
    }
    if (memcmp(&sum, &launch->counters, sizeof sum) != 0)
        return complain_of(launch, "the sums differ from the launch's");
    printf("%zu,%s,%dx%dx%d,%dx%dx%d", number, launch->kernel, (int)launch->grid[0], (int)launch->grid[1],
           (int)launch->grid[2], (int)launch->block[0], (int)launch->block[1], (int)launch->block[2]);
    for (int i = 0; i < TRACE_COUNTED; i++) printf(",%llu", (unsigned long long)sum.value[i]);
    printf("\n");
    return 0;
}

int main(int count, char **words)
{
    struct text file = {0};
    struct trace trace;
    if (count != 2 || read_file(words[1], &file) != 0 ||
        trace_read((const unsigned char *)file.data, file.length, &trace) != 0) {
        fprintf(stderr, "usage: trace_sums TRACE, a trace of the software device\n");
        return 2;
    }
    for (size_t i = 0; i < trace.launch_count; i++)
        if (print_launch(&trace.launches[i], i) != 0) return 1;
    trace_free(&trace);
    text_free(&file);
    return 0;
}
