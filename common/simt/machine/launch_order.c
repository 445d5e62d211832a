/**
 * @file launch_order.c
 * @brief A few words that were read too early, until they are written.
 */
#include "launch_order.h"
#include "tools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { KEPT = 64, NAME = 96 };

/** Allocations are given back by any host thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct early {
    uint32_t word;
    bool late; /* this launch wrote it */
    char kernel[NAME];
} early[KEPT];
static atomic_int early_count;

static void drop(int i)
{
    early[i] = early[early_count - 1];
    early_count--;
}

bool simt_late_waits(void)
{
    return early_count > 0;
}

void simt_late_read(uint32_t word, const char *kernel)
{
    pthread_mutex_lock(&lock);
    bool known = early_count == KEPT;
    for (int i = 0; i < early_count && !known; i++) known = early[i].word == word;
    if (!known) {
        early[early_count].word = word;
        early[early_count].late = false;
        snprintf(early[early_count].kernel, NAME, "%s", kernel);
        early_count++;
    }
    pthread_mutex_unlock(&lock);
}

/* A kernel that writes what it has read itself, at an earlier launch, has no place before that. */
void simt_late_write(uint32_t word, const char *kernel)
{
    pthread_mutex_lock(&lock);
    for (int i = early_count - 1; i >= 0; i--) {
        if (early[i].word != word) continue;
        if (strncmp(early[i].kernel, kernel, NAME - 1) == 0)
            drop(i);
        else
            early[i].late = true;
    }
    pthread_mutex_unlock(&lock);
}

void simt_late_forget(size_t start, size_t bytes)
{
    if (!simt_late_waits()) return;
    pthread_mutex_lock(&lock);
    for (int i = early_count - 1; i >= 0; i--)
        if (4 * (size_t)early[i].word + 4 > start && 4 * (size_t)early[i].word < start + bytes) drop(i);
    pthread_mutex_unlock(&lock);
}

void simt_late_tell(const char *kernel)
{
    char told[NAME] = "";
    if (!simt_late_waits()) return;
    pthread_mutex_lock(&lock);
    for (int i = early_count - 1; i >= 0; i--) {
        if (!early[i].late) continue;
        if (strcmp(told, early[i].kernel) != 0)
            fprintf(stderr,
                    "  kernel %s, launched later, writes what kernel %s has read: is their order right?\n",
                    kernel, early[i].kernel);
        memcpy(told, early[i].kernel, NAME);
        drop(i);
    }
    pthread_mutex_unlock(&lock);
}
