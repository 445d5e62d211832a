/**
 * @file thread_scope.h
 * @brief cuda::thread_scope: among which threads an operation of CUDA's C++ library holds.
 */
#pragma once

#pragma GCC system_header

namespace cuda
{
enum thread_scope {
    thread_scope_system = 0,
    thread_scope_device = 1,
    thread_scope_block = 2,
    thread_scope_cluster = 3,
    thread_scope_thread = 10
};
} // namespace cuda
