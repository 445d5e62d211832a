#include "cuda_bf16.h" // for programs that include it by this name
