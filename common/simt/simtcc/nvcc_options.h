/**
 * @file nvcc_options.h
 * @brief nvcc's words for what simtcc calls as g++ does.
 */
#pragma once

#include "text.h"

/** @brief The command line with options of nvcc replaced: those that mean nothing here are left out, long names are the
 *  short ones of g++. What nvcc makes and this device does not (PTX, say) ends the program with a sentence. */
struct string_list nvcc_options_replaced(int argc, char **argv);
