/**
 * @file sites.c
 * @brief Sites of calls that learn file and line only when they run: the methods of cooperative groups.
 *
 * Lanes meet at a site, which its address identifies; so there must be one for each place. They are kept in a table that
 * only grows, and are looked up without a lock.
 */
#include "image.h"
#include "machine.h"
#include "settings.h"
#include "tools.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { SITE_SLOTS = 1 << 14 };
static struct simt_site *slots[SITE_SLOTS];
static struct simt_site made[SITE_SLOTS];
static const struct simt_site unknown = {"unknown", 0, "a call", NULL};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *simt_constant_text(const char *text)
{
    return simt_self() == NULL || simt_image_text(text) ? text : unknown.file;
}

const struct simt_site *simt_constant_site(const struct simt_site *site)
{
    const uintptr_t at = (uintptr_t)site - (uintptr_t)made;
    if (simt_self() == NULL || (at < sizeof made && at % sizeof *made == 0)) return site;
    const bool good =
        simt_lies_in(simt_image.low, simt_image.data - simt_image.low, (uintptr_t)site, sizeof *site) &&
        simt_image_text(site->file) && simt_image_text(site->what);
    return good ? site : &unknown;
}

/* The texts are literals: one place has one address for each. */
static size_t slot_of(const char *file, int line, const char *what)
{
    const uint64_t key = (uintptr_t)file ^ (uint64_t)(unsigned)line << 40 ^ (uintptr_t)what << 20;
    return simt_mix(key) % SITE_SLOTS;
}

static struct simt_site *find(const char *file, int line, const char *what, size_t *slot)
{
    for (*slot = slot_of(file, line, what);; *slot = (*slot + 1) % SITE_SLOTS) {
        struct simt_site *site = __atomic_load_n(&slots[*slot], __ATOMIC_ACQUIRE);
        if (site == NULL) return NULL;
        if (site->file == file && site->line == line && site->what == what) return site;
    }
}

const struct simt_site *simt_site_at(const char *file, int line, const char *what)
{
    static size_t count;
    size_t slot;
    struct simt_site *site = find(file, line, what, &slot);
    if (site != NULL) return site;
    if (simt_constant_text(file) != file || simt_constant_text(what) != what) return &unknown;
    pthread_mutex_lock(&lock);
    site = find(file, line, what, &slot);
    if (site == NULL) {
        site = &made[count];
        if (++count == SITE_SLOTS) simt_die("too many calls of cooperative groups.");
        *site = (struct simt_site){file, line, what, NULL};
        __atomic_store_n(&slots[slot], site, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return site;
}
