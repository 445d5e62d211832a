#error "the first interface of cuBLAS is not on the software device; use cublas_v2.h"
