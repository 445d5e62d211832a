/**
 * @file nvcc_options.h
 * @brief nvcc's words for what simtcc calls as g++ does.
 */
#ifndef WARPWISE_SIMTCC_NVCC_OPTIONS_H
#define WARPWISE_SIMTCC_NVCC_OPTIONS_H

#include "text.h"

/** @brief The command line with options of nvcc replaced: those that mean nothing here are left out, long names are the
 *  short ones of g++. What nvcc makes and this device does not (PTX, say) ends the program with a sentence. */
struct string_list nvcc_options_replaced(int argc, char **argv);

#endif
