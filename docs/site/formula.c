/*
 * From TeX's notation to MathML. Ours, and not Doxygen with MathJax: every browser shows MathML by itself, so the site needs
 * neither a network nor a package of scripts, and what is not understood is found when the site is made. By recursive descent:
 *
 *     row     = { scripted }                     up to '}', '&', '\\', '\right', '\end' or the end
 *     scripted = atom [ '_' atom ] [ '^' atom ]
 *     atom    = '{' row '}' | letter | number | operator | command
 */
#include "formula.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct parser {
    const char *at; /* what is still to be read */
    struct text *out;
    const char *error; /* NULL while all is well */
    char message[120];
};

/* Commands that stand for one element. */
static const struct {
    const char *name, *element;
} COMMANDS[] = {
    {"cdot", "<mo>⋅</mo>"},
    {"le", "<mo>≤</mo>"},
    {"ge", "<mo>≥</mo>"},
    {"sum", "<mo>∑</mo>"},
    {"lfloor", "<mo>⌊</mo>"},
    {"rfloor", "<mo>⌋</mo>"},
    {"{", "<mo>{</mo>"},
    {"}", "<mo>}</mo>"},
    {"quad", "<mspace width=\"1em\"/>"},
    {"max", "<mi mathvariant=\"normal\">max</mi>"},
};

static void add_row(struct parser *parser, int in_group);

static void refuse(struct parser *parser, const char *what, const char *name, int length)
{
    if (parser->error != NULL) return;
    snprintf(parser->message, sizeof parser->message, "%s '%.*s'", what, length, name);
    parser->error = parser->message;
}

static void skip_spaces(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at)) parser->at++;
}

/* Takes @p word if it comes next. A command's name must end there. */
static int take(struct parser *parser, const char *word)
{
    skip_spaces(parser);
    size_t length = strlen(word);
    if (strncmp(parser->at, word, length) != 0) return 0;
    if (word[0] == '\\' && isalpha((unsigned char)word[1]) && isalpha((unsigned char)parser->at[length]))
        return 0;
    parser->at += length;
    return 1;
}

static void add_group(struct parser *parser)
{
    if (!take(parser, "{")) {
        refuse(parser, "a { was expected before", parser->at, 10);
        return;
    }
    text_add(parser->out, "<mrow>");
    add_row(parser, 1);
    text_add(parser->out, "</mrow>");
    if (!take(parser, "}")) refuse(parser, "a } was expected before", parser->at, 10);
}

/* \text{...} and \mathrm{...}: taken as it stands. */
static void add_words(struct parser *parser, const char *element)
{
    const char *end = take(parser, "{") ? strchr(parser->at, '}') : NULL;
    if (end == NULL) {
        refuse(parser, "a group was expected before", parser->at, 10);
        return;
    }
    text_print(parser->out, "<%s>", element);
    for (const char *at = parser->at; at < end; at++) {
        if (*at == '\\') continue; // \_ is an underscore
        if (*at == ' ')
            text_add(parser->out, "&#160;");
        else
            text_add_escaped(parser->out, at, 1);
    }
    text_print(parser->out, "</%s>", element);
    parser->at = end + 1;
}

static void add_aligned(struct parser *parser)
{
    text_add(parser->out, "<mtable displaystyle=\"true\" columnalign=\"right left\"><mtr><mtd>");
    for (;;) {
        add_row(parser, 1);
        if (take(parser, "&"))
            text_add(parser->out, "</mtd><mtd>");
        else if (take(parser, "\\\\"))
            text_add(parser->out, "</mtd></mtr><mtr><mtd>");
        else
            break;
    }
    text_add(parser->out, "</mtd></mtr></mtable>");
    if (!take(parser, "\\end{aligned}")) refuse(parser, "\\end{aligned} was expected before", parser->at, 10);
}

static void add_command(struct parser *parser)
{
    if (take(parser, "\\begin{aligned}")) {
        add_aligned(parser);
        return;
    }
    const char *name = parser->at + 1;
    int length = 1;
    if (isalpha((unsigned char)name[0]))
        while (isalpha((unsigned char)name[length])) length++;
    parser->at = name + length;
#define IS(word) (length == (int)strlen(word) && strncmp(name, word, (size_t)length) == 0)
    if (IS("frac")) {
        text_add(parser->out, "<mfrac>");
        add_group(parser);
        add_group(parser);
        text_add(parser->out, "</mfrac>");
    } else if (IS("sqrt")) {
        text_add(parser->out, "<msqrt>");
        add_group(parser);
        text_add(parser->out, "</msqrt>");
    } else if (IS("text") || IS("mathrm")) {
        add_words(parser, IS("text") ? "mtext" : "mi");
    } else {
        size_t i = 0, count = sizeof COMMANDS / sizeof COMMANDS[0];
        while (i < count && !IS(COMMANDS[i].name)) i++;
        if (i < count)
            text_add(parser->out, COMMANDS[i].element);
        else
            refuse(parser, "unknown command", parser->at - length - 1, length + 1);
    }
#undef IS
}

/* A character that stands for itself: bytes of one UTF-8 character. */
static void add_character(struct parser *parser)
{
    int length = 1;
    while (((unsigned char)parser->at[length] & 0xC0) == 0x80) length++;
    const char *element = length > 1 || ispunct((unsigned char)*parser->at) ? "mo" : "mi";
    text_print(parser->out, "<%s>", element);
    if (*parser->at == '-')
        text_add(parser->out, "−");
    else
        text_add_escaped(parser->out, parser->at, (size_t)length);
    text_print(parser->out, "</%s>", element);
    parser->at += length;
}

static void add_atom(struct parser *parser)
{
    skip_spaces(parser);
    if (*parser->at == '{') {
        add_group(parser);
    } else if (take(parser, "\\left") || take(parser, "\\right")) {
        add_character(parser);
    } else if (*parser->at == '\\') {
        add_command(parser);
    } else if (isdigit((unsigned char)*parser->at)) {
        text_add(parser->out, "<mn>");
        while (isdigit((unsigned char)*parser->at) ||
               (*parser->at == '.' && isdigit((unsigned char)parser->at[1])))
            text_append(parser->out, parser->at++, 1);
        text_add(parser->out, "</mn>");
    } else if (*parser->at == '\0' || strchr("}&^_", *parser->at) != NULL) {
        refuse(parser, "something is missing before", parser->at, 10);
    } else {
        add_character(parser);
    }
}

/* Scripts are written after the atom in TeX, inside the same element in MathML: the atom is inserted later. */
static void add_scripted(struct parser *parser)
{
    struct text *out = parser->out;
    struct text parts[3] = {{0}}; // atom, below, above
    parser->out = &parts[0];
    add_atom(parser);
    while (parser->error == NULL) {
        int part = parts[1].data == NULL && take(parser, "_")   ? 1
                   : parts[2].data == NULL && take(parser, "^") ? 2
                                                                : 0;
        if (part == 0) break;
        parser->out = &parts[part];
        add_atom(parser);
    }
    parser->out = out;
    const char *element = parts[1].data != NULL && parts[2].data != NULL ? "msubsup"
                          : parts[1].data != NULL                        ? "msub"
                          : parts[2].data != NULL                        ? "msup"
                                                                         : "mrow";
    int scripts = parts[1].data != NULL || parts[2].data != NULL;
    if (scripts) text_print(out, "<%s>", element);
    for (int i = 0; i < 3; i++) {
        if (parts[i].data != NULL) text_add(out, parts[i].data);
        text_free(&parts[i]);
    }
    if (scripts) text_print(out, "</%s>", element);
}

static void add_row(struct parser *parser, int in_group)
{
    for (;;) {
        skip_spaces(parser);
        const char *at = parser->at;
        if (*at == '\0' || parser->error != NULL) return;
        if (in_group &&
            (*at == '}' || *at == '&' || strncmp(at, "\\\\", 2) == 0 || strncmp(at, "\\end", 4) == 0))
            return;
        add_scripted(parser);
    }
}

const char *math_to_mathml(struct text *out, const char *tex, int block)
{
    static struct parser parser;
    parser = (struct parser){.at = tex, .out = out};
    text_add(out, block ? "<math display=\"block\"><mrow>" : "<math><mrow>");
    add_row(&parser, 0);
    text_add(out, "</mrow></math>");
    return parser.error;
}
