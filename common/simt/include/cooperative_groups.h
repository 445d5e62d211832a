/**
 * @file cooperative_groups.h
 * @brief Cooperative groups are refused on the software device.
 */
#ifndef WARPWISE_SIMT_COOPERATIVE_GROUPS_H
#define WARPWISE_SIMT_COOPERATIVE_GROUPS_H

#error "cooperative_groups.h: not on the software device; use __syncthreads and the _sync intrinsics"

#endif
