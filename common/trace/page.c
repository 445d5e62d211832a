/**
 * @file page.c
 * @brief A page: the viewer, the sources that the traces name, and the traces themselves in base64.
 */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "viewer.h"

enum { SOURCE_BYTES = 256 << 10 /* of one file */, MOST_SOURCES = 24 };

/* ---- text into HTML -------------------------------------------------------------------------------------------- */

static void put_base64(struct text *page, const struct text *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4];
    for (size_t i = 0; i < bytes->length; i += 3) {
        unsigned long group = 0;
        const size_t count = bytes->length - i < 3 ? bytes->length - i : 3;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < count ? (unsigned char)bytes->data[i + k] : 0u);
        for (size_t k = 0; k < 4; k++) line[k] = k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
        text_append(page, line, 4);
    }
}

/* ---- what of a trace is shown ---------------------------------------------------------------------------------- */

static int is_wanted(const struct trace_shown *shown, const struct trace_launch *launch)
{
    const size_t index = (size_t)(launch - shown->trace->launches);
    return index >= shown->first && index < shown->first + shown->count;
}

/* Chunks of sites always; of the launches that are shown everything, as long as their blocks fit into @p room. */
static void put_chunks(struct trace_shown *shown, size_t room, struct text *bytes)
{
    const struct trace *t = shown->trace;
    size_t at = strlen(TRACE_MAGIC), used = 0;
    text_append(bytes, TRACE_MAGIC, at);
    for (size_t i = 0; i < t->launch_count; i++) {
        const struct trace_launch *launch = &t->launches[i];
        text_append(bytes, (const char *)t->bytes + at, launch->begin - at);
        at = launch->begin;
        for (size_t k = 0; k < launch->block_count && is_wanted(shown, launch); k++) {
            const struct trace_block *block = &launch->blocks[k];
            const int fits = used + (block->end - block->begin) <= room;
            text_append(bytes, (const char *)t->bytes + at, (fits ? block->end : block->begin) - at);
            used += fits ? block->end - block->begin : 0;
            shown->blocks_left_out += !fits;
            at = block->end;
        }
        if (is_wanted(shown, launch)) text_append(bytes, (const char *)t->bytes + at, launch->end - at);
        at = launch->end;
    }
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

static int is_source(const char *path)
{
    static const char *const endings[] = {".cu", ".cuh", ".h", ".hpp", ".inl"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0) return 1;
    return 0;
}

int trace_read_source(const struct trace_shown *shown, const char *path, struct text *source)
{
    const char *kernel = shown->kernel, *slash = kernel != NULL ? strrchr(kernel, '/') : NULL;
    if (!is_source(path)) return -1;
    if (kernel != NULL && strcmp(slash != NULL ? slash + 1 : kernel, path) == 0) path = kernel;
    return read_file(path, source);
}

static void put_sources(const struct trace_shown *shown, struct text *page)
{
    size_t put = 0;
    for (size_t i = 0; i < shown->trace->file_count && put < MOST_SOURCES; i++) {
        struct text source = {0};
        if (trace_read_source(shown, shown->trace->files[i], &source) != 0) continue;
        if (source.length < SOURCE_BYTES) {
            text_print(page, "%s\n{\"path\": ", put++ ? "," : "");
            text_add_json(page, shown->trace->files[i]);
            text_print(page, ", \"text\": ");
            text_add_json(page, source.data != NULL ? source.data : "");
            text_print(page, "}");
        }
        text_free(&source);
    }
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

void trace_write_page(const char *title, struct trace_shown *shown, size_t count, struct text *page)
{
    size_t rest = (size_t)1 << 20; /* the viewer, the sources as a rule */
    for (size_t i = 0; i < count; i++) rest += shown[i].variables != NULL ? shown[i].variables->length : 0;
    const size_t room = (TRACE_PAGE_BYTES - rest) / 4 * 3 / count - (MOST_SOURCES << 10);
    text_print(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    text_add_escaped(page, title, strlen(title));
    text_print(page, "</title>\n<style>\n");
    text_append(page, (const char *)trace_viewer_css, trace_viewer_css_bytes);
    text_print(
        page,
        "</style>\n</head>\n<body>\n<noscript>This page needs JavaScript, and no network.</noscript>\n");
    struct text data = {0};
    for (size_t i = 0; i < count; i++) {
        put_chunks(&shown[i], room, &data);
        text_print(page, "<script type=\"text/plain\" class=\"trace\" id=\"trace%zu\">", i);
        put_base64(page, &data);
        text_print(page, "</script>\n");
        data.length = 0;
    }
    text_free(&data);
    text_print(page, "<script type=\"application/json\" id=\"about\">\n{\"title\": ");
    text_add_json(page, title);
    text_print(page, ", \"traces\": [");
    for (size_t i = 0; i < count; i++) {
        text_print(page, "%s{\"name\": ", i ? ", " : "");
        text_add_json(page, shown[i].name);
        text_print(page, ", \"debug\": ");
        text_add_json(page, shown[i].debug != NULL ? shown[i].debug : "");
        text_print(page, ", \"noVariables\": ");
        text_add_json(page, shown[i].no_variables != NULL ? shown[i].no_variables : "");
        text_print(page, ", \"first\": %zu, \"variables\": ", shown[i].first);
        if (shown[i].variables != NULL && shown[i].variables->length)
            text_append(page, shown[i].variables->data, shown[i].variables->length);
        else
            text_print(page, "null");
        text_print(page, ", \"blocksLeftOut\": %zu, \"sources\": [", shown[i].blocks_left_out);
        put_sources(&shown[i], page);
        text_print(page, "]}");
    }
    text_print(page, "]}\n</script>\n<script>\n");
    text_append(page, (const char *)trace_viewer_js, trace_viewer_js_bytes);
    text_print(page, "</script>\n</body>\n</html>\n");
}
