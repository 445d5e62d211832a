#include "cuda_fp16.h" // for programs that include it by this name
