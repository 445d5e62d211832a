/**
 * @file remember.c
 * @brief Keeps the oracle's answers in files: a header, where each piece lies, and for each piece its spans
 *        one after the other.
 */
#include "remember.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"

#define MAGIC UINT64_C(0x31726577736e6157) /* changes whenever the layout of the file does */
/* Writing and reading even a tiny file takes about as long as this many operations of the oracle. */
#define WORTH_OPS 1e6
#define MOST_REMEMBERED_BYTES ((double)(256 << 20))

struct head {
    uint64_t magic, key, pieces, bytes;
};

/** One span; expected, bound, plain and floor follow it, each `count` long. */
struct kept_span {
    uint64_t buffer, first, count, columns, pitch;
};

enum { ARRAYS = 5 };

static uint64_t mix_bytes(uint64_t key, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes >= sizeof(uint64_t); at += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        key = rng_mix(key, word);
    }
    for (; bytes > 0; bytes--) key = rng_mix(key, *at++);
    return key;
}

/* A hash of this program's bytes; 0 if it cannot be read. */
static uint64_t fingerprint(void)
{
    static uint64_t known;
    unsigned char block[1 << 16];
    size_t count;
    FILE *file = known == 0 ? fopen("/proc/self/exe", "rbe") : NULL;
    if (file == NULL) return known;
    uint64_t key = MAGIC;
    while ((count = fread(block, 1, sizeof block, file)) > 0) key = mix_bytes(key, block, count);
    if (!ferror(file)) known = key;
    fclose(file);
    return known;
}

/* Hashes field by field: padding between fields may hold anything. */
static uint64_t key_of(const struct lesson *lesson, const struct item *item)
{
    const struct lesson_case *c = &item->settled;
    const int numbers[] = {lesson->number,       item->item_index, (int)c->group,     c->part,
                           (int)c->devices,      c->distribution,  (int)c->flags,     c->null_buffer,
                           c->misaligned_buffer, c->misalignment,  (int)c->untouched, (int)c->expected};
    uint64_t key = rng_mix_text(rng_mix(fingerprint(), c->seed), c->name);
    key = mix_bytes(key, numbers, sizeof numbers);
    key = mix_bytes(key, c->extent, sizeof c->extent);
    key = mix_bytes(key, c->value, sizeof c->value);
    key = mix_bytes(key, c->real, sizeof c->real);
    key = mix_bytes(key, c->start, sizeof c->start);
    return mix_bytes(key, c->apart, sizeof c->apart);
}

/* 1 if every span lies within its piece, and its elements within their buffer. */
static int is_whole(const struct remembered *r, const struct item *item)
{
    const struct head *head = (const struct head *)r->map;
    const struct remembered_place *place = (const struct remembered_place *)(head + 1);
    uint64_t begin = sizeof *head + r->pieces * sizeof *place;
    if (r->bytes < sizeof *head || head->magic != MAGIC || head->key != r->key || head->pieces != r->pieces ||
        head->bytes != r->bytes || begin > r->bytes)
        return 0;
    for (size_t i = 0; i < r->pieces; i++) {
        uint64_t at = place[i].at, left = place[i].bytes;
        if (left == 0) continue;
        if (at < begin || at % sizeof(double) != 0 || at > r->bytes || left > r->bytes - at) return 0;
        while (left > 0) {
            const struct kept_span *span = (const struct kept_span *)(r->map + at);
            if (left < sizeof *span || span->buffer >= (uint64_t)item->buffer_count) return 0;
            uint64_t elems = lesson_elems(&item->buffer[span->buffer]);
            const uint64_t rows = span->columns > 0 ? (span->count + span->columns - 1) / span->columns : 1;
            if (span->first > elems || span->count > elems - span->first || span->pitch > elems / rows)
                return 0;
            if (span->columns > 0 &&
                (span->columns > span->pitch || span->first > elems - rows * span->pitch))
                return 0;
            uint64_t bytes = sizeof *span + ARRAYS * span->count * sizeof(double);
            if (bytes > left) return 0;
            at += bytes;
            left -= bytes;
        }
    }
    return 1;
}

static void read_remembered(struct remembered *r, const struct item *item)
{
    struct stat status;
    int file = open(r->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        r->bytes = (size_t)status.st_size;
        void *map = mmap(NULL, r->bytes, PROT_READ, MAP_PRIVATE, file, 0);
        r->map = map != MAP_FAILED ? map : NULL;
        if (r->map != NULL && !is_whole(r, item)) {
            munmap(map, r->bytes);
            r->map = NULL;
        }
    }
    close(file);
}

void remembered_open(struct remembered *r, const struct check *check, const struct item *item, size_t pieces,
                     double elems, double ops)
{
    const struct lesson *lesson = check->options.lesson;
    *r = (struct remembered){.file = -1, .pieces = pieces};
    if (check->options.remember == NULL || ops < WORTH_OPS || fingerprint() == 0) return;
    if (ARRAYS * sizeof(double) * elems > MOST_REMEMBERED_BYTES) return;
    r->key = key_of(lesson, item);
    char name[LESSON_NAME];
    snprintf(name, sizeof name, "%s", item->settled.name);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/') *c = '.';
    int length = snprintf(r->path, sizeof r->path, "%s/%02d.%s.%d.%016llx", check->options.remember,
                          lesson->number, name, item->item_index, (unsigned long long)r->key);
    if (length < 0 || (size_t)length >= sizeof r->path) return;
    read_remembered(r, item);
    if (r->map != NULL) return;
    snprintf(r->part, sizeof r->part, "%s.%ld.part", r->path, (long)getpid());
    r->place = calloc(pieces, sizeof *r->place);
    if (r->place != NULL) r->file = open(r->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    r->end = sizeof(struct head) + pieces * sizeof *r->place;
}

int remembered_next(const struct remembered *r, size_t piece, size_t *at, struct lesson_span *span)
{
    const struct remembered_place *place =
        (const struct remembered_place *)(r->map + sizeof(struct head)) + piece;
    if (*at >= place->bytes) return 0;
    const struct kept_span *kept = (const struct kept_span *)(r->map + place->at + *at);
    double *values = (double *)(kept + 1); /* the caller does not write to the expected values */
    size_t count = (size_t)kept->count;
    *span = (struct lesson_span){.buffer = (int)kept->buffer,
                                 .first = (size_t)kept->first,
                                 .count = count,
                                 .columns = (size_t)kept->columns,
                                 .pitch = (size_t)kept->pitch,
                                 .expected = values,
                                 .bound = values + count,
                                 .plain = values + 2 * count,
                                 .floor = values + 3 * count,
                                 .rounding = values + 4 * count};
    *at += sizeof *kept + ARRAYS * count * sizeof(double);
    return 1;
}

void remembered_keep(const struct remembered *r, struct remembered_piece *piece,
                     const struct lesson_span *span)
{
    struct kept_span kept = {(uint64_t)span->buffer, span->first, span->count, span->columns, span->pitch};
    const double *const arrays[ARRAYS] = {span->expected, span->bound, span->plain, span->floor,
                                          span->rounding};
    size_t each = span->count * sizeof(double), bytes = sizeof kept + ARRAYS * each;
    if (r->file < 0 || piece->failed) return;
    if (piece->room - piece->used < bytes) {
        size_t room = 2 * (piece->used + bytes);
        unsigned char *data = realloc(piece->data, room);
        piece->failed = data == NULL;
        if (data == NULL) return;
        piece->data = data;
        piece->room = room;
    }
    memcpy(piece->data + piece->used, &kept, sizeof kept);
    piece->used += sizeof kept;
    for (int i = 0; i < ARRAYS; i++, piece->used += each) memcpy(piece->data + piece->used, arrays[i], each);
}

static int write_at(int file, const void *data, size_t bytes, size_t at)
{
    while (bytes > 0) {
        ssize_t written = pwrite(file, data, bytes, (off_t)at);
        if (written <= 0) return -1;
        data = (const unsigned char *)data + written;
        bytes -= (size_t)written;
        at += (size_t)written;
    }
    return 0;
}

void remembered_put(struct remembered *r, size_t index, struct remembered_piece *piece)
{
    if (r->file >= 0) {
        size_t at = atomic_fetch_add(&r->end, piece->used);
        r->place[index] = (struct remembered_place){at, piece->used};
        if (piece->failed || write_at(r->file, piece->data, piece->used, at) != 0) r->failed = 1;
    }
    free(piece->data);
}

/* If the folder is full, or gone, everything is computed again, which costs only time. */
void remembered_close(struct remembered *r, int complete)
{
    if (r->map != NULL) munmap((void *)r->map, r->bytes);
    if (r->file >= 0) {
        struct head head = {MAGIC, r->key, r->pieces, r->end};
        int written = complete && !r->failed && write_at(r->file, &head, sizeof head, 0) == 0 &&
                      write_at(r->file, r->place, r->pieces * sizeof *r->place, sizeof head) == 0 &&
                      ftruncate(r->file, (off_t)head.bytes) == 0;
        written = close(r->file) == 0 && written;
        if (!written || rename(r->part, r->path) != 0) (void)unlink(r->part);
    }
    free(r->place);
}
