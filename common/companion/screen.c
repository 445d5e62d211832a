/**
 * @file screen.c
 * @brief The terminal during `watch`: keys without echo, one picture after another, and its old state at the
 *        end, however the program ends.
 */
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/layout.h"
#include "base/text.h"

static struct termios before;
static int taken;
static int shown_width, shown_height; /* size of the terminal when it was last written to; 0: never */
static volatile sig_atomic_t changed;

static void note_change(int number)
{
    (void)number;
    changed = 1;
}

/* Reads keys one by one without echo; ^C, ^Z and the like work as usual. */
static void take_keys(void)
{
    struct termios keys = before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
}

void screen_close(void)
{
    if (taken) tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    taken = 0;
}

int screen_open(void)
{
    struct sigaction action = {.sa_handler = note_change};
    sigemptyset(&action.sa_mask);
    sigaction(SIGWINCH, &action, NULL);
    sigaction(SIGCONT, &action, NULL);
    /* A process in the background would be stopped if it changed the terminal. */
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp()) return 0;
    if (tcgetattr(STDIN_FILENO, &before) != 0) return 0;
    taken = 1;
    atexit(screen_close);
    take_keys();
    return 1;
}

/* Checks the size, too: a signal is lost if it arrives while the one before is handled. */
int screen_changed(void)
{
    int seen = changed;
    changed = 0;
    seen = seen || (shown_width && (shown_width != layout_width() || shown_height != layout_height()));
    if (seen && taken) take_keys(); /* a shell may have changed the terminal while we were stopped */
    return seen;
}

int screen_key(void)
{
    unsigned char key;
    if (!taken) return 0;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : 0;
}

static int is_plain(void)
{
    const char *term = getenv("TERM");
    return !isatty(STDOUT_FILENO) || term == NULL || strcmp(term, "dumb") == 0;
}

void screen_show(const char *text, const char *more)
{
    struct text picture = {0};
    int plain = is_plain(), room = layout_height() - 1, lines = 0, left_out = 0;
    int width = layout_width();
    shown_width = width, shown_height = room + 1;
    text_append(&picture, "", 0);
    char *end = NULL;
    for (char *line; (line = next_word(&text, '\n')) != NULL; free(line)) {
        struct text wrapped = {0};
        size_t indent = strspn(line, " ");
        text_append(&wrapped, "", 0);
        text_print(&wrapped, "%*s", (int)indent, "");
        layout_wrap_words(&wrapped, line + indent, (int)indent, (int)indent + 2, width);
        const char *rest = wrapped.data;
        for (char *row; (row = next_word(&rest, '\n')) != NULL; free(row)) {
            if (!plain && lines >= room - 2) {
                left_out++;
            } else {
                text_print(&picture, "%s\n", row);
                lines++;
            }
        }
        text_free(&wrapped);
    }
    if (left_out) end = format_string("%d more: %s\n", left_out, more);
    /* Cursor home, then the picture; each line is cleared before it is written, and so is everything
     * below. */
    printf("%s%s%s", plain ? "" : "\033[H\033[2J", picture.data, end != NULL ? end : "");
    fflush(stdout);
    free(end);
    text_free(&picture);
}
