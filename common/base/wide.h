/**
 * @file wide.h
 * @brief WIDE, before a function whose loops are worth the wide vector registers of newer processors.
 *
 * The compiler makes two of it, and which one runs is decided when the program starts. Both give the same bits:
 * neither fuses a product with an addition, and neither changes the order of a sum.
 */
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) &&                  \
    !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) &&                         \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
