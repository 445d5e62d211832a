/**
 * @file listed.h
 * @brief The list of kernels in an object file, made fit for the linker.
 */
#ifndef WARPWISE_SIMTCC_LISTED_H
#define WARPWISE_SIMTCC_LISTED_H

/** @brief Makes the list (SIMT_LISTED of simt/language.h) name functions by their symbols where the linker
 *         keeps one of several copies: every object that uses a template kernel, or launches kernels of
 *         one type, has a copy. */
void listed_by_name(const char *object);

#endif
