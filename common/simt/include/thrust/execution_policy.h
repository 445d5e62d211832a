/**
 * @file execution_policy.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_EXECUTION_POLICY_HEADER
#define WARPWISE_SIMT_THRUST_EXECUTION_POLICY_HEADER

#include "../simt/thrust/all.h"

#endif
