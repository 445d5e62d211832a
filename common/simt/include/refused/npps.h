#error "NPP is not on the software device, which runs CUDA C++ source only"
