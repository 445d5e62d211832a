/**
 * @file records.c
 * @brief The records in the image, mapped by themselves: they can be written while the rest is hidden (image_view.c), and just
 *        before the device ends the program.
 */
#include "records.h"

#include <sys/mman.h>
#include <unistd.h>

#include "simt_only.h"

static struct wire_records *records;
static uint64_t stamp;

/* Host threads may find something at the same time. */
static void put(const struct record *record)
{
    const uint32_t index = __atomic_fetch_add(&records->count, 1, __ATOMIC_RELAXED);
    if (index >= WIRE_RECORDS) return;
    struct record *to = &records->record[index];
    *to = *record;
    __atomic_store_n(&to->stamp, stamp, __ATOMIC_RELEASE);
}

int records_open(const struct wire_header *image, int descriptor)
{
    const uint64_t lead = image->records % (uint64_t)sysconf(_SC_PAGESIZE);
    if (simt_record_sink == NULL) return 0;
    if (image->image_bytes < sizeof *records || image->records > image->image_bytes - sizeof *records)
        return -1;
    void *pages = mmap(NULL, lead + sizeof *records, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                       (off_t)(image->records - lead));
    if (pages == MAP_FAILED) return -1;
    records = (struct wire_records *)((unsigned char *)pages + lead);
    records_belong_to(0);
    simt_record_sink(put);
    return 0;
}

void records_belong_to(uint32_t index)
{
    stamp = (uint64_t)index + 1;
}
