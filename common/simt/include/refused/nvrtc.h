#error "NVRTC is not on the software device; put the kernel into the file, and let simtcc compile it"
