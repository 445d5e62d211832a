/**
 * @file order.c
 * @brief Which operations of different streams are ordered; findings if one uses memory that another may
 *        still be using.
 */
#include <pthread.h>
#include <string.h>

#include "order.h"

enum {
    /* the legacy default stream and the per-thread default stream, for each device */
    OF_DEVICES = 2 * SIMT_MOST_DEVICES,
    USES = 256,
    LAUNCHES = 1024
};

/** A vector clock: the number of operations of each stream. */
struct clock {
    unsigned long of[ORDER_STREAMS];
};
/** An operation, by its stream and its number there. */
struct moment {
    int stream;
    unsigned long at;
};
/** Memory that an operation used, kept until the host has waited for it. */
struct use {
    struct order_use of;
    struct moment when;
    struct simt_site site;
};
struct launched {
    uint32_t number; /* the highest */
    struct moment when;
};

static struct clock known_clocks[ORDER_STREAMS], host;
/* streams that the program made, from index OF_DEVICES on */
static struct CUstream_st *made_streams[ORDER_STREAMS];
static struct use uses[USES];
static size_t use_count;
static struct launched launched[LAUNCHES];
static unsigned long launch_count;
static struct simt_busy busy[USES];
static size_t busy_count;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_off(void)
{
    return simt_device_count() == 1;
}

/* ---- streams and what they know -------------------------------------------------------------------------- */

static int index_of(cudaStream_t stream, int device)
{
    if (stream == NULL || stream == cudaStreamLegacy) return device;
    if (stream == cudaStreamPerThread) return SIMT_MOST_DEVICES + device;
    return stream->order_index;
}

void order_stream_made(struct CUstream_st *stream)
{
    stream->order_index = -1; /* such a stream is not checked, if there are too many */
    if (is_off()) return;
    pthread_mutex_lock(&streams_lock);
    for (int i = OF_DEVICES; i < ORDER_STREAMS && stream->order_index < 0; i++) {
        if (made_streams[i] != NULL) continue;
        made_streams[i] = stream;
        stream->order_index = i;
    }
    pthread_mutex_unlock(&streams_lock);
}

void order_stream_lost(const struct CUstream_st *stream)
{
    if (is_off() || stream->order_index < 0) return;
    pthread_mutex_lock(&streams_lock);
    made_streams[stream->order_index] = NULL; /* the next stream in this place continues the count */
    pthread_mutex_unlock(&streams_lock);
}

static void learn(struct clock *clock, const struct clock *more)
{
    for (int i = 0; i < ORDER_STREAMS; i++)
        if (more->of[i] > clock->of[i]) clock->of[i] = more->of[i];
}

/* Whether stream @p i waits for the legacy default stream of the device, and the reverse. */
static int is_blocking(int i, int device)
{
    if (i == SIMT_MOST_DEVICES + device) return 1;
    return i >= OF_DEVICES && made_streams[i] != NULL && made_streams[i]->device == device &&
           !(made_streams[i]->flags & cudaStreamNonBlocking);
}

/** Begins the next operation of a stream. */
static struct moment step(int stream, int device)
{
    struct clock *clock = &known_clocks[stream];
    learn(clock, &host);
    if (stream == device)
        for (int i = 0; i < ORDER_STREAMS; i++)
            if (is_blocking(i, device)) learn(clock, &known_clocks[i]);
    if (is_blocking(stream, device)) learn(clock, &known_clocks[device]);
    return (struct moment){stream, ++clock->of[stream]};
}

static int is_known(const struct clock *clock, struct moment when)
{
    return clock->of[when.stream] >= when.at;
}

void order_join(cudaStream_t to, int to_device, cudaStream_t from, int from_device)
{
    if (is_off() || index_of(to, to_device) < 0 || index_of(from, from_device) < 0) return;
    pthread_mutex_lock(&streams_lock);
    learn(&known_clocks[index_of(to, to_device)], &known_clocks[index_of(from, from_device)]);
    pthread_mutex_unlock(&streams_lock);
}

/* ---- the host waits -------------------------------------------------------------------------------------- */

/* Operations that the host has waited for can no longer race with any. */
static void host_learns(const struct clock *clock)
{
    size_t kept = 0;
    learn(&host, clock);
    for (size_t i = 0; i < use_count; i++)
        if (!is_known(&host, uses[i].when)) uses[kept++] = uses[i];
    use_count = kept;
}

void order_host_waits(cudaStream_t stream, int device)
{
    if (is_off() || index_of(stream, device) < 0) return;
    pthread_mutex_lock(&streams_lock);
    host_learns(&known_clocks[index_of(stream, device)]);
    pthread_mutex_unlock(&streams_lock);
}

void order_host_waits_event(cudaEvent_t event)
{
    if (is_off()) return;
    struct clock clock;
    pthread_mutex_lock(&streams_lock);
    memcpy(clock.of, event->order, sizeof clock.of);
    host_learns(&clock);
    pthread_mutex_unlock(&streams_lock);
}

void order_host_waits_device(int device)
{
    if (is_off()) return;
    pthread_mutex_lock(&streams_lock);
    host_learns(&known_clocks[device]);
    host_learns(&known_clocks[SIMT_MOST_DEVICES + device]);
    for (int i = OF_DEVICES; i < ORDER_STREAMS; i++)
        if (made_streams[i] != NULL && made_streams[i]->device == device) host_learns(&known_clocks[i]);
    pthread_mutex_unlock(&streams_lock);
}

/* ---- what meets ------------------------------------------------------------------------------------------ */

static const struct clock *asking; /* clock of the stream with the next operation */

/* Launches that are no longer kept count as finished. */
static int launch_is_open(uint32_t number)
{
    const unsigned long first = launch_count > LAUNCHES ? launch_count - LAUNCHES : 0;
    if (launch_count == 0 || number > launched[(launch_count - 1) % LAUNCHES].number) return 0;
    unsigned long low = first, high = launch_count;
    while (low < high) {
        const unsigned long middle = (low + high) / 2;
        if (launched[middle % LAUNCHES].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return (low > first || first == 0) && !is_known(asking, launched[low % LAUNCHES].when);
}

static int overlaps(const struct order_use *a, const struct order_use *b)
{
    const char *start = a->start, *other = b->start;
    return start < other + b->bytes && other < start + a->bytes && (a->written || b->written);
}

static void tell_use(const struct operation *o, const struct order_use *now, const struct use *earlier)
{
    const char *first = now->start > earlier->of.start ? now->start : earlier->of.start;
    simt_finding(RECORD_STREAM_RACE, &o->site, RECORD_SAYS_STREAM_USE,
                 SIMT_SAYS(.name = {o->site.what, earlier->site.what},
                           .number = {now->written, earlier->of.written}, .memory = first, .bytes = 1,
                           .other = &earlier->site));
}

static void tell_touch(const struct operation *o, const struct order_use *now, const struct simt_touch *touch)
{
    simt_finding(RECORD_STREAM_RACE, &o->site, RECORD_SAYS_STREAM_TOUCH,
                 SIMT_SAYS(.name = {o->site.what}, .number = {now->written, touch->access == SIMT_WRITE},
                           .memory = (const char *)now->start + touch->offset, .bytes = 1,
                           .other_pc = touch->pc));
}

/** One finding at most. */
static int meets(const struct operation *o, const struct order_use *now)
{
    struct simt_touch touch;
    for (size_t i = 0; i < use_count; i++) {
        if (is_known(asking, uses[i].when) || !overlaps(now, &uses[i].of)) continue;
        tell_use(o, now, &uses[i]);
        return 1;
    }
    if (!simt_touched_by_open(now->start, now->bytes, now->written, launch_is_open, &touch)) return 0;
    tell_touch(o, now, &touch);
    return 1;
}

static void take_uses(const struct operation *o, const struct order_use *use, size_t count,
                      struct moment when)
{
    int found = 0;
    asking = &known_clocks[when.stream];
    for (size_t i = 0; i < count && !found; i++)
        found = simt_is_device_pointer(use[i].start) && meets(o, &use[i]);
    for (size_t i = 0; i < count; i++) {
        if (!simt_is_device_pointer(use[i].start)) continue;
        if (use_count == USES) memmove(uses, uses + 1, --use_count * sizeof *uses); /* missed, then */
        uses[use_count++] = (struct use){use[i], when, o->site};
    }
}

/* ---- operations ------------------------------------------------------------------------------------------ */

/** Tells the device which memory the kernel must not touch. */
static void arm(struct moment when)
{
    busy_count = 0;
    for (size_t i = 0; i < use_count; i++) {
        const struct order_use *of = &uses[i].of;
        if (is_known(&known_clocks[when.stream], uses[i].when)) continue;
        busy[busy_count++] =
            (struct simt_busy){of->start, (const char *)of->start + of->bytes, of->written, uses[i].site};
    }
    simt_set_busy(busy, busy_count);
}

static size_t copy_uses(const struct copy_operation *c, struct order_use *use)
{
    use[0] = (struct order_use){c->to, (c->rows - 1) * c->to_pitch + c->width, 1};
    use[1] = (struct order_use){c->from, (c->rows - 1) * c->from_pitch + c->width, 0};
    return 2;
}

void order_begin(const struct operation *o)
{
    struct order_use use[2];
    const int stream = is_off() ? -1 : index_of(o->stream, o->device);
    if (stream < 0) return;
    pthread_mutex_lock(&streams_lock);
    const struct moment when = step(stream, o->device);
    switch (o->kind) {
    case OPERATION_LAUNCH:
    case OPERATION_GRAPH:
        arm(when);
        break;
    case OPERATION_COPY:
        take_uses(o, use, copy_uses(&o->as.copy, use), when);
        break;
    case OPERATION_SET:
        use[0] =
            (struct order_use){o->as.set.to, (o->as.set.rows - 1) * o->as.set.pitch + o->as.set.width, 1};
        take_uses(o, use, 1, when);
        break;
    case OPERATION_RECORD:
        memcpy(o->as.event->order, known_clocks[stream].of, sizeof known_clocks[stream].of);
        break;
    case OPERATION_WAIT:
        for (int i = 0; i < ORDER_STREAMS; i++)
            if (o->as.event->order[i] > known_clocks[stream].of[i])
                known_clocks[stream].of[i] = o->as.event->order[i];
        break;
    case OPERATION_HOST_FUNCTION:
        break;
    }
    pthread_mutex_unlock(&streams_lock);
}

void order_end(const struct operation *o)
{
    const int stream = is_off() ? -1 : index_of(o->stream, o->device);
    if (stream < 0 || (o->kind != OPERATION_LAUNCH && o->kind != OPERATION_GRAPH)) return;
    pthread_mutex_lock(&streams_lock);
    launched[launch_count++ % LAUNCHES] =
        (struct launched){simt_launch_number(), {stream, known_clocks[stream].of[stream]}};
    simt_set_busy(NULL, 0);
    busy_count = 0;
    pthread_mutex_unlock(&streams_lock);
}

void order_call(const struct operation *o, const struct order_use *use, size_t count)
{
    const int stream = is_off() ? -1 : index_of(o->stream, o->device);
    if (stream < 0) return;
    pthread_mutex_lock(&streams_lock);
    take_uses(o, use, count, step(stream, o->device));
    pthread_mutex_unlock(&streams_lock);
}
