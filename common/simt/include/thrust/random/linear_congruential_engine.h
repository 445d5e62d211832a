/**
 * @file linear_congruential_engine.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_RANDOM_LINEAR_CONGRUENTIAL_ENGINE_HEADER
#define WARPWISE_SIMT_THRUST_RANDOM_LINEAR_CONGRUENTIAL_ENGINE_HEADER

#include "../../simt/thrust/all.h"

#endif
