// expect: none
/** An index of thrust::gather is an element. */
#include <thrust/device_vector.h>
#include <thrust/gather.h>
#include <thrust/sequence.h>

#include "detecting.h"

int main(void)
{
    thrust::device_vector<int> in(100, 1), map(100), out(100);
    thrust::sequence(map.begin(), map.end(), 0);
    thrust::gather(map.begin(), map.end(), in.begin(), out.begin());
    expect_outcome(cudaSuccess);
    return 0;
}
