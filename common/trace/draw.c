/**
 * @file draw.c
 * @brief Draws sectors: a row of lanes, the sectors below them, and in each sector the bytes that somebody asked for.
 */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/svg.h"
#include "base/terminal.h"

enum {
    SECTOR = 32,
    LOAD_SECTORS = 1, /* columns of SIMT_COUNTERS */
    STORE_SECTORS = 3,
    MOST_LINES = 64, /* of a kernel that are told apart */
    LINES = 4,       /* of a kernel that are drawn */
    PICTURES = 12,   /* of all kernels */
    MOST_DRAWN = 32, /* sectors of a request */
    LEFT = 28,
    CELL = 22,
    BOX = 20,
    ROW = 122,
    WIDTH = 2 * LEFT + CELL * SECTOR,
};

/** A line of the source that asks for global memory. */
struct asking {
    struct trace_site site;
    struct trace_request worst; /* the request with the most sectors, the first of them */
    uint64_t requests, sectors;
};

struct askings {
    const struct trace *trace;
    struct asking of[MOST_LINES];
    size_t count;
};

static uint64_t sectors_of(const struct trace_request *request)
{
    return request->cost.value[LOAD_SECTORS] + request->cost.value[STORE_SECTORS];
}

static void see(void *context, const struct trace_request *request)
{
    struct askings *all = context;
    const struct trace *trace = all->trace;
    if (sectors_of(request) == 0 || request->site >= trace->site_count) return;
    const struct trace_site site = trace->sites[request->site];
    size_t i = 0;
    while (i < all->count && (all->of[i].site.file != site.file || all->of[i].site.line != site.line ||
                              all->of[i].worst.access != request->access))
        i++;
    if (site.line == 0 || i == MOST_LINES) return;
    struct asking *asking = &all->of[i];
    if (i == all->count) {
        *asking = (struct asking){.site = site, .worst = *request};
        all->count++;
    }
    if (sectors_of(request) > sectors_of(&asking->worst)) asking->worst = *request;
    asking->requests++;
    asking->sectors += sectors_of(request);
}

static int compare_askings(const void *a, const void *b)
{
    const struct asking *x = a, *y = b;
    if (x->sectors != y->sectors) return x->sectors < y->sectors ? 1 : -1;
    return x->site.line < y->site.line ? -1 : x->site.line > y->site.line;
}

/* ---- one request -------------------------------------------------------------------------------------------------- */

/** The sectors of a request, in order of address, and which of their bytes somebody asked for. */
struct touched {
    uint64_t sector[MOST_DRAWN];
    unsigned char used[MOST_DRAWN][SECTOR];
    size_t count, more; /* more: touches of sectors that are not drawn */
};

static size_t place_of(const struct touched *touched, uint64_t sector)
{
    size_t i = 0;
    while (i < touched->count && touched->sector[i] < sector) i++;
    return i;
}

static void touch(struct touched *touched, uint64_t address)
{
    const uint64_t sector = address / SECTOR;
    const size_t i = place_of(touched, sector);
    if (i == touched->count || touched->sector[i] != sector) {
        if (touched->count == MOST_DRAWN) {
            touched->more++;
            return;
        }
        memmove(&touched->sector[i + 1], &touched->sector[i],
                (touched->count - i) * sizeof touched->sector[0]);
        memmove(touched->used[i + 1], touched->used[i], (touched->count - i) * sizeof touched->used[0]);
        touched->sector[i] = sector;
        memset(touched->used[i], 0, sizeof touched->used[0]);
        touched->count++;
    }
    touched->used[i][address % SECTOR] = 1;
}

/* A sector's colour: pale for lanes, strong for the bytes that they ask for. */
static const char *colour_of(size_t sector, int strong)
{
    static const char *const colours[][2] = {{"a", "s"}, {"b", "t"}, {"c", "u"}, {"d", "v"}, {"e", "w"}};
    return colours[sector % 5][strong];
}

/* Lanes in a row, and a line from each to its first byte. */
static void draw_lanes(struct svg *svg, double y, const struct trace_request *request,
                       const struct touched *touched)
{
    for (unsigned lane = 0, active = 0; lane < TRACE_LANES_OF_A_WARP; lane++) {
        const double x = LEFT + CELL * (double)lane;
        const char *fill = "none";
        if (request->mask >> lane & 1) {
            const uint64_t address = request->address[active++];
            const size_t i = place_of(touched, address / SECTOR);
            if (i < touched->count && touched->sector[i] == address / SECTOR) {
                const double to = LEFT + CELL * (double)i + (double)(address % SECTOR) * BOX / SECTOR;
                fill = colour_of(i, 0);
                svg_line(svg, x + BOX / 2.0, y + 16, to + BOX * (double)request->bytes / SECTOR / 2, y + 42,
                         "line", 1, NULL);
            }
        }
        svg_rect(svg, x, y, BOX, 16, fill, "line");
        svg_text(svg, x + BOX / 2.0, y + 12, 10, SVG_MIDDLE, *fill == 'n' ? "faint" : "ink", "%u", lane);
    }
}

static void draw_touched(struct svg *svg, double y, const struct touched *touched)
{
    for (size_t i = 0; i < touched->count; i++) {
        const double x = LEFT + CELL * (double)i;
        for (size_t from = 0, to; from < SECTOR; from = to) {
            for (to = from; to < SECTOR && touched->used[i][to] == touched->used[i][from];) to++;
            if (touched->used[i][from])
                svg_rect(svg, x + (double)from * BOX / SECTOR, y, (double)(to - from) * BOX / SECTOR, 16,
                         colour_of(i, 1), "none");
        }
        svg_rect(svg, x, y, BOX, 16, "none", "faint");
    }
}

static void draw_asking(struct svg *svg, double y, const struct asking *asking, const char *source)
{
    const struct trace_request *request = &asking->worst;
    struct touched touched = {.count = 0};
    size_t used = 0;
    char total[32], moved[32];
    for (int lane = 0; lane < __builtin_popcount(request->mask); lane++)
        for (unsigned byte = 0; byte < request->bytes; byte++) touch(&touched, request->address[lane] + byte);
    for (size_t i = 0; i < touched.count; i++)
        for (size_t byte = 0; byte < SECTOR; byte++) used += touched.used[i][byte];
    svg_title(svg, LEFT, y, 12.5, SVG_START, "line %llu: %s of %u bytes per lane",
              (unsigned long long)asking->site.line,
              request->access & TRACE_ATOMIC  ? "an atomic"
              : request->access & TRACE_COPY  ? "an asynchronous copy"
              : request->access & TRACE_WRITE ? "a store"
                                              : "a load",
              request->bytes);
    svg_text(svg, WIDTH - LEFT, y, 12.5, SVG_END, "ink",
             touched.more ? "%zu sectors and more" : "%zu sectors: %s bytes move for %zu", touched.count,
             grouped_number(moved, (double)(SECTOR * touched.count)), used);
    svg_text(svg, LEFT, y + 16, 11, SVG_START, "faint", "%.90s", source);
    svg_text(svg, WIDTH - LEFT, y + 16, 11, SVG_END, "faint", "%llu such requests in this block, %s sectors",
             (unsigned long long)asking->requests, grouped_number(total, (double)asking->sectors));
    draw_lanes(svg, y + 24, request, &touched);
    draw_touched(svg, y + 66, &touched);
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* A line of a source, without the blanks at its ends; empty if it is not to be had. */
static char *line_of(const struct trace_shown *shown, const struct trace_site *site)
{
    struct text source = {0};
    char *line = NULL;
    if (trace_read_source(shown, shown->trace->files[site->file], &source) == 0 && source.data != NULL) {
        const char *at = source.data;
        for (uint64_t i = 1; at != NULL && i < site->line; i++)
            at = (at = strchr(at, '\n')) != NULL ? at + 1 : NULL;
        if (at != NULL) {
            at += strspn(at, " \t");
            line = format_string("%.*s", (int)strcspn(at, "\r\n"), at);
        }
    }
    text_free(&source);
    return line != NULL ? line : copy_string("");
}

static int seen_before(const struct trace_shown *shown, size_t launch)
{
    const struct trace_launch *of = shown->trace->launches;
    for (size_t i = shown->first; i < launch; i++)
        if (of[i].block_count && strcmp(of[i].kernel, of[launch].kernel) == 0) return 1;
    return 0;
}

/* The kernel's lines from @p y on; returns how many are drawn. */
static int draw_launch(struct svg *svg, double *y, const struct trace_shown *shown,
                       const struct trace_launch *launch, int room)
{
    struct askings *all = must_allocate(sizeof *all);
    int drawn = 0;
    all->trace = shown->trace;
    if (trace_each_request(&launch->blocks[0], see, all) != 0) all->count = 0;
    qsort(all->of, all->count, sizeof all->of[0], compare_askings);
    if (all->count && room > 0) {
        svg_title(svg, 16, *y, 14, SVG_START, "%s, block %llu", launch->kernel,
                  (unsigned long long)launch->blocks[0].index);
        *y += 24;
    }
    for (size_t i = 0; i < all->count && drawn < LINES && drawn < room; i++, drawn++, *y += ROW) {
        char *source = line_of(shown, &all->of[i].site);
        draw_asking(svg, *y, &all->of[i], source);
        free(source);
    }
    if (drawn > 0 && all->count > (size_t)drawn) {
        svg_text(svg, LEFT, *y - 18, 11, SVG_START, "faint", "and %zu lines more, with fewer sectors",
                 all->count - (size_t)drawn);
        *y += 12;
    }
    free(all);
    return drawn;
}

int trace_draw_sectors(const char *title, const struct trace_shown *shown, const char *path)
{
    struct svg svg = {.width = WIDTH};
    double y = 52;
    int drawn = 0;
    svg_title(&svg, 16, 24, 15, SVG_START, "%s: the sectors of a warp's requests", title);
    for (size_t i = shown->first; i < shown->first + shown->count; i++) {
        const struct trace_launch *launch = &shown->trace->launches[i];
        if (launch->block_count && !seen_before(shown, i))
            drawn += draw_launch(&svg, &y, shown, launch, PICTURES - drawn);
    }
    svg.height = y - 12;
    if (drawn) return svg_write(&svg, path, title) == 0 ? drawn : -1;
    text_free(&svg.body);
    return 0;
}
