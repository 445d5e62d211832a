// expect: out-of-bounds at line 8
// says: the pointer is null
/** Clears a buffer that is not there, by the name that the compiler has for memset. */
#include "detecting.h"

static __global__ void clear_kernel(char *buffer)
{
    __builtin_memset(buffer, 0, 48); // here
}

int main(void)
{
    clear_kernel<<<1, 1>>>(NULL);
    expect_outcome(cudaErrorIllegalAddress);
    abandon(NULL);
    return 0;
}
