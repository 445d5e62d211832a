/**
 * @file nvcc_options.h
 * @brief nvcc's names for options that simtcc calls as g++ does.
 */
#pragma once

#include "text.h"

/** @brief The command line with nvcc's options replaced: those without meaning here are dropped, long
 *         names become g++'s short ones. For output that this device cannot make (PTX, say) it prints a
 *         sentence and ends the program. */
struct string_list nvcc_options_replaced(int argc, char **argv);
