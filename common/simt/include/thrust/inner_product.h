/**
 * @file inner_product.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_INNER_PRODUCT_HEADER
#define WARPWISE_SIMT_THRUST_INNER_PRODUCT_HEADER

#include "../simt/thrust/all.h"

#endif
