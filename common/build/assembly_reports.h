/**
 * @file assembly_reports.h
 * @brief Puts reports into the compiler's assembly (x86-64) where an access has none.
 *
 * It need not be trusted: what becomes of the assembly is judged as any machine code.
 */
#pragma once

#include "machine_code.h"
#include "object_file.h"

/** @brief @p assembly with a label before each instruction that may touch memory; the caller frees it. */
char *assembly_with_labels(const char *assembly);

/** @brief @p assembly with a report before each of the @p accesses. @p labelled is what assembly_with_labels() of it became, with its labels
 *         kept. The caller frees it. */
char *assembly_with_reports(const char *assembly, const struct object *labelled,
                            const struct machine_code_accesses *accesses);
