#include "cuda_runtime_api.h" // for programs that include it by this name
