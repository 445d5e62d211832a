/**
 * @file all.h
 * @brief Thrust on the software device: every header of `thrust/` leads here.
 */
#pragma once

#pragma GCC system_header

#define THRUST_VERSION 300000
#define THRUST_MAJOR_VERSION 3
#define THRUST_MINOR_VERSION 0
#define THRUST_SUBMINOR_VERSION 0
#define THRUST_NS_QUALIFIER thrust

#include "orders.h"
#include "random_numbers.h"
#include "vectors.h"
