#error "Poisson numbers are not on the software device; draw uniform or normal ones of curand_kernel.h"
