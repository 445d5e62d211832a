/**
 * @file status_file.h
 * @brief What `runner --case-file` tells the program that has started it, through any profiler.
 */
#pragma once

/** @brief The environment variable that names a file: the runner writes there, in decimal, the enum kernel_status of the last call. */
#define STATUS_FILE "WARPWISE_STATUS_FILE"
