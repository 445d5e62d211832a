/**
 * @file findings.h
 * @brief The kinds of mistakes the software device finds, each by the word its report begins with: "simt: KIND: ...".
 */
#ifndef SIMT_FINDINGS_H
#define SIMT_FINDINGS_H

#include <stddef.h>
#include <string.h>

/** @brief A program's exit status: the device found something; it stopped the program, which would not have ended. */
enum { SIMT_EXIT_FINDINGS = 86, SIMT_EXIT_ENDLESS = 87 };

/** @brief Every kind; a report of another one is no finding. tests/unit/simt_machine.c holds the device to it. */
static const char *const simt_finding_kinds[] = {
    "out-of-bounds",
    "misaligned",
    "uninitialized-read",
    "shared-race",
    "global-race",
    "same-value-race",
    "unwritten-border",
    "missing-wait",
    "divergent-barrier",
    "deadlock",
    "use-after-free",
    "host-pointer",
    "host-wait",
    "host-allocation",
    "wrong-stream",
    "input-written",
    "padding-written",
    "leak",
    "unsupported",
    "endless",
    "assert",
    "barrier-phase",
    "bulk-group",
    "missing-proxy-fence",
    "missing-fence",
    "cluster-exit",
    "tensor-map",
    "wrong-device",
    "stream-race",
    "collective-mismatch",
    "collective-hang",
    "trap",
};

/** @brief The kind of the finding that begins at @p line, or NULL if none does. */
static inline const char *simt_finding_kind(const char *line)
{
    if (strncmp(line, "simt: ", 6) != 0) return NULL;
    for (size_t i = 0; i < sizeof simt_finding_kinds / sizeof simt_finding_kinds[0]; i++) {
        size_t length = strlen(simt_finding_kinds[i]);
        if (strncmp(line + 6, simt_finding_kinds[i], length) == 0 && line[6 + length] == ':')
            return simt_finding_kinds[i];
    }
    return NULL;
}

#endif
