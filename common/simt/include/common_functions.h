#include "cuda_runtime.h" // for programs that include it by this name
