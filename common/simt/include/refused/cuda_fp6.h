#error "floats of six bits are not on the software device, which has those of eight in cuda_fp8.h"
