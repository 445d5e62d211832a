/**
 * @file device_libc.c
 * @brief The C library functions that kernels may call; simtcc renames calls to these.
 *
 * On the host each is the function of that name. In a kernel printf is kept for the end of the launch, and
 * memory functions are checked and counted like any other access.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

int simt_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void simt_assert_fail(const char *condition, const char *file, unsigned int line, const char *function)
    __attribute__((noreturn));
void *simt_memcpy(void *to, const void *from, size_t bytes);
void *simt_memmove(void *to, const void *from, size_t bytes);
void *simt_memset(void *to, int value, size_t bytes);
unsigned int simt_rounding(unsigned int mode); /* see include/simt/rounding.h */
void simt_refuse_in_kernel(const void *return_address, const char *call, enum simt_misuse misuse)
    __attribute__((noreturn));

/** The number of arguments that a format takes; a `*` takes one, too. */
static int arguments_of(const char *format)
{
    int count = 0;
    for (const char *at = strchr(format, '%'); at != NULL; at = strchr(at, '%')) {
        at++;
        for (; *at != '\0' && strchr("-+ #0123456789.*hlLqjzt", *at) != NULL; at++) count += *at == '*';
        if (*at == '\0') break;
        count += *at++ != '%';
    }
    return count;
}

/* In a kernel printf returns the number of its arguments, not of its characters. */
int simt_printf(const char *format, ...)
{
    va_list arguments;
    if (simt_self() != NULL && format == NULL) return -1;
    va_start(arguments, format);
    int count = simt_self() != NULL ? simt_vprintf(format, arguments) : vprintf(format, arguments);
    va_end(arguments);
    return simt_self() != NULL ? arguments_of(format) : count;
}

void simt_assert_fail(const char *condition, const char *file, unsigned int line, const char *function)
{
    struct simt_site site = {simt_constant_text(file), (int)line, "assert", NULL};
    if (simt_self() != NULL)
        simt_stop(&site, RECORD_ASSERT, RECORD_SAYS_ASSERT,
                  SIMT_SAYS(.name = {simt_constant_text(function)}, .note = simt_constant_text(condition)));
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, condition);
    abort();
}

static void see_access(const void *address, size_t bytes, int access, const void *return_address)
{
    if (bytes == 0) return;
    if (simt_self() != NULL) {
        simt_access(address, bytes, access, return_address);
    } else {
        simt_host_access(address, bytes, access, return_address);
    }
}

/* Most copies of a kernel are of a number's bits. */
void *simt_memcpy(void *to, const void *from, size_t bytes)
{
    see_access(from, bytes, SIMT_READ, __builtin_return_address(0));
    see_access(to, bytes, SIMT_WRITE, __builtin_return_address(0));
    if (bytes == 2) return __builtin_memcpy(to, from, 2);
    if (bytes == 4) return __builtin_memcpy(to, from, 4);
    return memcpy(to, from, bytes);
}

void *simt_memmove(void *to, const void *from, size_t bytes)
{
    see_access(from, bytes, SIMT_READ, __builtin_return_address(0));
    see_access(to, bytes, SIMT_WRITE, __builtin_return_address(0));
    return memmove(to, from, bytes);
}

void *simt_memset(void *to, int value, size_t bytes)
{
    see_access(to, bytes, SIMT_WRITE, __builtin_return_address(0));
    return memset(to, value, bytes);
}

/** The site must outlive the launch, because the report is printed later. */
void simt_refuse_in_kernel(const void *return_address, const char *call, enum simt_misuse misuse)
{
    struct simt_site *site = malloc(sizeof(*site));
    if (site == NULL) abort();
    *site = runtime_site(return_address, simt_constant_text(call));
    simt_misuse(site, misuse, 0, 0);
}

unsigned int simt_rounding(unsigned int mode)
{
#if defined(__x86_64__)
    enum { MODE = 0x6000 };
    unsigned int before, after;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    after = (before & ~(unsigned)MODE) | (mode & MODE);
    __asm__ volatile("ldmxcsr %0" : : "m"(after));
#elif defined(__aarch64__)
    enum { MODE = 0xc00000 };
    unsigned long long before, after;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    after = (before & ~(unsigned long long)MODE) | (mode & MODE);
    __asm__ volatile("msr fpcr, %0" : : "r"(after));
#endif
    return (unsigned)before & MODE;
}
