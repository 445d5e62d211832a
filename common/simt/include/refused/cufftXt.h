#error "cuFFT is not on the software device; compute the transform on the host or in a kernel of your own"
