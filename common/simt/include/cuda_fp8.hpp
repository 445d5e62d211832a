#include "cuda_fp8.h" // for programs that include it by this name
