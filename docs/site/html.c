/* Reads HTML piece by piece. Ours, and not a library's: it need only know what Doxygen and the site's own programs write, and
 * a plain build depends on nothing. */
#include "html.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Behind the end of the element @p name, whose tag just ended at @p at. */
static const char *skip_element(const char *at, const char *name)
{
    size_t length = strlen(name);
    for (; (at = strstr(at, "</")) != NULL; at += 2)
        if (strncasecmp(at + 2, name, length) == 0) return at;
    return NULL;
}

static const char *tag_end(const char *at)
{
    char quote = '\0';
    for (; *at != '\0'; at++) {
        if (quote != '\0')
            quote = *at == quote ? '\0' : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
        else if (*at == '>')
            break;
    }
    return at;
}

int html_next(const char **at, struct html_piece *piece)
{
    const char *here = *at;
    while (strncmp(here, "<!", 2) == 0) {
        const char *end = strncmp(here, "<!--", 4) == 0 ? strstr(here, "-->") : strchr(here, '>');
        here = end == NULL ? here + strlen(here) : end + (strncmp(here, "<!--", 4) == 0 ? 3 : 1);
    }
    *piece = (struct html_piece){.kind = HTML_END, .at = here};
    if (*here == '\0') return 0;
    if (*here != '<' || !(isalpha((unsigned char)here[1]) || here[1] == '/')) {
        piece->kind = HTML_TEXT;
        piece->length = 1 + strcspn(here + 1, "<");
        *at = here + piece->length;
        return 1;
    }
    piece->kind = here[1] == '/' ? HTML_CLOSE : HTML_OPEN;
    here += piece->kind == HTML_CLOSE ? 2 : 1;
    size_t length = 0;
    while ((isalnum((unsigned char)*here) || *here == '-' || *here == ':') && length + 1 < sizeof piece->name)
        piece->name[length++] = (char)tolower((unsigned char)*here++);
    piece->at = here;
    const char *end = tag_end(here);
    piece->length = (size_t)(end - here);
    *at = *end == '\0' ? end : end + 1;
    int opaque = strcmp(piece->name, "script") == 0 || strcmp(piece->name, "style") == 0;
    if (piece->kind == HTML_OPEN && opaque) {
        const char *close = skip_element(*at, piece->name);
        if (close != NULL) *at = close;
    }
    return 1;
}

int html_attribute(const struct html_piece *piece, const char *name, char *value, size_t size)
{
    const char *at = piece->at, *end = piece->at + piece->length;
    size_t name_length = strlen(name);
    while (at < end) {
        while (at < end && (isspace((unsigned char)*at) || *at == '/')) at++;
        const char *begin = at;
        while (at < end && !isspace((unsigned char)*at) && *at != '=' && *at != '/') at++;
        int found = (size_t)(at - begin) == name_length && strncasecmp(begin, name, name_length) == 0;
        const char *from = at, *to = at;
        if (at < end && *at == '=') {
            char quote = at[1];
            from = at + (quote == '"' || quote == '\'' ? 2 : 1);
            to = from;
            while (to < end && (from == at + 2 ? *to != quote : !isspace((unsigned char)*to))) to++;
            at = to + (from == at + 2);
        } else if (at == begin)
            at++;
        if (found) {
            snprintf(value, size, "%.*s", (int)(to - from), from);
            html_decode(value);
            return 1;
        }
    }
    return 0;
}

void html_decode(char *text)
{
    static const struct {
        const char *entity, *character;
    } entities[] = {{"&amp;", "&"},   {"&zwj;", ""},     {"&lt;", "<"},    {"&gt;", ">"},
                    {"&quot;", "\""}, {"&nbsp;", " "},   {"&ndash;", "–"}, {"&mdash;", "—"},
                    {"&times;", "×"}, {"&middot;", "·"}, {"&micro;", "µ"}};
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t taken = 0;
        if (*from == '&') {
            for (size_t i = 0; i < sizeof entities / sizeof entities[0] && taken == 0; i++) {
                size_t length = strlen(entities[i].entity);
                if (strncmp(from, entities[i].entity, length) != 0) continue;
                taken = length;
                for (const char *c = entities[i].character; *c != '\0'; c++) *to++ = *c;
            }
            long code = taken == 0 && from[1] == '#' ? strtol(from + 2, NULL, 10) : 0;
            if (code > 0) { // only the blank, the quote and their like are written so
                taken = strcspn(from, ";") + 1;
                *to++ = code == 160 ? ' ' : code < 128 ? (char)code : ' ';
            }
        }
        if (taken == 0)
            *to++ = *from++;
        else
            from += taken;
    }
    *to = '\0';
}
