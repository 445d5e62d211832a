#error "nvJitLink is not on the software device; let simtcc compile the kernel"
