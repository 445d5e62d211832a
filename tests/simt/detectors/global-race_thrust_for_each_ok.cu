// expect: none
/** A function object of thrust::for_each adds to one number with an atomic. */
#include <thrust/device_vector.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include "detecting.h"

struct add_to {
    int *total;
    __device__ void operator()(int x) const
    {
        atomicAdd(total, x);
    }
};

int main(void)
{
    thrust::device_vector<int> total(1, 0);
    thrust::for_each(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(1000),
                     add_to{thrust::raw_pointer_cast(total.data())});
    expect_outcome(cudaSuccess);
    return 0;
}
