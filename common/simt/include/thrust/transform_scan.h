/**
 * @file transform_scan.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_TRANSFORM_SCAN_HEADER
#define WARPWISE_SIMT_THRUST_TRANSFORM_SCAN_HEADER

#include "../simt/thrust/all.h"

#endif
