/**
 * @file table.c
 * @brief All instructions of the device: the rows of every group.
 */
#include "program.h"

const struct group *const ptx_groups[] = {&ptx_scalar_rows,    &ptx_float_rows,   &ptx_convert_rows,
                                          &ptx_memory_rows,    &ptx_warp_rows,    &ptx_matrix_rows,
                                          &ptx_async_rows,     &ptx_barrier_rows, &ptx_bulk_rows,
                                          &ptx_warpgroup_rows, &ptx_cluster_rows, NULL};
