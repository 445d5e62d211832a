/**
 * @file zip_function.h
 * @brief A header of Thrust: see simt/thrust/.
 */
#ifndef WARPWISE_SIMT_THRUST_ZIP_FUNCTION_HEADER
#define WARPWISE_SIMT_THRUST_ZIP_FUNCTION_HEADER

#include "../simt/thrust/all.h"

#endif
