/**
 * @file listed.h
 * @brief The list of kernels in an object file, made fit for the linker.
 */
#pragma once

/** @brief Has the list (SIMT_LISTED of simt/language.h) name functions by their symbols where the linker keeps one of several copies:
 *  a kernel that is a template, or what launches kernels of one type, is in every object that uses it. */
void listed_by_name(const char *object);
