/**
 * @file counting_iterator.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_ITERATOR_COUNTING_ITERATOR_HEADER
#define WARPWISE_SIMT_THRUST_ITERATOR_COUNTING_ITERATOR_HEADER

#include "../../simt/thrust/all.h"

#endif
