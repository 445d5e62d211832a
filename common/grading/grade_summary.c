/**
 * @file grade_summary.c
 * @brief summary.html: the class on one page, for the instructor.
 *
 * The page is self-contained: it loads no script, font or picture, so it can be mailed or kept. Words name
 * the states, and colours only repeat them; tables have headings that a screen reader announces; light and
 * dark follow the reader's setting.
 */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/text.h"
#include "course/device.h"
#include "grade.h"

enum { BINS = 10, KERNELS_TOLD = 5, PLOT_HEIGHT = 120, BAR_STEP = 60 };

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;--head:#f3f5f7;"
    "--bar:#2f6fb3;--pass:#d5f0dc;--some:#fff0c2;--fail:#fbd9d5;--none:#e8ebee;--mine:#e6dcf7}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#14181d;--text:#e4e8ec;--soft:#a2acb6;--line:#38414a;"
    "--head:#1d2329;--bar:#6ea8e5;--pass:#173f26;--some:#463a10;--fail:#54211c;--none:#272d34;--mine:#3a2c57}"
    "}\n"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:90rem;padding:1.5rem;background:var(--back);"
    "color:var(--text);font:16px/1.5 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2rem 0 .6rem}p{margin:.3rem 0}"
    ".soft{color:var(--soft)}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}"
    "caption{text-align:left;color:var(--soft);padding:.2rem 0}"
    "th,td{border:1px solid var(--line);padding:.25rem .55rem;text-align:left;vertical-align:top}"
    "thead th{background:var(--head);position:sticky;top:0}td.n{text-align:right;"
    "font-variant-numeric:tabular-nums}tbody th{font-weight:600;white-space:nowrap}tbody "
    "th.s{max-width:20rem;white-space:normal;overflow-wrap:anywhere}\n"
    ".pass{background:var(--pass)}.some{background:var(--some)}.fail{background:var(--fail)}"
    ".none{background:var(--none)}.mine{background:var(--mine)}\n"
    "td small{display:block;color:var(--soft);font-variant-numeric:tabular-nums}\n"
    "svg{max-width:100%;height:auto}svg rect{fill:var(--bar)}svg text{fill:var(--text);font:12px system-ui,"
    "sans-serif;text-anchor:middle}svg line{stroke:var(--line)}\n"
    "ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.4rem;margin:.4rem 0}"
    "ul.key li{padding:.1rem .5rem;border:1px solid var(--line);font-size:.85rem}\n"
    "code{font-family:ui-monospace,monospace}@media print{thead th{position:static}}\n";

/* ---- the matrix ---------------------------------------------------------------------------------------- */

static const char *class_of(const struct grade_score *score)
{
    if (score->state == STATE_NOT_GRADED) return "mine";
    if (score->state == STATE_PASS) return "pass";
    if (score->state == STATE_NOT_STARTED) return "none";
    return score->points > 0 ? "some" : "fail";
}

static void put_cell(const struct grade_score *score, struct text *out)
{
    text_print(out, "<td class=\"%s\">", class_of(score));
    put_xml(out, state_name(score->state));
    if (score->decided) {
        text_print(out, "<small>%.1f", score->points);
        if (score->adjusted.length) text_print(out, " (adjusted)");
        if (score->withheld > 0) text_print(out, " (%.1f withheld)", score->withheld);
        text_print(out, "</small>");
    }
    text_print(out, "</td>");
}

static void put_matrix(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    text_print(out, "<h2 id=\"matrix\">Students and lessons</h2>\n<ul class=\"key\">"
                    "<li class=\"pass\">PASS: all of it</li><li class=\"some\">wrong, with some points</li>"
                    "<li class=\"fail\">wrong, no points</li><li class=\"none\">NOT_STARTED</li>"
                    "<li class=\"mine\">NOT_GRADED: not the student's doing</li></ul>\n"
                    "<div class=\"wide\" role=\"region\" aria-labelledby=\"matrix\" tabindex=\"0\"><table>\n"
                    "<caption>State and points of each lesson; names lead to the student's report"
                    "</caption>\n<thead><tr><th scope=\"col\">student</th><th scope=\"col\">points</th>");
    for (size_t i = 0; i < book->lesson_count; i++) {
        text_print(out, "<th scope=\"col\"><abbr title=\"");
        put_xml(out, book->lessons[i].title);
        text_print(out, "\">%s</abbr></th>", book->lessons[i].name);
    }
    text_print(out, "</tr></thead>\n<tbody>\n");
    for (size_t s = 0; s < book->student_count; s++) {
        const struct grade_sheet *sheet = &sheets[s];
        text_print(out, "<tr><th class=\"s\" scope=\"row\"><a href=\"students/%s/report.md\">",
                   sheet->folder);
        put_xml(out, sheet->shown);
        text_print(out, "</a></th><td class=\"n\">");
        if (sheet->graded) {
            text_print(out, "%.1f", sheet->points);
        } else {
            text_print(out, "not complete");
        }
        text_print(out, "</td>");
        for (size_t i = 0; i < book->lesson_count; i++) put_cell(&sheet->scores[i], out);
        text_print(out, "</tr>\n");
    }
    text_print(out, "</tbody></table></div>\n");
}

/* ---- the distribution ---------------------------------------------------------------------------------- */

static void put_distribution(const struct grade_book *book, const struct grade_sheet *sheets,
                             struct text *out)
{
    size_t bin[BINS] = {0}, most = 1, counted = 0;
    for (size_t s = 0; s < book->student_count; s++) {
        if (!sheets[s].graded || !(sheets[s].points_max > 0)) continue;
        int at = (int)(BINS * sheets[s].points / sheets[s].points_max);
        at = at < 0 ? 0 : at >= BINS ? BINS - 1 : at;
        if (++bin[at] > most) most = bin[at];
        counted++;
    }
    text_print(out,
               "<h2 id=\"scores\">Scores</h2>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" "
               "aria-label=\"Number of students in each tenth of the points:",
               BINS * BAR_STEP, PLOT_HEIGHT + 50, BINS * BAR_STEP);
    for (int i = 0; i < BINS; i++) text_print(out, " %d to %d%%: %zu.", 10 * i, 10 * i + 10, bin[i]);
    text_print(out, "\">\n");
    for (int i = 0; i < BINS; i++) {
        double height = (double)PLOT_HEIGHT * (double)bin[i] / (double)most;
        double top = 20 + PLOT_HEIGHT - height;
        text_print(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>", i * BAR_STEP + 4, top,
                   BAR_STEP - 8, height);
        if (bin[i]) {
            text_print(out, "<text x=\"%d\" y=\"%.1f\">%zu</text>", i * BAR_STEP + BAR_STEP / 2, top - 4,
                       bin[i]);
        }
        text_print(out, "<text x=\"%d\" y=\"%d\">%d–%d%%</text>\n", i * BAR_STEP + BAR_STEP / 2,
                   PLOT_HEIGHT + 40, 10 * i, 10 * i + 10);
    }
    text_print(out, "<line x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/></svg>\n", PLOT_HEIGHT + 20,
               BINS * BAR_STEP, PLOT_HEIGHT + 20);
    text_print(out,
               "<p class=\"soft\">%zu students whose lessons are all graded; share of the points that "
               "there are.</p>\n",
               counted);
}

/* ---- the slowest and the fastest ----------------------------------------------------------------------- */

struct ranked {
    const struct grade_sheet *sheet;
    double ratio;
    int unusual;
    enum device device;
};

static int by_ratio(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;
    if (one->ratio != other->ratio) return one->ratio > other->ratio ? -1 : 1;
    return strcmp(one->sheet->student, other->sheet->student);
}

static void put_ranked(const struct ranked *ranked, size_t first, size_t last, struct text *out)
{
    text_print(out, "<td>");
    for (size_t i = first; i < last; i++) {
        text_print(out, "%s%.2f× ", i > first ? "<br>" : "", ranked[i].ratio);
        put_xml(out, ranked[i].sheet->shown);
        if (ranked[i].unusual) text_print(out, " <strong>(unusual: read the file)</strong>");
    }
    text_print(out, last > first ? "</td>" : "–</td>");
}

static void put_speeds(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    struct ranked *ranked = must_allocate((book->student_count + 1) * sizeof *ranked);
    text_print(
        out,
        "<h2 id=\"speed\">Fastest and slowest kernels</h2>\n<div class=\"wide\"><table>\n"
        "<caption>Right results only. 1× is the course's solution in the same run: its time over the "
        "student's on a GPU, its memory sectors over the student's on the software device; the mean "
        "over all of the lesson's measured cases, each of which counts for %.0f× at the most. Who has a "
        "wrong result, or a time that is withheld, at one of them is not here.</caption>\n<thead><tr><th "
        "scope=\"col\">lesson</th>"
        "<th scope=\"col\">measured</th><th scope=\"col\">median</th><th scope=\"col\">fastest</th>"
        "<th scope=\"col\">slowest</th></tr></thead>\n<tbody>\n",
        GRADE_UNUSUAL_RATIO);
    for (size_t i = 0; i < book->lesson_count; i++) {
        size_t count = 0;
        for (size_t s = 0; s < book->student_count; s++) {
            const struct grade_score *score = &sheets[s].scores[i];
            if (!(score->speed_ratio > 0)) continue;
            ranked[count++] =
                (struct ranked){&sheets[s], score->speed_ratio, score->speed_unusual, score->speed_device};
        }
        if (count) qsort(ranked, count, sizeof *ranked, by_ratio);
        text_print(out, "<tr><th scope=\"row\">%s</th><td>", book->lessons[i].name);
        if (count) text_print(out, "%zu, by %s", count, ranked[0].device == DEVICE_GPU ? "time" : "sectors");
        text_print(out, count ? "</td><td class=\"n\">%.2f×</td>" : "</td><td>–</td>",
                   count ? ranked[count / 2].ratio : 0);
        size_t told = count < KERNELS_TOLD ? count : KERNELS_TOLD;
        size_t slow = count > 2 * KERNELS_TOLD ? count - KERNELS_TOLD : told;
        put_ranked(ranked, 0, told, out);
        put_ranked(ranked, slow, count, out);
        text_print(out, "</tr>\n");
    }
    text_print(out, "</tbody></table></div>\n");
    free(ranked);
}

/* ---- the page ------------------------------------------------------------------------------------------ */

/* Comes first: what the instructor has to act on. */
static void put_summary_ungraded(const struct grade_book *book, const struct grade_sheet *sheets,
                                 struct text *out)
{
    size_t count = 0;
    for (size_t s = 0; s < book->student_count; s++) {
        for (size_t i = 0; i < book->lesson_count; i++) {
            const struct grade_score *score = &sheets[s].scores[i];
            if (score->decided) continue;
            if (count++ == 0) {
                text_print(out,
                           "<h2 id=\"ungraded\">Not graded</h2>\n<p>Through no fault of the students'. The "
                           "same command tries these again.</p>\n<ul>\n");
            }
            text_print(out, "<li>");
            put_xml(out, sheets[s].shown);
            text_print(out, ", %s: ", book->lessons[i].name);
            put_xml(out, score->result != NULL ? score->result->sentence : "it has not been tried");
            text_print(out, "</li>\n");
        }
    }
    if (count) text_print(out, "</ul>\n");
}

/* The first complaint of the compiler or the linker. */
static void put_first_error(const struct grade_result *result, struct text *out)
{
    static const char *const words[] = {"error:", "undefined reference", "multiple definition"};
    for (const char *line = result->log, *end; *line != '\0'; line = *end != '\0' ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        char *text = format_string("%.*s", (int)(end - line), line);
        int is_error = 0;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            is_error |= strstr(text, words[i]) != NULL;
        if (is_error) {
            text_print(out, ": <code>");
            put_xml(out, text + strspn(text, " \t"));
            text_print(out, "</code>");
        }
        free(text);
        if (is_error) return;
    }
}

/* Why lessons failed before they ran: students will ask about it, and the log has the answer. */
static void put_summary_reasons(const struct grade_book *book, const struct grade_sheet *sheets,
                                struct text *out)
{
    size_t count = 0;
    for (size_t s = 0; s < book->student_count; s++) {
        for (size_t i = 0; i < book->lesson_count; i++) {
            const struct grade_score *score = &sheets[s].scores[i];
            const struct grade_result *result = score->result;
            if (grade_reason(score) == NULL) continue;
            if (count++ == 0)
                text_print(
                    out,
                    "<h2 id=\"reasons\">Not run, and why</h2>\n<div class=\"wide\"><table>\n"
                    "<caption>As each report says it; the log has what the compiler "
                    "said</caption>\n<thead><tr>"
                    "<th scope=\"col\">student</th><th scope=\"col\">lesson</th><th scope=\"col\">state</th>"
                    "<th scope=\"col\">reason</th></tr></thead>\n<tbody>\n");
            text_print(out, "<tr><th class=\"s\" scope=\"row\">");
            put_xml(out, sheets[s].shown);
            text_print(out, "</th><td>%s</td><td>%s</td><td>", book->lessons[i].name,
                       state_name(score->state));
            put_xml(out, result->sentence);
            if (score->state == STATE_BUILD_ERROR) put_first_error(result, out);
            text_print(out, " (<a href=\"students/%s/log.txt\">log</a>)</td></tr>\n", sheets[s].folder);
        }
    }
    if (count) text_print(out, "</tbody></table></div>\n");
}

/* Points that differ from those earned, and comments without a change. */
static void put_adjustments(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    size_t count = 0;
    for (size_t s = 0; s < book->student_count; s++) {
        struct text adjusted = {0};
        grade_put_adjustments(book, &sheets[s], &adjusted);
        if (!adjusted.length) continue;
        if (count++ == 0)
            text_print(
                out,
                "<h2 id=\"adjusted\">Late, or changed by hand</h2>\n<div class=\"wide\"><table>\n"
                "<caption>Points as they were earned, as they count, and why; students read the "
                "same</caption>\n"
                "<thead><tr>"
                "<th scope=\"col\">student</th><th scope=\"col\">earned</th><th scope=\"col\">points</th>"
                "<th scope=\"col\">by lesson</th></tr></thead>\n<tbody>\n");
        text_print(out, "<tr><th class=\"s\" scope=\"row\">");
        put_xml(out, sheets[s].shown);
        text_print(out, "</th><td class=\"n\">%.2f</td><td class=\"n\">%.2f</td><td>", sheets[s].earned,
                   sheets[s].points);
        put_xml(out, adjusted.data);
        text_print(out, "</td></tr>\n");
        text_free(&adjusted);
    }
    if (count) text_print(out, "</tbody></table></div>\n");
}

/* Rows of --times that count for nobody: somebody may be late and have no penalty. */
static void put_absent(const struct grade_book *book, struct text *out)
{
    struct text absent = {0};
    grade_times_absent(book, &absent);
    const char *rest = absent.data;
    if (absent.length)
        text_print(out,
                   "<h2 id=\"absent\">Times of nobody</h2>\n<p>Who has no time is not late.</p>\n<ul>\n");
    for (char *line; (line = next_word(&rest, '\n')) != NULL; free(line)) {
        if (!*line) continue;
        text_print(out, "<li>");
        put_xml(out, line);
        text_print(out, "</li>\n");
    }
    if (absent.length) text_print(out, "</ul>\n");
    text_free(&absent);
}

/* Files that several handed in, byte for byte; a skeleton that nobody has filled in is no news. */
static void put_same(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < book->lesson_count; i++) {
        for (size_t s = 0; s < book->student_count; s++) {
            struct text names = {0};
            const struct grade_result *first = sheets[s].scores[i].result;
            size_t same = 0, before = 0;
            if (first == NULL || !*first->sha256 || sheets[s].scores[i].state == STATE_NOT_STARTED) continue;
            for (size_t other = 0; other < book->student_count && !before; other++) {
                const struct grade_result *result = sheets[other].scores[i].result;
                if (result == NULL || strcmp(result->sha256, first->sha256) != 0) continue;
                before = other < s;
                text_print(&names, "%s%s", same++ ? ", " : "", sheets[other].shown);
            }
            if (same > 1 && !before) {
                if (count++ == 0)
                    text_print(out, "<h2 id=\"same\">The same file</h2>\n<p>Byte for byte, and so judged "
                                    "once.</p>\n<ul>\n");
                text_print(out, "<li>%s: ", book->lessons[i].name);
                put_xml(out, names.data);
                text_print(out, "</li>\n");
            }
            text_free(&names);
        }
    }
    if (count) text_print(out, "</ul>\n");
}

void grade_summary(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    size_t graded = 0;
    double sum = 0, most = 0;
    for (size_t s = 0; s < book->student_count; s++) {
        if (!sheets[s].graded) continue;
        graded++;
        sum += sheets[s].points;
        most = sheets[s].points_max;
    }
    text_print(out,
               "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
               "<title>Warpwise: the class</title>\n<style>\n%s</style></head>\n<body>\n<main>\n"
               "<h1>The class</h1>\n<p>%zu student%s, %zu lesson%s, graded on%s%s by warpwise ",
               style, book->student_count, book->student_count == 1 ? "" : "s", book->lesson_count,
               book->lesson_count == 1 ? "" : "s", book->devices[DEVICE_SIMT] ? " simt" : "",
               book->devices[DEVICE_GPU] ? " gpu" : "");
    put_xml(out, book->version);
    text_print(out, ".");
    if (graded) text_print(out, " Mean %.1f of %.1f points.", sum / (double)graded, most);
    text_print(out, "</p>\n");
    if (!book->whole) {
        text_print(out, "<p class=\"fail\"><strong>");
        put_xml(out, grade_isolation_note(book));
        text_print(out, "</strong></p>\n");
    }
    text_print(out, "<p class=\"soft\">Isolation: ");
    put_xml(out, book->isolation);
    text_print(out, ". Secret seed: sha256 <code>%.16s…</code></p>\n", book->seed);
    put_summary_ungraded(book, sheets, out);
    put_summary_reasons(book, sheets, out);
    put_absent(book, out);
    put_adjustments(book, sheets, out);
    put_distribution(book, sheets, out);
    grade_put_spread(book, sheets, out);
    grade_put_mistakes(book, sheets, out);
    put_same(book, sheets, out);
    put_speeds(book, sheets, out);
    put_matrix(book, sheets, out);
    text_print(out, "</main>\n</body></html>\n");
}
