/**
 * @file cooperative_groups.h
 * @brief Groups of threads as objects: the grid, the block, tiles of it, and the lanes that happen to be together.
 *
 * Each group is a handle: who belongs to it, and how its members meet. Members meet at the place in the source where they
 * call, as with `__syncwarp` and the shuffles, so that the device reports a missing member in the same way.
 */
#pragma once

#pragma GCC system_header

#include "cuda_runtime.h"
#include "simt/groups.h"
