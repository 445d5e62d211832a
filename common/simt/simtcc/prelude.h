/**
 * @file prelude.h
 * @brief The device's headers, read by the compiler once and for all.
 *
 * Every kernel file begins with cuda_runtime.h, and reading it takes half of the time that a short file takes
 * to build. So `simtcc --precompile` leaves beside libsimt.a what g++ made of it:
 *
 *     lib/simt_prelude-O2.h          includes cuda_runtime.h, and says of which folder
 *     lib/simt_prelude-O2.h.gch      the same, precompiled with -O2 (and with -Og and -O0 under those names)
 *
 * The compiler takes a precompiled form that was made with its own version and flags, and reads the header if
 * there is none; but it does not ask with which optimisation the form was made, so that has to be chosen here.
 *
 * The prelude is without the special functions of C++17 (cuda_runtime.h says why). A file that uses one is compiled once more, with
 * all of cuda_runtime.h.
 */
#pragma once

/** @brief Levels of optimisation that there are precompiled forms for; NULL at the end. */
extern const char *const prelude_levels[];

/**
 * @brief What to include before a kernel file.
 * @param library  path of libsimt.a, or NULL
 * @param include  folder of the device's headers
 * @param level    what the file is compiled with: "-O2"
 * @return the prelude, if it is there, was made of this folder, and no header is newer; else "cuda_runtime.h"
 */
const char *prelude_find(const char *library, const char *include, const char *level);

/** @brief Writes the prelude of @p include for @p level; its path. What is precompiled goes to the same path with ".gch". */
const char *prelude_prepare(const char *library, const char *include, const char *level);

/**
 * @brief 1 if the file @p path names a function that the prelude is without.
 * @param before  what stands right before its name: "std::" in a source; "" where the compiler complains of it
 */
int prelude_lacks(const char *path, const char *before);
