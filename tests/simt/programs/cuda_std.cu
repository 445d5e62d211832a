/**
 * cuda::std in kernels, and the function objects of cuda/functional: tuples, arrays, optionals, limits, and a device lambda
 * that says what it returns.
 */
#include "../testing.h"

#include <cub/config.cuh>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/std/array>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>

template <typename T> static __global__ void library_kernel(int *out)
{
    const int i = (int)threadIdx.x;
    cuda::std::array<int, 4> values = {1, 2, 3, 4};
    cuda::std::optional<int> odd;
    if (i % 2 != 0) odd = i;
    auto [first, second] = cuda::std::make_tuple(i, values[i % 4]);
    cuda::std::swap(first, second);
    int sum = 100 * first + second;
    if (odd.has_value()) sum += 1000 * *odd;
    if (cuda::std::is_same<T, cuda::std::int64_t>::value) sum += 100000;
    if (cuda::std::numeric_limits<int>::max() == 0x7fffffff)
        sum += cuda::maximum<>{}(3, cuda::minimum<int>{}(7, i));
    out[i] = sum;
}

int main(void)
{
    enum { COUNT = 32 };
    int host[COUNT], *out = device_array<int>(COUNT);
    library_kernel<cuda::std::int64_t><<<cuda::ceil_div(COUNT, 33), COUNT>>>(out);
    finish_launch("library_kernel");
    download(host, out, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const int least = i < 7 ? i : 7;
        expect_equal("library_kernel", i, host[i],
                     100 * (i % 4 + 1) + i + (i % 2) * 1000 * i + 100000 + (least > 3 ? least : 3));
    }
    release(out);
    return finish("cuda_std");
}
