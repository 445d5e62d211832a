#error "discrete distributions are not on the software device; draw uniform numbers of curand_kernel.h"
