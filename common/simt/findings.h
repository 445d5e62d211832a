/**
 * @file findings.h
 * @brief How the parts of the software device say what they found: a kind, a sentence by its number, and what it names.
 */
#pragma once

#include "record/record.h"

#include <stddef.h>
#include <stdint.h>

/** @brief A program's exit status: the device found something; it stopped the program, which would not have ended. */
enum { SIMT_EXIT_FINDINGS = 86, SIMT_EXIT_ENDLESS = 87 };

struct simt_site;

/** @brief What a sentence names. Names and the note stay where they are until the report: literals, or texts that are never freed. */
struct simt_words {
    int64_t number[RECORD_NUMBERS];
    const char *name[RECORD_NAMES];
    const char *note;               /**< a quotation: of PTX, of an assertion */
    const void *memory;             /**< what was accessed, by host code */
    size_t bytes;                   /**< of it */
    const struct simt_site *other;  /**< where another operation was that it has to do with */
    uint32_t other_pc;              /**< or the address of that in the program, packed */
    const struct record_wait *wait; /**< who waits where; of a kernel allocated, and freed with the finding */
    uint32_t waits, places;         /**< how many of them; of how many places */
};

/** @brief The words of a call: SIMT_SAYS(.name = {site->what}, .number = {bytes}). */
#define SIMT_SAYS(...) (&(const struct simt_words){__VA_ARGS__})

/** @brief Reports what the host side found, and counts it. @p site: where, or NULL; @p words may be NULL. */
void simt_finding(enum record_kind kind, const struct simt_site *site, enum record_message message,
                  const struct simt_words *words);
/** @brief The same with an advice. */
void simt_finding_advised(enum record_kind kind, const struct simt_site *site, enum record_message message,
                          enum record_advice advice, const struct simt_words *words);

/** @brief What ends the running block, or the program if it is host code. */
void simt_stop(const struct simt_site *site, enum record_kind kind, enum record_message message,
               const struct simt_words *words) __attribute__((noreturn));

/** @brief A finding of the running thread at @p site; it goes on. @p pc: the student's line, from which the calls that led there are
 *         told, or NULL. */
void simt_note(const struct simt_site *site, const void *pc, enum record_kind kind,
               enum record_message message, enum record_advice advice, const struct simt_words *words);

/** @brief Ends the launch at an access that hardware would refuse, with a finding that names the address; does nothing with the
 *         checks off. */
void simt_refuse_access(enum record_kind kind, const void *address, size_t bytes, int access,
                        enum record_advice advice, const void *return_address);

/** @brief From now on @p take is given every record, and nothing is printed of it; NULL: as at first, they are printed on stderr. */
void simt_record_sink(void (*take)(const struct record *record));
/** @brief Gives @p record to the sink, or prints it. It is not counted. */
void simt_record_put(const struct record *record);

/** @brief Where @p site is. A look-up costs a run of addr2line. */
struct record_line simt_site_line(const struct simt_site *site);
/** @brief What and where @p pointer is, for a record. */
void simt_device_resolve(const void *pointer, size_t bytes, struct record_memory *memory);
