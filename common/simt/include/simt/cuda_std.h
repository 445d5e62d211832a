/**
 * @file cuda_std.h
 * @brief cuda::std: the standard library of this computer's compiler, whose classes and templates kernels may use here.
 */
#pragma once

namespace cuda
{
/* What cuda_atomic.h declares in it comes first. */
namespace std
{
using namespace ::std;
}
} // namespace cuda
