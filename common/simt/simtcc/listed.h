/**
 * @file listed.h
 * @brief The list of kernels in an object file, made fit for the linker.
 */
#pragma once

/** @brief Makes the list (SIMT_LISTED of simt/language.h) name functions by their symbols where the linker
 *         keeps one of several copies: every object that uses a template kernel, or launches kernels of
 *         one type, has a copy. */
void listed_by_name(const char *object);
