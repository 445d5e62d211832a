/**
 * @file cooperative_groups.h
 * @brief Cooperative groups are refused on the software device.
 */
#ifndef WARPWISE_SIMT_COOPERATIVE_GROUPS_H
#define WARPWISE_SIMT_COOPERATIVE_GROUPS_H

#error "cooperative_groups.h: cooperative groups are not supported on the software device: use __syncthreads, __syncwarp and the _sync intrinsics"

#endif
