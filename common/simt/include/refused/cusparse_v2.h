#error "cuSPARSE is not on the software device; write the product as a kernel, or compute it on the host"
