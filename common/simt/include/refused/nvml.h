#error "NVML is not on the software device; leave the call out"
