/**
 * @file lines.c
 * @brief From an address in the program to a line of the source, through addr2line.
 *
 * Addresses are looked up when a report is printed, all in one run of addr2line, and remembered. Where there
 * is no addr2line, reports give the address and say so.
 */
#include "lines.h"
#include "findings.h"
#include "image.h"
#include "machine.h"
#include "tools.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BATCH = 256 };

/** The student's lines of an address, innermost first. */
struct line {
    uint32_t pc;
    int frames, number[RECORD_FRAMES];
    char *file[RECORD_FRAMES];
};
static struct vector known; /* struct line */

static struct line *find(uint32_t pc)
{
    struct line *lines = known.data;
    for (size_t i = 0; i < known.count; i++)
        if (lines[i].pc == pc) return &lines[i];
    return NULL;
}

/* The device, its headers (installed or not) and the C++ library are not to blame for what was passed to them. */
static bool is_students(const char *file)
{
    return strstr(file, "/common/simt/") == NULL && strstr(file, "/simt/include/") == NULL &&
           strstr(file, "/simt/libraries/") == NULL && strncmp(file, "/usr/", 5) != 0 && file[0] != '?';
}

const char *simt_short_path(const char *file)
{
    char here[4096];
    if (file[0] == '/' && getcwd(here, sizeof here) != NULL) {
        const size_t length = strlen(here);
        if (strncmp(file, here, length) == 0 && file[length] == '/') file += length + 1;
    }
    while (strncmp(file, "./", 2) == 0) file += 2;
    return file[0] == '/' ? strrchr(file, '/') + 1 : file;
}

/* Adds one frame, "file:line" or "file:line (discriminator 2)", to what is known of an address. A path can have blanks. */
static void add_frame(struct line *line, char *frame)
{
    char *note = strstr(frame, " (discriminator ");
    frame[note != NULL ? (size_t)(note - frame) : strcspn(frame, "\n")] = '\0';
    char *colon = strrchr(frame, ':');
    if (colon == NULL || !is_students(frame)) return;
    *colon = '\0';
    if (line->frames == RECORD_FRAMES) return;
    line->number[line->frames] = atoi(colon + 1);
    line->file[line->frames++] = strdup(simt_short_path(frame));
}

/* Output of addr2line -a -i -f: per address one line "0x...", then pairs of function and file:line. Ends with the
 * stream, or with what is said of address 0, which is no line's. A function that the compiler has split seems to be called
 * from its own head: that is no frame. */
static void read_lines(FILE *output)
{
    char text[4096], function[512] = "", file[sizeof text] = "";
    struct line *line = NULL;
    bool last = false, same = false;
    for (bool names = true; fgets(text, sizeof text, output) != NULL; names = !names) {
        if (strncmp(text, "0x", 2) == 0) {
            const uint32_t address = (uint32_t)strtoul(text, NULL, 16);
            last = address == 0;
            line = last ? NULL : find(address + 1);
            names = false; /* the next line names a function */
            function[0] = file[0] = '\0';
        } else if (names) {
            text[strcspn(text, ".\n")] = '\0'; /* without .part.0 */
            same = strcmp(text, function) == 0;
            snprintf(function, sizeof function, "%.511s", text);
        } else if (line != NULL) {
            const size_t length = strcspn(text, ":");
            const bool split = same && strlen(file) == length && strncmp(text, file, length) == 0;
            snprintf(file, sizeof file, "%.*s", (int)length, text);
            if (!split) add_frame(line, text);
        } else if (last) {
            return;
        }
    }
}

/* An addr2line that waits for addresses, where none can be started any more; see simt_lines_prepare(). */
static FILE *questions, *answers;

static void ask_addr2line(const uint32_t *pcs, size_t count)
{
    for (size_t i = 0; i < count; i++) fprintf(questions, "0x%x\n", pcs[i] - 1);
    fputs("0x0\n", questions);
    if (fflush(questions) == 0) read_lines(answers);
}

void simt_lines_prepare(void)
{
    char program[64];
    char *arguments[] = {"addr2line", "-a", "-i", "-f", "-e", program, NULL};
    int to[2], from[2];
    pid_t child;
    snprintf(program, sizeof program, "/proc/%d/exe", (int)getpid());
    if (questions != NULL || pipe2(to, O_CLOEXEC) != 0) return;
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDONLY,
                                     0); /* a graded runner opens nothing to write */
    const int spawned = posix_spawnp(&child, "addr2line", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    if (spawned == 0) questions = fdopen(to[1], "w");
    if (questions != NULL) answers = fdopen(from[0], "r");
    if (answers == NULL) questions = NULL; /* nobody to ask: reports give addresses */
}

static void run_addr2line(const uint32_t *pcs, size_t count)
{
    static char hex[BATCH][16];
    char *arguments[BATCH + 8] = {"addr2line", "-a", "-i", "-f", "-e"}, program[64];
    size_t n = 5;
    int ends[2], status;
    pid_t child;
    if (questions != NULL) {
        ask_addr2line(pcs, count);
        return;
    }
    snprintf(program, sizeof program, "/proc/%d/exe", (int)getpid());
    arguments[n++] = program;
    for (size_t i = 0; i < count; i++) { /* the call lies before its return address */
        snprintf(hex[i], sizeof hex[i], "0x%x", pcs[i] - 1);
        arguments[n++] = hex[i];
    }
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int spawned = posix_spawnp(&child, "addr2line", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (spawned == 0 && output != NULL) read_lines(output);
    fclose(output);
    if (spawned == 0) waitpid(child, &status, 0);
}

/* Host threads may find something at the same time. */
static pthread_mutex_t lines_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void simt_lines_load(const uint32_t *pcs, size_t count)
{
    pthread_mutex_lock(&lines_lock);
    uint32_t wanted[BATCH];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (pcs[i] == 0 || find(pcs[i]) != NULL) continue;
        *(struct line *)simt_vector_grow(&known, sizeof(struct line)) = (struct line){.pc = pcs[i]};
        wanted[n++] = pcs[i];
        if (n < BATCH) continue;
        run_addr2line(wanted, n);
        n = 0;
    }
    if (n > 0) run_addr2line(wanted, n);
    pthread_mutex_unlock(&lines_lock);
}

static struct record_line line_of(const char *file, int number)
{
    struct record_line line = {.line = number};
    record_copy_text(line.file, sizeof line.file, simt_short_path(file));
    return line;
}

void simt_line_frames(uint32_t pc, struct record_line at[RECORD_FRAMES])
{
    if (pc == 0) return;
    pthread_mutex_lock(&lines_lock);
    simt_lines_load(&pc, 1);
    const struct line *line = find(pc);
    for (int i = 0; i < line->frames; i++) at[i] = line_of(line->file[i], line->number[i]);
    if (line->frames == 0) at[0].address = pc + simt_image.bias - 1;
    pthread_mutex_unlock(&lines_lock);
}

int simt_line_places(uint32_t pc, struct simt_site *at, int most)
{
    int i = 0;
    pthread_mutex_lock(&lines_lock);
    simt_lines_load(&pc, 1);
    for (const struct line *line = find(pc); line != NULL && i < line->frames && i < most; i++)
        at[i] = (struct simt_site){.file = line->file[i], .line = line->number[i]};
    pthread_mutex_unlock(&lines_lock);
    return i;
}

bool simt_line_known(uint32_t pc)
{
    simt_lines_load(&pc, 1);
    return find(pc)->frames > 0;
}

int simt_locate(const void *return_address, struct simt_site *site)
{
    simt_image_load();
    const uintptr_t address = (uintptr_t)return_address;
    if (address < simt_image.low || address >= simt_image.high) return 0;
    const uint32_t pc = simt_pack_pc(return_address);
    pthread_mutex_lock(&lines_lock);
    simt_lines_load(&pc, 1);
    const struct line *line = find(pc);
    const int is_known = line->frames > 0;
    if (is_known) {
        site->file = line->file[0];
        site->line = line->number[0];
    }
    pthread_mutex_unlock(&lines_lock);
    return is_known;
}

struct record_line simt_site_line(const struct simt_site *site)
{
    const struct simt_site found = simt_site_found(site);
    if (found.file != NULL && found.line > 0) return line_of(found.file, found.line);
    return (struct record_line){.address = site->pc != NULL ? (uint64_t)(uintptr_t)site->pc - 1 : 0};
}

struct simt_site simt_site_found(const struct simt_site *site)
{
    struct simt_site found = *site;
    if (site->pc != NULL) (void)simt_locate(site->pc, &found);
    found.pc = NULL;
    return found;
}
