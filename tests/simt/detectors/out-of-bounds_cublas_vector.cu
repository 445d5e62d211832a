// expect: out-of-bounds at line 13
// says: cublasSetVector writes
/** A vector of 33 elements is moved to where there is memory for 32. */
#include "detecting.h"

#include <cublas_v2.h>

int main(void)
{
    static float host[33];
    float *vector = device_array<float>(32);
    const cublasStatus_t status =
        cublasSetVector(33, sizeof *host, host, 1, vector, 1); // here
    if (status != CUBLAS_STATUS_MAPPING_ERROR) printf("the call gives %s\n", cublasGetStatusName(status));
    release(vector);
    return 0;
}
