/**
 * @file session.c
 * @brief Lays out the image, fills it, and runs its cases in runners.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/process.h"
#include "checker/promises/promises.h"
#include "phases.h"
#include "simt/findings.h"
#include "turns.h"

enum {
    GUARD_BYTES = 4096, /* size of each guard zone on a GPU */
    WARM_UP = 5,
    TURN_BYTES = 128, /* a line of L1: rotating by it changes the alignment of no access */
    END_SECONDS = 10,
    DEATHS_BEFORE_READY = 3, /* after this many, no more runners are started */
    /* per part; after that its other cases are skipped: each would take the whole time limit */
    LATE_CASES = 2,
    GREEDY_CASES = 2, /* per part likewise: filling all memory takes seconds */
    KILLED_MOST = 2,  /* runners killed from outside that are replaced */
    PROCESSES = 512   /* threads, nearly all of them the GPU driver's */
};

/* In images of this size and more, faults on pages of 4 KB would cost more than the work on them. */
#define LARGE_IMAGE_BYTES (UINT64_C(16) << 20)
/* Room for findings and counters, far from enough to fill a disk. */
#define FILE_BYTES (UINT64_C(64) << 20)
/* Bytes written between timed calls: twice the largest L2 there is. */
#define FLUSH_BYTES (UINT64_C(256) << 20)
/* Host memory that a runner may use beyond what its cases need: CUDA itself takes a lot. */
#define GPU_HOST_BYTES (UINT64_C(8) << 30)
#define SIMT_HOST_BYTES (UINT64_C(2) << 30)
/* CPU seconds after which the software device begins to check whether a case is endless; a single block
 * counts as endless after three quarters of that time more. The limit is many times what the solutions
 * need: the slowest take 2e-6 s per operation, and most a tenth of that. */
#define PATIENCE_SECONDS 3.0
#define PATIENCE_PER_FLOP 20e-6
/* As many times that where only some parts of a problem are computed and compared: a kernel of few blocks goes through the rest. */
#define PATIENCE_IN_PARTS 4.0
/* Between two looks at how much of the clock other programs had. */
#define CLOCK_LOOK_SECONDS 0.25
/* The device stops a case before the wall-clock limit is over; after that the runner is killed. */
#define PATIENCE_SHARE 0.45

static int has_contents(enum wire_role role)
{
    return role == WIRE_IN || role == WIRE_INOUT;
}

static uint64_t buffer_bytes(const struct item *item, int buffer)
{
    return lesson_bytes(&item->buffer[buffer]);
}

uint64_t session_guard_bytes(const struct session *session)
{
    return session->check->options.device == DEVICE_GPU ? GUARD_BYTES : 0;
}

static int keeps_workspace(const struct session *session)
{
    return session->check->options.dump;
}

/* Copies that come back: inputs once, outputs after each run, and after the timing loop. */
static int copies_of(const struct session *session, enum wire_role role)
{
    if (role == WIRE_IN) return 1;
    return session->timed > 0 ? WIRE_RUNS : 2;
}

static uint64_t copy_bytes(const struct session *session, const struct item *item, int buffer)
{
    enum wire_role role = item->buffer[buffer].role;
    int contents = role != WIRE_WORKSPACE || keeps_workspace(session);
    return wire_round((contents ? buffer_bytes(item, buffer) : 0) + 2 * session_guard_bytes(session));
}

uint64_t session_item_bytes(const struct session *session, const struct item *item)
{
    uint64_t bytes = wire_round(sizeof(struct wire_case));
    for (int i = 0; i < item->buffer_count; i++) {
        enum wire_role role = item->buffer[i].role;
        if (has_contents(role)) bytes += wire_round(buffer_bytes(item, i));
        bytes += (uint64_t)copies_of(session, role) * copy_bytes(session, item, i);
    }
    return bytes;
}

struct wire_case *session_case(const struct session *session, int index)
{
    return wire_case_at(session->header, (uint32_t)index);
}

/** An input while it is copied into the image. */
struct storing {
    enum storage storage;
    unsigned char *image;
    float *data;
};

/* NaN goes in as GPUs make it, with all bits of its fraction set: whoever rounds by bits must look for it. */
static void store_piece(void *context, size_t first, size_t last)
{
    const struct storing *storing = context;
    const float nan = nanf("0x3FFFFF");
    for (size_t i = first; i < last; i++) storing->data[i] = isnan(storing->data[i]) ? nan : storing->data[i];
    storage_put_all(storing->storage, storing->image + first * storage_bytes(storing->storage),
                    storing->data + first, last - first);
}

/* Writes every input as the kernel is to receive it. */
static void store_input(struct session *session, struct item *item, int buffer, void *to)
{
    const struct lesson *lesson = session->check->options.lesson;
    struct rng rng = {rng_mix(item->settled.seed, (uint64_t)buffer + 1)};
    size_t elems = lesson_elems(&item->buffer[buffer]);
    float *data = parallel_memory(elems * sizeof *data);
    if (data == NULL) {
        snprintf(session->check->broken, sizeof session->check->broken, "no memory for the inputs");
        return;
    }
    lesson->fill(&item->settled, buffer, elems, &rng, data);
    promises_fill(lesson, &item->settled, item->buffer, item->buffer_count, buffer, data);
    struct storing storing = {item->buffer[buffer].storage, to, data};
    parallel_for(elems, 1 << 18, store_piece, &storing);
    item->input[buffer] = data;
}

/* In the first of two calls outputs hold NaN, in the second numbers. A single call in numerics finds
 * numbers: with NaN, an element that should be NaN would be right even if the kernel never wrote it. */
uint32_t session_poison(const struct item *item, int buffer, int run)
{
    const int is_number = item->one_call && item->settled.group == GROUP_NUMERICS &&
                          item->buffer[buffer].role != WIRE_WORKSPACE;
    return storage_poison(item->buffer[buffer].storage, item->one_call ? is_number : run,
                          item->poison_secret);
}

static void choose_secrets(struct item *item)
{
    for (int i = 0; i < 2; i++) item->nonce[i] = rng_unforeseen();
    item->poison_secret = rng_unforeseen();
    item->guard_seed = rng_unforeseen();
}

/*
 * Memory that is aligned better than the contract asks hides kernels that rely on it. The cases of the groups
 * basic and edges are well aligned, so that the fastest paths meet every edge. Of the items of numerics and
 * properties, a quarter have well aligned buffers; in half of them no buffer is well aligned, and in a
 * quarter all but one. The name of the case decides which, so that a case is the same whatever else runs.
 * Where the same bits are promised at any alignment, the first run is always well aligned and the second one
 * is not.
 */
static int is_barely_aligned(const struct item *item, int index, int always)
{
    uint64_t choice = rng_mix(rng_mix_text(0, item->settled.name), (uint64_t)item->item_index);
    uint64_t one = choice / 4 % (uint64_t)item->buffer_count;
    int group = (int)item->settled.group;
    if (!always && (choice % 4 == 0 || group == GROUP_BASIC || group == GROUP_EDGES)) return 0;
    return choice % 4 < 3 || one == (uint64_t)index;
}

/* An odd multiple of what the contract asks for, or of a larger power of two: a kernel that checks for 16
 * bytes and uses 32 shows only at 16. */
static uint64_t barely_aligned_lead(const struct item *item, int index)
{
    uint64_t align = lesson_align(&item->buffer[index]), classes = 1;
    uint64_t choice =
        rng_mix(rng_mix_text(1, item->settled.name), (uint64_t)(item->item_index * WIRE_BUFFERS + index));
    if (align >= WIRE_ALIGNMENT / 2) return 0;
    while (align << classes <= WIRE_ALIGNMENT / 4) classes++;
    align <<= choice % classes;
    return align * (1 + choice / 64 % 4 * 2);
}

/* 1 if the case itself fixes where its buffers begin, or needs so much memory that none may be added. */
static int says_where(const struct lesson_case *settled)
{
    int says = settled->misaligned_buffer >= 0 || (settled->flags & (CASE_LAUNCH_ONLY | CASE_SAME_ADDRESSES));
    for (int i = 0; i < LESSON_STARTS; i++) says |= settled->start[i] != 0;
    for (int i = 0; i < WIRE_BUFFERS; i++) says |= settled->apart[i] != 0;
    return says;
}

static uint64_t lead_of(const struct session *session, const struct item *item, int index, int run)
{
    const struct lesson_case *settled = &item->settled, *from = &session->check->cases[item->case_index];
    int anywhere = session->check->options.lesson->same_bits_anywhere;
    uint64_t misalignment = settled->misaligned_buffer == index ? (uint64_t)settled->misalignment : 0;
    if (index < LESSON_STARTS)
        misalignment += (uint64_t)settled->start[index] * storage_bytes(item->buffer[index].storage);
    /* Measured calls get the best alignment; calls that must be refused have no second reason for it. */
    if (says_where(settled) || settled->expected != KERNEL_OK || settled->group == GROUP_SPEED ||
        session->timed > 0 || session->counters != NULL)
        return misalignment;
    if (anywhere ? run == 0 : (from->flags & CASE_SAME_BITS) != 0) return 0;
    return is_barely_aligned(item, index, anywhere) ? barely_aligned_lead(item, index) : 0;
}

/* The inputs of each timed call differ from those of all calls before, without a copy: the call gets
 * another start in a buffer that holds the contents once and a part of them again. This rotation also
 * moves where rows begin, so that no result is a part of another one. */
uint64_t session_turn(const struct session *session, const struct item *item, int index)
{
    const struct lesson_buffer *buffer = &item->buffer[index];
    const char *names = session->check->options.lesson->turns;
    const size_t length = strlen(buffer->name), row = buffer->row;
    int named = 0;
    for (const char *at = names; at != NULL && *at != '\0' && !named;
         at += strcspn(at, " "), at += *at == ' ')
        named = strcspn(at, " ") == length && strncmp(at, buffer->name, length) == 0;
    if (!named || buffer->role != WIRE_IN || item->settled.group != GROUP_SPEED || session->timed == 0)
        return 0;
    if (row != 0 && row != buffer->extent[buffer->rank - 1])
        return 0; /* elements between rows are not part of the input */
    if (says_where(&item->settled) || item->settled.null_buffer == index) return 0;
    return lesson_bytes(buffer) > TURN_BYTES ? TURN_BYTES : 0;
}

uint64_t session_others_below(const struct session *session, const struct item *item, int index)
{
    const struct lesson *lesson = session->check->options.lesson;
    if (lesson->others_below == NULL || item->settled.group != GROUP_SPEED || session->timed == 0) return 0;
    if (item->settled.null_buffer == index || item->buffer[index].role != WIRE_IN) return 0;
    return lesson->others_below(&item->settled, index);
}

/* Sets the distance of the buffer's rows on the device. */
static void place_rows(const struct item *item, int index, struct wire_buffer *buffer)
{
    const struct lesson_buffer *from = &item->buffer[index];
    uint64_t elem_bytes = storage_bytes(from->storage);
    if (item->settled.apart[index] == 0) return;
    buffer->row_bytes = from->extent[from->rank - 1] * elem_bytes;
    if (item->settled.parts.total > 0) {
        const struct wire_parts *parts = &item->settled.parts;
        const uint64_t number = (parts->total - parts->each) / parts->step + 1;
        uint32_t axis = 0;
        while (from->extent[axis] == 1) axis++;
        buffer->row_bytes = buffer->bytes / number;
        buffer->extent[axis] = parts->total * (from->extent[axis] / number) / parts->each;
    }
    buffer->pitch = (uint64_t)item->settled.apart[index] * elem_bytes;
}

static void lay_out_buffer(struct session *session, struct item *item, struct wire_case *wire, int index,
                           uint64_t *at)
{
    enum wire_role role = item->buffer[index].role;
    struct wire_buffer *buffer = &wire->buffer[index];
    *buffer = (struct wire_buffer){
        .role = role, .null = item->settled.null_buffer == index, .bytes = buffer_bytes(item, index)};
    snprintf(buffer->name, sizeof buffer->name, "%s", item->buffer[index].name);
    const struct lesson_buffer *described = &item->buffer[index];
    buffer->rank = role == WIRE_WORKSPACE ? 0 : (uint32_t)described->rank;
    buffer->elem_bytes = role == WIRE_WORKSPACE ? 1 : (uint32_t)storage_bytes(described->storage);
    for (uint32_t axis = 0; axis < buffer->rank; axis++) buffer->extent[axis] = described->extent[axis];
    if (described->row > 0) {
        buffer->own_row = described->row * storage_bytes(described->storage);
        buffer->row_stride = described->extent[described->rank - 1] * storage_bytes(described->storage);
    }
    for (int run = 0; run < 2; run++) buffer->lead[run] = lead_of(session, item, index, run);
    if (buffer->lead[0] != buffer->lead[1]) wire->flags |= WIRE_TWO_PLACES;
    place_rows(item, index, buffer);
    buffer->turn = session_turn(session, item, index);
    buffer->below = session_others_below(session, item, index);
    for (int run = 0; run < 2; run++) buffer->poison[run] = session_poison(item, index, run);
    if (has_contents(role)) {
        if (!(item->settled.unread >> index & 1)) buffer->contents = *at;
        store_input(session, item, index, (unsigned char *)session->header + *at);
        *at += wire_round(buffer->bytes);
    }
    item->copies[index] = *at;
    for (int copy = 0; copy < copies_of(session, role); copy++) {
        buffer->copy[copy] = *at;
        *at += copy_bytes(session, item, index);
    }
}

static double patience_with(const struct session *session, const struct item *item)
{
    const struct options *options = &session->check->options;
    struct lesson_cost cost = {0};
    double most = PATIENCE_SHARE * options->time_limit;
    if (options->more_time) return most;
    if (item->settled.expected == KERNEL_OK && !(item->settled.flags & CASE_ASK_ONLY))
        options->lesson->cost(&item->settled, &cost);
    double seconds = PATIENCE_SECONDS + PATIENCE_PER_FLOP * cost.flop;
    if (item->settled.parts.total > 0) seconds *= PATIENCE_IN_PARTS;
    return seconds < most ? seconds : most;
}

static int takes_turns(const struct session *session)
{
    return session->timed > 0 && turns_are_taken(session->check);
}

static void lay_out(struct session *session, int index, uint64_t *at)
{
    struct item *item = &session->item[index];
    struct wire_case *wire = session_case(session, index);
    choose_secrets(item);
    wire->part = (uint32_t)item->settled.part;
    memcpy(wire->value, item->settled.value, sizeof wire->value);
    memcpy(wire->real, item->settled.real, sizeof wire->real);
    memcpy(wire->nonce, item->nonce, sizeof wire->nonce);
    wire->guard_bytes = session_guard_bytes(session);
    wire->guard_seed = item->guard_seed;
    wire->flags |= item->settled.flags & CASE_SHARED_FLAGS;
    wire->workspace_more = item->settled.workspace_more;
    wire->parts = item->settled.parts;
    wire->capability = (uint32_t)item->settled.capability;
    if (keeps_workspace(session)) wire->flags |= WIRE_KEEP_WORKSPACE;
    if (item->one_call) wire->flags |= CASE_ONE_CALL;
    /* The software device detects reads of a workspace that was never written; poison would hide them. */
    wire->poison_workspace = session->check->options.device == DEVICE_GPU || keeps_workspace(session);
    if (takes_turns(session)) wire->flags |= WIRE_TAKES_TURNS;
    if (session->timed > 0) {
        wire->warm_up = WARM_UP;
        wire->timed = (uint32_t)session->timed;
        wire->flush_bytes = session->check->options.device == DEVICE_GPU ? FLUSH_BYTES : 0;
    }
    wire->patience = patience_with(session, item);
    wire->buffer_count = (uint32_t)item->buffer_count;
    const uint64_t begin = phases_now();
    for (int i = 0; i < item->buffer_count; i++) lay_out_buffer(session, item, wire, i, at);
    phases_add(session->check, item, PHASE_INPUTS, begin);
}

static int broken(struct session *session, const char *what)
{
    snprintf(session->check->broken, sizeof session->check->broken, "%s: %s", what, strerror(errno));
    return -1;
}

static struct child_start start_of(const struct session *session)
{
    const struct options *options = &session->check->options;
    int gpu = options->device == DEVICE_GPU;
    uint64_t own = gpu ? GPU_HOST_BYTES : SIMT_HOST_BYTES;
    unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    const int items = session->kept != NULL ? session->kept->items : session->count;
    double seconds = options->time_limit * (double)(items + 1) * (double)(cores + 3);
    return (struct child_start){.path = options->runner,
                                .image = session->image,
                                .counters = session->counters,
                                .gpu = gpu,
                                .network = options->lesson->network,
                                .isolation = options->isolated ? SANDBOX_ISOLATED : SANDBOX_LIMITED,
                                .limits = {.cpu_seconds = seconds,
                                           .resident_bytes = own + 4 * session->bytes,
                                           .file_bytes = FILE_BYTES,
                                           .processes = PROCESSES + 2 * cores}};
}

/* It opens its device while the inputs are made. */
static void start_ahead(const struct session *session)
{
    struct kept_runner *kept = session->kept;
    struct child_start start = start_of(session);
    if (kept->state != KEPT_NONE) return;
    turns_share(session->check);
    if (child_start(&kept->child, &start) == 0) kept->state = KEPT_STARTING;
}

/* A memory file of @p bytes, mapped. The size is sealed: otherwise a runner could shorten the file and so kill the checker with
 * SIGBUS. */
static int make_image(struct session *session, size_t bytes)
{
    session->image = memfd_create("warpwise", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (session->image < 0) return broken(session, "no memory file for the inputs");
    if (ftruncate(session->image, (off_t)bytes) != 0 ||
        fcntl(session->image, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return broken(session, "no memory for the inputs");
    void *image = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session->image, 0);
    if (image == MAP_FAILED) return broken(session, "no memory for the inputs");
    if (bytes >= LARGE_IMAGE_BYTES) (void)madvise(image, bytes, MADV_HUGEPAGE);
    session->header = image;
    session->bytes = bytes;
    return 0;
}

/* The cases hold zeros again, as in a new image. What the runner has said about its device stays, and so do pages that were written
 * to, which the system would have to clear anew: copies of the last session are none of this one, whose guard zones differ. */
static int take_kept_image(struct session *session)
{
    struct kept_runner *kept = session->kept;
    if (kept->image < 0) {
        if (make_image(session, kept->bytes) != 0) return -1;
        kept->image = session->image;
        kept->header = session->header;
    }
    session->image = kept->image;
    session->header = kept->header;
    session->bytes = kept->bytes;
    memset(session_case(session, 0), 0, (size_t)session->count * wire_round(sizeof(struct wire_case)));
    return 0;
}

size_t session_image_bytes(const struct session *session)
{
    uint64_t bytes = wire_round(sizeof(struct wire_header));
    for (int i = 0; i < session->count; i++) bytes += session_item_bytes(session, &session->item[i]);
    bytes = (bytes + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE;
    return bytes + sizeof(struct wire_records);
}

int session_open(struct session *session)
{
    uint64_t at = wire_round(sizeof(struct wire_header)) +
                  (uint64_t)session->count * wire_round(sizeof(struct wire_case));
    const size_t bytes = session_image_bytes(session);
    if (session->kept != NULL && bytes > session->kept->bytes) session->kept = NULL;
    if ((session->kept != NULL ? take_kept_image(session) : make_image(session, bytes)) != 0) return -1;
    session->records = (session->bytes - sizeof(struct wire_records)) / WIRE_PAGE * WIRE_PAGE;
    session->header->magic = WIRE_MAGIC;
    session->header->image_bytes = session->bytes;
    session->header->records = session->records;
    session->header->sleeps =
        session->check->options.device == DEVICE_GPU && session->timed == 0 && !session->check->options.bench;
    session->header->case_count = (uint32_t)session->count;
    if (session->kept != NULL) start_ahead(session);
    for (int i = 0; i < session->count; i++) lay_out(session, i, &at);
    return 0;
}

void session_close(struct session *session)
{
    const int own = session->kept == NULL;
    if (own && session->header != NULL) munmap(session->header, session->bytes);
    if (own && session->image >= 0) close(session->image);
    session->header = NULL;
    session->image = -1;
    for (int i = 0; i < session->count; i++)
        for (int b = 0; b < WIRE_BUFFERS; b++) {
            free(session->item[i].input[b]);
            session->item[i].input[b] = NULL;
        }
}

int session_save(const struct session *session, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return -1;
    size_t written = fwrite(session->header, 1, session->bytes, file);
    return fclose(file) == 0 && written == session->bytes ? 0 : -1;
}

const void *session_copy(const struct session *session, int index, int buffer, int run)
{
    const struct item *item = &session->item[index];
    /* Uses the checker's own copy: the runner may have changed the offsets in the image. */
    return (const unsigned char *)session->header + item->copies[buffer] +
           (uint64_t)run * copy_bytes(session, item, buffer) + session_guard_bytes(session);
}

/* ---- leading the runners --------------------------------------------------------------------------------- */

static struct wire_records *records_of(const struct session *session)
{
    return (struct wire_records *)((unsigned char *)session->header + session->records);
}

/* A kernel is launched twice, and the software device finds the same twice: records already known are
 * dropped. */
static void keep_record(struct item *item, const struct record *record)
{
    for (int i = 0; i < item->record_count; i++)
        if (record_reads_the_same(&item->record[i], record)) return;
    if (item->record_count < ITEM_RECORDS) item->record[item->record_count++] = *record;
}

/* Takes what the runner has found since the last time. The runner may write meanwhile, so this works on a
 * copy. */
static void take_records(struct session *session, struct item *item)
{
    struct wire_records *found = records_of(session);
    uint32_t count = __atomic_load_n(&found->count, __ATOMIC_ACQUIRE);
    if (count > WIRE_RECORDS) count = WIRE_RECORDS;
    for (; session->taken < count; session->taken++) {
        struct record copy = found->record[session->taken];
        if (copy.stamp == 0 || !record_is_sound(&copy)) continue;
        item->finding = 1;
        keep_record(item, &copy);
    }
}

/* Before the next case: existing records no longer count. */
static void forget_records(struct session *session)
{
    struct wire_records *found = records_of(session);
    for (uint32_t i = 0; i < found->count && i < WIRE_RECORDS; i++) found->record[i].stamp = 0;
    __atomic_store_n(&found->count, 0, __ATOMIC_RELEASE);
    session->taken = 0;
}

static void keep_text(struct item *item, const char *text)
{
    snprintf(item->text, sizeof item->text, "%.*s", ITEM_TEXT - 1, text);
}

static void note_device(struct session *session)
{
    struct check *check = session->check;
    const struct wire_header *header = session->header;
    snprintf(check->device_name, sizeof check->device_name, "%.*s", (int)sizeof header->device - 1,
             header->device);
    check->threads_per_sm = header->threads_per_sm;
    check->multiprocessors = header->multiprocessors;
}

/* 1 if the GPU lacks what the lesson needs: then there is no device for this lesson, and no kernel is at
 * fault. */
static int lacks_what_is_needed(const struct session *session)
{
    struct check *check = session->check;
    int least = check->options.lesson->least_architecture, last = check->options.lesson->last_architecture;
    int capability = (int)session->header->compute_capability;
    if (check->options.device != DEVICE_GPU || capability == 0) return 0;
    if (capability >= least && (last == 0 || capability <= last)) return 0;
    size_t used = strlen(check->device_name), room = sizeof check->device_name - used;
    snprintf(check->device_name + used, room, ", an sm_%d: this lesson needs sm_%d%s", capability, least,
             last == 0 ? " or later" : ", and later ones have other instructions");
    return 1;
}

/* In isolation the sandbox itself may keep the driver from its device: a grader has to know which. */
static void explain_absence(struct check *check)
{
    if (!check->options.isolated || check->options.device != DEVICE_GPU) return;
    size_t used = strlen(check->device_name), room = sizeof check->device_name - used;
    snprintf(check->device_name + used, room,
             "; in isolation: %s. Is it there without --submission? See "
             "WARPWISE_SANDBOX_WITHOUT in docs/security.md",
             sandbox_describe("/usr"));
}

static enum item_end end_of(enum child_event event)
{
    switch (event) {
    case CHILD_REPLY:
        return ITEM_ANSWERED;
    case CHILD_LATE:
        return ITEM_LATE;
    case CHILD_GREEDY:
        return ITEM_GREEDY;
    default:
        return ITEM_CRASHED;
    }
}

/* Until it is this worker's turn on the device; seconds that took. */
static double await_turn(struct session *session, const struct item *item, void (*turn)(struct check *check))
{
    const uint64_t begin = phases_now();
    turn(session->check);
    phases_add(session->check, item, PHASE_WAIT, begin);
    return (double)(phases_now() - begin) * 1e-9;
}

/* Has the case timed when it is its turn; @p waited grows by the seconds until then. */
static enum child_event await_timing(struct session *session, struct child *child, int index, double *waited)
{
    const double limit = session->check->options.time_limit;
    enum child_event event = child_await(child, WIRE_WAITS, (uint32_t)index, limit);
    if (event != CHILD_REPLY) return event;
    *waited += await_turn(session, &session->item[index], turns_alone);
    child_send(child, WIRE_TURN, (uint32_t)index);
    event = child_await(child, WIRE_TURN_OVER, (uint32_t)index, limit);
    turns_share(session->check);
    return event;
}

/* Runs one item in a running runner; 1 if the runner can go on with the next. One that cannot still uses the device, until it ends. */
static int run_item(struct session *session, struct child *child, int index)
{
    struct item *item = &session->item[index];
    size_t text_before = child->box.text_used;
    double waited = await_turn(session, item, turns_share), begin = monotonic_seconds() - waited;
    enum child_event event = CHILD_REPLY;
    forget_records(session);
    child_send(child, WIRE_RUN, (uint32_t)index);
    if (takes_turns(session)) event = await_timing(session, child, index, &waited);
    if (event == CHILD_REPLY)
        event = child_await(child, WIRE_DONE, (uint32_t)index, session->check->options.time_limit);
    if (event == CHILD_REPLY) turns_end(session->check);
    item->host_seconds = monotonic_seconds() - begin - waited;
    phases_add_runner(session->check, item, &session_case(session, index)->result, item->host_seconds);
    item->end = end_of(event);
    child->box.text[child->box.text_used] = '\0';
    take_records(session, item);
    keep_text(item, child->box.text + text_before);
    int going = event == CHILD_REPLY && session_case(session, index)->result.cuda_error == 0;
    if (going && session->on_answer != NULL) {
        item->judged = 1;
        going = session->on_answer(session, index);
    }
    return going;
}

/* How long the check has taken, less what this worker and its runners waited for a processor that others had. */
static double seconds_taken(const struct check *check)
{
    static struct sandbox_clock watch;
    static double before, taken;
    if (watch.process != getpid()) {
        sandbox_clock_start_here(&watch);
        before = watch.begin - check->begin;
        taken = 0;
    }
    if (monotonic_seconds() - watch.looked > CLOCK_LOOK_SECONDS) taken = sandbox_clock_look(&watch);
    return before + taken;
}

/* What a process has waited for is not known any more when it has ended: so the clock is read before. */
static void end_child(struct check *check, struct child *child, double seconds)
{
    seconds_taken(check);
    turns_share(check);
    child_end(child, seconds);
    turns_end(check);
}

static int findings_known(const struct session *session, int first, int last)
{
    for (int i = first; i <= last; i++)
        if (session->item[i].finding || session_case(session, i)->result.findings > 0) return 1;
    return 0;
}

/* What the runner reported at its end, such as a leak, counts for the last item it worked on. */
static void close_runner(struct session *session, struct child *child, int first, int last)
{
    struct item *item = &session->item[last];
    end_child(session->check, child, item->end == ITEM_ANSWERED ? END_SECONDS : 0.0);
    item->exit_code = child->box.exit_code;
    item->signal = child->box.signal;
    /* Either the software device has stopped the item and said where it was, or our CPU limit has: treat
     * both as late. */
    if (item->end == ITEM_CRASHED && (item->exit_code == SIMT_EXIT_ENDLESS || item->signal == SIGXCPU))
        item->end = ITEM_LATE;
    if (item->end == ITEM_CRASHED && item->text[0] == '\0') keep_text(item, child->box.text);
    if (item->end == ITEM_ANSWERED && child->box.exit_code == SIMT_EXIT_FINDINGS &&
        !findings_known(session, first, last)) {
        take_records(session, item);
        keep_text(item, child->box.text + child->text_at_end);
        item->finding = 1;
        item->judged = 0;
    }
}

/* 1 if the item is skipped: its part, or the whole check, has used up its time. */
static int leave_out(struct session *session, int index)
{
    struct check *check = session->check;
    struct item *item = &session->item[index];
    double limit = check->options.total_limit;
    if (limit > 0.0 && seconds_taken(check) > limit) check->overdue = 1;
    const int greedy = check->greedy[item->settled.part] >= GREEDY_CASES;
    if (!check->overdue && !greedy && check->late[item->settled.part] < LATE_CASES) return 0;
    item->end = greedy && !check->overdue ? ITEM_GREEDY : ITEM_LATE;
    return 1;
}

/* Starts a runner, unless it is starting, and waits until it has its device. 0; -1 if it reaches no item: *@p next is then the first
 * that it did not. */
static int await_runner(struct session *session, struct child *child, int first, int *next)
{
    struct kept_runner *kept = session->kept;
    struct child_start start = start_of(session);
    const uint64_t begin = phases_now();
    const struct options *options = &session->check->options;
    const int started = kept != NULL && kept->state == KEPT_STARTING;
    *next = session->count;
    if (kept != NULL) kept->state = KEPT_NONE;
    turns_share(session->check);
    if (!started && child_start(child, &start) != 0) {
        broken(session, "the runner cannot be started");
        return -1;
    }
    enum child_event event = child_await(child, WIRE_READY, 0, options->time_limit);
    phases_add(session->check, &session->item[first], PHASE_START, begin);
    if (event == CHILD_REPLY) turns_end(session->check);
    if (event != CHILD_REPLY) {
        session->item[first].end = end_of(event);
        close_runner(session, child, first, first);
        *next = first;
        return -1;
    }
    note_device(session);
    if (session->header->no_device) explain_absence(session->check);
    if (!session->header->no_device && !lacks_what_is_needed(session)) return 0;
    session->header->no_device = 1;
    end_child(session->check, child, END_SECONDS);
    return -1;
}

/* Runs items from `first` on with one runner; returns the first item that it did not reach. A runner that
 * was never ready reaches none. */
static int run_with_one(struct session *session, struct child *child, int first)
{
    struct kept_runner *kept = session->kept;
    int next = first, last = first, going = 1;
    if (kept == NULL || kept->state != KEPT_READY) {
        if (await_runner(session, child, first, &next) != 0) return next;
        next = first;
    }
    for (; going && next < session->count; next++) {
        if (leave_out(session, next)) continue;
        last = next;
        going = run_item(session, child, next);
    }
    child->text_at_end = child->box.text_used;
    if (kept != NULL) kept->state = going ? KEPT_READY : KEPT_NONE;
    if (kept == NULL || !going) close_runner(session, child, first, last);
    child->box.text_used = 0;
    return last + 1;
}

void session_end_kept(struct check *check, struct kept_runner *kept)
{
    if (kept->state != KEPT_NONE) end_child(check, &kept->child, END_SECONDS);
    if (kept->header != NULL) munmap(kept->header, kept->bytes);
    if (kept->image >= 0) close(kept->image);
    kept->state = KEPT_NONE;
    kept->header = NULL;
    kept->image = -1;
}

/* Items that are skipped get the same end as `fate`. */
static void give_up(struct session *session, int next, const struct item *fate)
{
    for (; next < session->count; next++) {
        struct item *item = &session->item[next];
        item->end = fate->end;
        item->exit_code = fate->exit_code;
        item->signal = fate->signal;
        memcpy(item->text, fate->text, sizeof item->text);
        item->finding = fate->finding;
        item->record_count = fate->record_count;
        memcpy(item->record, fate->record, sizeof item->record);
    }
}

/* Our own limits end a runner in other ways: through the keeper, which says so, or with SIGXCPU. So a
 * SIGKILL, or a keeper that is gone, comes from outside: an administrator, or a machine out of memory. The
 * kernel is not to blame. */
static int killed_by_others(const struct item *item)
{
    return item->end == ITEM_CRASHED &&
           (item->signal == SIGKILL || (item->signal == 0 && item->exit_code < 0));
}

/* 1 if the item is to be tried again. After too many such deaths there is no verdict. */
static int try_again(struct session *session, int index)
{
    struct check *check = session->check;
    struct item *item = &session->item[index];
    if (!killed_by_others(item)) return 0;
    if (check->killed++ < KILLED_MOST) {
        nanosleep(&(struct timespec){0, 300000000}, NULL); /* memory may be free again by then */
        item->end = ITEM_NOT_RUN;
        item->signal = 0;
        item->text[0] = '\0';
        item->finding = item->record_count = 0;
        memset(&session_case(session, index)->result, 0, sizeof session_case(session, index)->result);
        return 1;
    }
    snprintf(
        check->broken, sizeof check->broken,
        "the runner was killed %d times by something outside this check (out of memory?), last in case %s",
        check->killed, item->settled.name);
    return 0;
}

/* Each runner that dies before it is ready costs one item; after a few such deaths none is started any
 * more. */
void session_run(struct session *session)
{
    struct child *own = session->kept == NULL ? malloc(sizeof *own) : NULL;
    struct child *child = session->kept == NULL ? own : &session->kept->child;
    struct check *check = session->check;
    int next = 0, deaths = 0;
    while (child != NULL && next < session->count && check->broken[0] == '\0') {
        if (leave_out(session, next)) {
            next++;
            continue;
        }
        int reached = run_with_one(session, child, next), ready = reached > next;
        int at = ready ? reached - 1 : next;
        const struct item *last = &session->item[at];
        next = at + 1;
        if (try_again(session, at)) {
            next = at;
            continue;
        }
        if (session->on_answer != NULL) break; /* either all items are judged, or one is wrong */
        check->late[last->settled.part] += last->end == ITEM_LATE;
        check->greedy[last->settled.part] += last->end == ITEM_GREEDY;
        deaths += !ready;
        if (deaths < DEATHS_BEFORE_READY && (ready || last->end != ITEM_LATE)) continue;
        give_up(session, next, last);
        next = session->count;
    }
    free(own);
}
