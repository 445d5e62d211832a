#error "cublasXt is not on the software device; use cublas_v2.h"
