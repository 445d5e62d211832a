/* Tests of what the programs under docs/ are made of: formulas, names of pages, links, HTML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "html.h"
#include "tree.h"

static int failures;

static void expect(const char *what, const char *got, const char *expected)
{
    if (strcmp(got, expected) == 0) return;
    printf("%s:\n  got      %s\n  expected %s\n", what, got, expected);
    failures++;
}

static void expect_formula(const char *tex, const char *expected)
{
    struct text out = {0};
    struct text all = {0};
    const char *error = math_to_mathml(&out, tex, 0);
    text_print(&all, "<math><mrow>%s</mrow></math>", expected);
    if (error != NULL) {
        printf("%s: %s\n", tex, error);
        failures++;
    } else
        expect(tex, out.data, all.data);
    text_free(&out);
    text_free(&all);
}

static void expect_refused(const char *tex, const char *expected)
{
    struct text out = {0};
    const char *error = math_to_mathml(&out, tex, 0);
    expect(tex, error == NULL ? "(taken)" : error, expected);
    text_free(&out);
}

static void test_formulas(void)
{
    expect_formula("x", "<mi>x</mi>");
    expect_formula("12.5", "<mn>12.5</mn>");
    expect_formula("x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>");
    expect_formula("x^2_i", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>");
    expect_formula("e^{-x}", "<msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi></mrow></msup>");
    expect_formula("\\frac{a}{b}", "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>");
    expect_formula("\\sqrt{d}", "<msqrt><mrow><mi>d</mi></mrow></msqrt>");
    expect_formula("\\max(a, b)",
                   "<mi mathvariant=\"normal\">max</mi><mo>(</mo><mi>a</mi><mo>,</mo><mi>b</mi><mo>)</mo>");
    expect_formula("\\text{a b}", "<mtext>a&#160;b</mtext>");
    expect_formula("\\left(a\\right)", "<mo>(</mo><mi>a</mi><mo>)</mo>");
    expect_formula("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>");
    expect_formula("\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}",
                   "<mtable displaystyle=\"true\" columnalign=\"right "
                   "left\"><mtr><mtd><mi>a</mi></mtd><mtd><mo>=</mo><mi>b</mi>"
                   "</mtd></mtr><mtr><mtd><mi>c</mi></mtd><mtd><mo>=</mo><mi>d</mi></mtd></mtr></mtable>");
    expect_refused("\\nonsense x", "unknown command '\\nonsense'");
    expect_refused("\\frac{a}", "a { was expected before ''");
    expect_refused("{a", "a } was expected before ''");
    expect_refused("x_", "something is missing before ''");
}

static void test_names(void)
{
    static const char *const names[][2] = {{"lessons/03_online_softmax/README.md", "lesson_03"},
                                           {"solutions/03_online_softmax/NOTES.md", "notes_03"},
                                           {"lessons/README.md", "course"},
                                           {"README.md", "readme"},
                                           {"docs/results/README.md", "results"},
                                           {"docs/glossary.md", "glossary"}};
    static const char *const slugs[][2] = {{"The idea", "the-idea"},
                                           {"01_naive_attention", "01_naive_attention"},
                                           {"What's \"it\"?", "whats-it"},
                                           {"Goal {#goal}", "goal"}};
    static const char *const links[][3] = {{"lessons/README.md", "../docs/a.md", "docs/a.md"},
                                           {"README.md", "./lessons//b/", "lessons/b"},
                                           {"a/b/c.md", "../../d", "d"}};
    char got[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        page_name(names[i][0], got, sizeof got);
        expect(names[i][0], got, names[i][1]);
    }
    for (size_t i = 0; i < sizeof slugs / sizeof slugs[0]; i++) {
        heading_slug(slugs[i][0], got, sizeof got);
        expect(slugs[i][0], got, slugs[i][1]);
    }
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        int status = resolve_link(links[i][0], links[i][1], got, sizeof got);
        expect(links[i][1], status == 0 ? got : "(leads out)", links[i][2]);
    }
    expect("out of the tree", resolve_link("README.md", "../x", got, sizeof got) == 0 ? got : "(leads out)",
           "(leads out)");
}

static void test_html(void)
{
    static const char page[] =
        "<!DOCTYPE html><a href='x.html#y' title=\"a &amp; b > c\">text</a><!-- <b> -->"
        "<script>if (a < b) '<i>'</script><br/>";
    struct text got = {0};
    struct html_piece piece;
    char value[64];
    text_add(&got, "");
    for (const char *at = page; html_next(&at, &piece);) {
        text_print(&got, "%d%s", (int)piece.kind, piece.kind == HTML_TEXT ? "" : piece.name);
        if (piece.kind == HTML_TEXT) text_append(&got, piece.at, piece.length);
        if (piece.kind == HTML_OPEN && html_attribute(&piece, "href", value, sizeof value))
            text_print(&got, "(%s)", value);
        if (piece.kind == HTML_OPEN && html_attribute(&piece, "title", value, sizeof value))
            text_print(&got, "(%s)", value);
        text_add(&got, ";");
    }
    expect("html", got.data, "2a(x.html#y)(a & b > c);1text;3a;2script;3script;2br;");
    text_free(&got);
}

int main(void)
{
    test_formulas();
    test_names();
    test_html();
    if (failures == 0) printf("all right\n");
    return failures > 0;
}
