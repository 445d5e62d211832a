/*
 * Runs a program on a pseudo terminal or in a pipe and leads it through a script, waiting for what it prints and
 * never for time. A test of what a person at a keyboard would see.
 *
 *     on_terminal SCRIPT COLUMNSxROWS|pipe PROGRAM [ARGUMENT ...]
 *
 * Lines of the script, in which \x1b and \n stand for what they do in C:
 *     expect TEXT      waits until TEXT is printed after what was expected before
 *     await FILE       waits until the file exists
 *     never TEXT       TEXT has not been printed so far
 *     send KEYS        types them
 *     copy FROM TO     writes FROM's content into the file TO, as some editors save
 *     rename FROM TO   writes it beside TO and renames it there, as others do
 *     resize CxR       another size of the terminal
 *     signal INT       sends SIGINT, TERM or CONT
 *     fits             every line since the terminal was cleared last has at most as many columns as it (control codes
 *                      aside)
 *     plain            no control codes and no carriage returns so far
 *     colourless       no control code that sets a colour so far
 *     ascii            nothing beyond ASCII so far
 *     quiet            the terminal echoes nothing: keys are taken one by one
 *     restored         the terminal is as it was at the beginning
 *     exit N           waits for the end; 128 + the signal if one ended it
 *     # ...            is skipped
 * With ON_TERMINAL_DEAF in the environment no signal tells the program of another size.
 * Exit status 0 if all held; else 1, with the step and everything that was printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OUTPUT = 1 << 20, PATIENCE_SECONDS = 240, LINE = 1024 };

struct session {
    int terminal; /* our end of the terminal or pipe */
    int slave;    /* the program's end, until it has it */
    int input;    /* where keys go */
    int is_pipe, columns;
    pid_t child;
    int ended, status;
    struct termios before;
    char output[MOST_OUTPUT];
    size_t length, seen;
};

static struct session session;
static const char *step = "the beginning";

static void fail(const char *format, ...)
{
    va_list arguments;
    printf("at \"%s\": ", step);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\nprinted until then (%zu of it matched):\n%.*s\n", session.seen, (int)session.length,
           session.output);
    if (session.child > 0 && !session.ended) kill(session.child, SIGKILL);
    exit(1);
}

/* ---- the program ---------------------------------------------------------------------------------------- */

static void parse_size(const char *text, struct winsize *size)
{
    unsigned columns = 0, rows = 0;
    if (sscanf(text, "%ux%u", &columns, &rows) != 2) fail("not a size: %s", text);
    *size = (struct winsize){.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
    session.columns = (int)columns;
}

static void open_terminal(const char *size_text)
{
    struct winsize size;
    parse_size(size_text, &size);
    session.terminal = session.input = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (session.terminal < 0 || grantpt(session.terminal) != 0 || unlockpt(session.terminal) != 0)
        fail("no terminal: %s", strerror(errno));
    session.slave = open(ptsname(session.terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (session.slave < 0 || ioctl(session.slave, TIOCSWINSZ, &size) != 0)
        fail("no terminal: %s", strerror(errno));
    tcgetattr(session.slave, &session.before);
}

static void become(char **words, int from_pipe, int to_pipe)
{
    setsid();
    if (session.is_pipe) {
        dup2(from_pipe, STDIN_FILENO);
        dup2(to_pipe, STDOUT_FILENO);
        dup2(to_pipe, STDERR_FILENO);
    } else {
        ioctl(session.slave, TIOCSCTTY, 0);
        dup2(session.slave, STDIN_FILENO);
        dup2(session.slave, STDOUT_FILENO);
        dup2(session.slave, STDERR_FILENO);
        setenv("TERM", "xterm-256color", 1);
        unsetenv("COLUMNS");
    }
    if (getenv("ON_TERMINAL_DEAF") != NULL) {
        sigset_t deaf;
        sigemptyset(&deaf);
        sigaddset(&deaf, SIGWINCH);
        sigprocmask(SIG_BLOCK, &deaf, NULL);
    }
    execvp(words[0], words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    _exit(126);
}

static void start(const char *where, char **words)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    session.is_pipe = strcmp(where, "pipe") == 0;
    if (!session.is_pipe) {
        open_terminal(where);
    } else if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        fail("no pipe: %s", strerror(errno));
    }
    session.child = fork();
    if (session.child < 0) fail("no process: %s", strerror(errno));
    if (session.child == 0) become(words, in[0], out[1]);
    if (!session.is_pipe) {
        close(session.slave); /* so that the output has an end: when the last program lets the terminal go */
        return;
    }
    close(in[0]);
    close(out[1]);
    session.input = in[1];
    session.terminal = out[0];
}

/* ---- what it prints --------------------------------------------------------------------------------------- */

/* Takes what is there within @p milliseconds; 0 at the end of the output. */
static int take_output(int milliseconds)
{
    char buffer[4096];
    struct pollfd watched = {.fd = session.terminal, .events = POLLIN};
    if (poll(&watched, 1, milliseconds) <= 0) return 1;
    ssize_t got = read(session.terminal, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return 1;
    if (got <= 0) return 0;
    if (session.length + (size_t)got > MOST_OUTPUT) fail("too much output");
    memcpy(session.output + session.length, buffer, (size_t)got);
    session.length += (size_t)got;
    return 1;
}

static void look_for_end(void)
{
    if (!session.ended && waitpid(session.child, &session.status, WNOHANG) == session.child)
        session.ended = 1;
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void expect(const char *text)
{
    double deadline = now_seconds() + PATIENCE_SECONDS;
    for (;;) {
        char *found =
            memmem(session.output + session.seen, session.length - session.seen, text, strlen(text));
        if (found != NULL) {
            session.seen = (size_t)(found - session.output) + strlen(text);
            return;
        }
        if (!take_output(100)) fail("it ended without printing that");
        look_for_end();
        if (now_seconds() > deadline) fail("not printed within %d s", PATIENCE_SECONDS);
    }
}

static void await_file(const char *path)
{
    double deadline = now_seconds() + PATIENCE_SECONDS;
    while (access(path, F_OK) != 0) {
        take_output(20);
        if (now_seconds() > deadline) fail("it is not there after %d s", PATIENCE_SECONDS);
    }
}

static void expect_end(int code)
{
    double deadline = now_seconds() + PATIENCE_SECONDS;
    int open_stream = 1;
    while (!session.ended || open_stream) {
        if (open_stream)
            open_stream = take_output(50);
        else
            usleep(1000);
        look_for_end();
        if (now_seconds() > deadline) fail("it has not ended within %d s", PATIENCE_SECONDS);
    }
    int got = WIFSIGNALED(session.status) ? 128 + WTERMSIG(session.status) : WEXITSTATUS(session.status);
    if (got != code) fail("exit %d instead of %d", got, code);
}

/* Columns of each line as a terminal counts them: UTF-8 letters one, control codes none. */
static void check_fits(void)
{
    int column = 0;
    size_t begin = 0;
    for (size_t i = 0; i + 4 <= session.length; i++)
        if (memcmp(session.output + i, "\033[2J", 4) == 0) begin = i;
    for (size_t i = begin; i < session.length; i++) {
        unsigned char byte = (unsigned char)session.output[i];
        if (byte == '\033' && i + 1 < session.length && session.output[i + 1] == '[') {
            for (i += 2; i < session.length && !(session.output[i] >= '@' && session.output[i] <= '~'); i++)
                continue;
        } else if (byte == '\n' || byte == '\r') {
            column = 0;
            begin = i + 1;
        } else if ((byte & 0xc0) != 0x80) {
            column++;
        }
        if (column > session.columns)
            fail("more than %d columns: %.*s", session.columns, (int)(i + 1 - begin), session.output + begin);
    }
}

static void check_bytes(int ascii)
{
    for (size_t i = 0; i < session.length; i++) {
        unsigned char byte = (unsigned char)session.output[i];
        int return_of_terminal = byte == '\r' && !session.is_pipe;
        if (ascii ? byte >= 0x80 : (byte < ' ' && byte != '\n' && !return_of_terminal) || byte == 0x7f)
            fail("byte 0x%02x at %zu", byte, i);
    }
}

static void check_colourless(void)
{
    for (size_t i = 0; i + 1 < session.length; i++) {
        size_t at = i + 2;
        if (session.output[i] != '\033' || session.output[i + 1] != '[') continue;
        while (at < session.length && strchr("0123456789;", session.output[at]) != NULL) at++;
        if (at < session.length && session.output[at] == 'm') fail("a colour is set at %zu", i);
    }
}

/* ---- what is done to it ----------------------------------------------------------------------------------- */

static void send_keys(const char *keys)
{
    size_t length = strlen(keys);
    if (write(session.input, keys, length) != (ssize_t)length)
        fail("keys cannot be sent: %s", strerror(errno));
}

static void save(char *names, int by_rename)
{
    char buffer[65536], beside[LINE];
    char *to = strchr(names, ' ');
    if (to == NULL) fail("copy and rename take two names");
    *to++ = '\0';
    snprintf(beside, sizeof beside, "%s%s", to, by_rename ? ".new" : "");
    FILE *in = fopen(names, "r");
    size_t length = in != NULL ? fread(buffer, 1, sizeof buffer, in) : 0;
    if (in != NULL) fclose(in);
    FILE *out = in != NULL ? fopen(beside, "w") : NULL;
    if (out == NULL || fwrite(buffer, 1, length, out) != length || fclose(out) != 0)
        fail("%s: %s", to, strerror(errno));
    if (by_rename && rename(beside, to) != 0) fail("%s: %s", to, strerror(errno));
}

static void send_signal(const char *name)
{
    int number = strcmp(name, "INT") == 0 ? SIGINT : strcmp(name, "TERM") == 0 ? SIGTERM : SIGCONT;
    kill(session.child, number);
}

static void check_modes(int restored)
{
    struct termios now;
    if (session.is_pipe || tcgetattr(session.terminal, &now) != 0) fail("there is no terminal");
    tcflag_t keys = ICANON | ECHO;
    if (restored && now.c_lflag != session.before.c_lflag) fail("the terminal is not as it was");
    if (!restored && (now.c_lflag & keys) != 0) fail("the terminal still echoes, or waits for whole lines");
}

/* "\x1b" and "\n" become what they stand for. */
static void decode(char *text)
{
    char *to = text;
    for (; *text; text++) {
        unsigned code;
        if (strncmp(text, "\\n", 2) == 0) {
            *to++ = '\n';
            text++;
        } else if (sscanf(text, "\\x%2x", &code) == 1) {
            *to++ = (char)code;
            text += 3;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

static void take_step(char *line)
{
    char *argument = strchr(line, ' ');
    struct winsize size;
    if (argument != NULL) *argument++ = '\0';
    if (argument != NULL) decode(argument);
    const char *text = argument != NULL ? argument : "";
    if (strcmp(line, "expect") == 0) {
        expect(text);
    } else if (strcmp(line, "await") == 0) {
        await_file(text);
    } else if (strcmp(line, "never") == 0) {
        if (memmem(session.output, session.length, text, strlen(text)) != NULL) fail("it was printed");
    } else if (strcmp(line, "send") == 0) {
        send_keys(text);
    } else if (strcmp(line, "copy") == 0 || strcmp(line, "rename") == 0) {
        save(argument, *line == 'r');
    } else if (strcmp(line, "resize") == 0) {
        parse_size(text, &size);
        if (ioctl(session.terminal, TIOCSWINSZ, &size) != 0) fail("cannot be resized");
        session.length = session.seen = 0; /* what was printed before need not fit */
    } else if (strcmp(line, "signal") == 0) {
        send_signal(text);
    } else if (strcmp(line, "fits") == 0) {
        check_fits();
    } else if (strcmp(line, "plain") == 0 || strcmp(line, "ascii") == 0) {
        check_bytes(*line == 'a');
    } else if (strcmp(line, "colourless") == 0) {
        check_colourless();
    } else if (strcmp(line, "quiet") == 0 || strcmp(line, "restored") == 0) {
        check_modes(*line == 'r');
    } else if (strcmp(line, "exit") == 0) {
        expect_end(atoi(text));
    } else if (*line && *line != '#') {
        fail("there is no such step");
    }
}

int main(int argc, char **argv)
{
    char line[LINE], shown[LINE];
    FILE *script = argc > 3 ? fopen(argv[1], "r") : NULL;
    if (script == NULL) {
        fprintf(stderr, "usage: on_terminal SCRIPT COLUMNSxROWS|pipe PROGRAM [ARGUMENT ...]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    start(argv[2], argv + 3);
    while (fgets(line, sizeof line, script) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(shown, sizeof shown, "%s", line);
        step = shown;
        take_step(line);
    }
    fclose(script);
    if (!session.ended) {
        kill(session.child, SIGKILL);
        waitpid(session.child, &session.status, 0);
    }
    return 0;
}
