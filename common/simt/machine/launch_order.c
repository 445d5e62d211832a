/**
 * @file launch_order.c
 * @brief Keeps a few words that a kernel read before anybody wrote them, until another kernel writes them.
 */
#include "launch_order.h"
#include "tools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_KEPT = 64, NAME = 96 };

/** Any host thread may free allocations. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct unwritten_read {
    size_t word;
    bool late; /* this launch wrote it */
    char kernel[NAME];
} unwritten_read[WORDS_KEPT];
static atomic_int unwritten_count;

static void drop(int i)
{
    unwritten_read[i] = unwritten_read[unwritten_count - 1];
    unwritten_count--;
}

bool simt_launch_order_pending(void)
{
    return unwritten_count > 0;
}

void simt_launch_order_read(size_t word, const char *kernel)
{
    pthread_mutex_lock(&kept_lock);
    bool known = unwritten_count == WORDS_KEPT;
    for (int i = 0; i < unwritten_count && !known; i++) known = unwritten_read[i].word == word;
    if (!known) {
        unwritten_read[unwritten_count].word = word;
        unwritten_read[unwritten_count].late = false;
        snprintf(unwritten_read[unwritten_count].kernel, NAME, "%s", kernel);
        unwritten_count++;
    }
    pthread_mutex_unlock(&kept_lock);
}

/* If the same kernel writes what it read at an earlier launch, no other order of launches would help. */
void simt_launch_order_write(size_t word, const char *kernel)
{
    pthread_mutex_lock(&kept_lock);
    for (int i = unwritten_count - 1; i >= 0; i--) {
        if (unwritten_read[i].word != word) continue;
        if (strncmp(unwritten_read[i].kernel, kernel, NAME - 1) == 0)
            drop(i);
        else
            unwritten_read[i].late = true;
    }
    pthread_mutex_unlock(&kept_lock);
}

void simt_launch_order_forget(size_t start, size_t bytes)
{
    if (!simt_launch_order_pending()) return;
    pthread_mutex_lock(&kept_lock);
    for (int i = unwritten_count - 1; i >= 0; i--)
        if (4 * unwritten_read[i].word + 4 > start && 4 * unwritten_read[i].word < start + bytes) drop(i);
    pthread_mutex_unlock(&kept_lock);
}

void simt_launch_order_report(const char *kernel)
{
    char reported[NAME] = "";
    if (!simt_launch_order_pending()) return;
    pthread_mutex_lock(&kept_lock);
    for (int i = unwritten_count - 1; i >= 0; i--) {
        if (!unwritten_read[i].late) continue;
        if (strcmp(reported, unwritten_read[i].kernel) != 0)
            fprintf(stderr,
                    "  kernel %s, launched later, writes what kernel %s has read: is their order right?\n",
                    kernel, unwritten_read[i].kernel);
        memcpy(reported, unwritten_read[i].kernel, NAME);
        drop(i);
    }
    pthread_mutex_unlock(&kept_lock);
}
