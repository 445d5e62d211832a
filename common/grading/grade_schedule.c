/**
 * @file grade_schedule.c
 * @brief Units of work, some at a time, each in a process of its own.
 *
 * A worker sends its result, as the line that goes into the journal, through a pipe, and ends. Programs that
 * a worker starts end with it: if this program is killed, the kernel ends the workers, and they end what they
 * run. A worker that ends without a whole line makes a result that is not graded.
 *
 * A unit on a GPU takes one of the GPUs for itself, so that nobody else's kernel is in the way of a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "course/device.h"
#include "grade.h"

enum { MOST_JOBS = 256, LOOK_MS = 100 };

struct worker {
    pid_t pid; /* 0: idle */
    int pipe;  /* its end is ours to read */
    int gpu;   /* the one it uses, -1 for none */
    const struct grade_unit *unit;
    struct text line;
};

struct pool {
    const struct grade_plan *plan;
    struct worker worker[MOST_JOBS];
    int jobs;
    int gpu_taken[MOST_JOBS];
};

/* ---- GPUs ---------------------------------------------------------------------------------------------- */

int grade_count_gpus(void)
{
    glob_t found;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;
    if (visible != NULL) {
        for (char *word; (word = next_word(&visible, ',')) != NULL; free(word)) count += *word != '\0';
    } else if (glob("/dev/nvidia[0-9]*", 0, NULL, &found) == 0) {
        count = (int)found.gl_pathc;
        globfree(&found);
    }
    return count > 1 ? (count < MOST_JOBS ? count : MOST_JOBS) : 1;
}

/* Makes @p gpu, counted among the GPUs visible to us, the only one visible to this process. */
static void choose_gpu(int gpu)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char *name = format_string("%d", gpu);
    for (int i = 0; visible != NULL && i <= gpu; i++) {
        char *word = next_word(&visible, ',');
        if (word != NULL && i == gpu) name = word;
    }
    setenv("CUDA_VISIBLE_DEVICES", name, 1);
}

static int free_gpu(const struct pool *pool)
{
    for (int i = 0; i < pool->plan->gpus; i++) {
        if (!pool->gpu_taken[i]) return i;
    }
    return -1;
}

/* ---- a worker ------------------------------------------------------------------------------------------ */

static void send_line(int file, const struct text *line)
{
    size_t sent = 0;
    while (sent < line->length) {
        ssize_t step = write(file, line->data + sent, line->length - sent);
        if (step < 0 && errno != EINTR) return;
        if (step > 0) sent += (size_t)step;
    }
}

/* Runs in the child. Its messages would be lost among those of others on the terminal: the result holds
 * them. */
static void work(const struct pool *pool, const struct grade_unit *unit, int gpu, int file, pid_t parent)
{
    struct grade_result result;
    struct text line = {0};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (getppid() != parent || nothing < 0) _exit(EXIT_TROUBLE);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    if (gpu >= 0) choose_gpu(gpu);
    grade_unit_run(pool->plan, unit, &result);
    if (process_interrupted()) _exit(EXIT_TROUBLE);
    grade_result_line(&result, &line);
    text_append(&line, "\n", 1);
    send_line(file, &line);
    _exit(EXIT_PASS);
}

/* 0, or errno. */
static int start(struct pool *pool, struct worker *worker, const struct grade_unit *unit, int gpu)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    fflush(NULL); /* the child must not inherit text that would be printed twice */
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[0]);
        work(pool, unit, gpu, ends[1], parent);
    }
    int error = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return error;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *worker = (struct worker){.pid = child, .pipe = ends[0], .gpu = gpu, .unit = unit};
    if (gpu >= 0) pool->gpu_taken[gpu] = 1;
    return 0;
}

static void make_ungraded(const struct grade_unit *unit, const char *sentence, struct grade_result *result)
{
    *result = (struct grade_result){.student = copy_string(unit->student),
                                    .lesson = grade_unit_name(unit),
                                    .device = unit->device,
                                    .key = copy_string(unit->key),
                                    .state = STATE_NOT_GRADED,
                                    .sentence = copy_string(sentence),
                                    .file = copy_string(""),
                                    .sha256 = copy_string(""),
                                    .model = copy_string(""),
                                    .driver = copy_string(""),
                                    .at = copy_string(""),
                                    .log = copy_string("")};
}

/* The line that @p worker sent, as a result; or a result that says why there is none. */
static void take_line(struct worker *worker, int status, struct grade_result *result)
{
    struct text *line = &worker->line;
    int whole = line->length > 0 && line->data[line->length - 1] == '\n';
    if (whole) line->data[--line->length] = '\0';
    if (whole && grade_result_parse(line->data, result) == 0) return;
    char *why = WIFSIGNALED(status) ? format_string("the process that graded it was ended by signal %d (%s)",
                                                    WTERMSIG(status), strsignal(WTERMSIG(status)))
                                    : copy_string("the process that graded it ended without a result");
    make_ungraded(worker->unit, why, result);
    free(why);
}

/* Reads what is there; 0 at the end. */
static int read_line(struct worker *worker)
{
    char buffer[65536];
    ssize_t got;
    while ((got = read(worker->pipe, buffer, sizeof buffer)) > 0) {
        text_append(&worker->line, buffer, (size_t)got);
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static void retire(struct pool *pool, struct worker *worker, int *status)
{
    *status = 0;
    while (waitpid(worker->pid, status, 0) < 0 && errno == EINTR) continue;
    close(worker->pipe);
    if (worker->gpu >= 0) pool->gpu_taken[worker->gpu] = 0;
    worker->pid = 0;
}

/* ---- the pool ------------------------------------------------------------------------------------------ */

static struct worker *idle_worker(struct pool *pool)
{
    for (int i = 0; i < pool->jobs; i++) {
        if (!pool->worker[i].pid) return &pool->worker[i];
    }
    return NULL;
}

static int busy_workers(const struct pool *pool)
{
    int busy = 0;
    for (int i = 0; i < pool->jobs; i++) busy += pool->worker[i].pid != 0;
    return busy;
}

/* The first unit that can run now: a unit for a GPU waits until a GPU is free, and others overtake it. */
static size_t next_unit(const struct pool *pool, const struct grade_unit *units, size_t count,
                        const char *begun)
{
    int gpu = free_gpu(pool) >= 0;
    for (size_t i = 0; i < count; i++) {
        if (!begun[i] && (units[i].device != DEVICE_GPU || gpu)) return i;
    }
    return count;
}

static void start_what_fits(struct pool *pool, const struct grade_unit *units, size_t count, char *begun)
{
    for (struct worker *worker; (worker = idle_worker(pool)) != NULL;) {
        size_t next = next_unit(pool, units, count, begun);
        if (next == count) return;
        int gpu = units[next].device == DEVICE_GPU ? free_gpu(pool) : -1;
        if (start(pool, worker, &units[next], gpu) != 0) return; /* fork failed: try again later */
        begun[next] = 1;
    }
}

/* Waits for output of the workers; hands the results of those that are done to @p taker. */
static int attend(struct pool *pool, grade_taker taker, void *context)
{
    struct pollfd watched[MOST_JOBS];
    struct worker *of[MOST_JOBS];
    nfds_t count = 0;
    int stop = 0;
    for (int i = 0; i < pool->jobs; i++) {
        if (!pool->worker[i].pid) continue;
        of[count] = &pool->worker[i];
        watched[count++] = (struct pollfd){.fd = pool->worker[i].pipe, .events = POLLIN};
    }
    if (poll(watched, count, LOOK_MS) <= 0) return 0;
    for (nfds_t i = 0; i < count; i++) {
        struct grade_result result;
        int status;
        if (!watched[i].revents || read_line(of[i])) continue;
        retire(pool, of[i], &status);
        if (process_interrupted()) continue;
        take_line(of[i], status, &result);
        stop = taker(context, of[i]->unit, &result) != 0 || stop;
        text_free(&of[i]->line);
    }
    return stop;
}

static void stop_all(struct pool *pool)
{
    int status;
    for (int i = 0; i < pool->jobs; i++) {
        if (pool->worker[i].pid) kill(pool->worker[i].pid, SIGTERM);
    }
    for (int i = 0; i < pool->jobs; i++) {
        if (pool->worker[i].pid) retire(pool, &pool->worker[i], &status);
    }
}

int grade_schedule(const struct grade_plan *plan, const struct grade_unit *units, size_t count,
                   grade_taker taker, void *context)
{
    struct pool pool = {.plan = plan, .jobs = plan->jobs < MOST_JOBS ? plan->jobs : MOST_JOBS};
    char *begun = must_allocate(count);
    int stop = 0;
    while (!stop && !process_interrupted()) {
        start_what_fits(&pool, units, count, begun);
        if (!busy_workers(&pool)) {
            if (next_unit(&pool, units, count, begun) == count) break;
            poll(NULL, 0, LOOK_MS);
            continue;
        }
        stop = attend(&pool, taker, context);
    }
    stop_all(&pool);
    free(begun);
    return stop || process_interrupted() ? EXIT_TROUBLE : EXIT_PASS;
}
