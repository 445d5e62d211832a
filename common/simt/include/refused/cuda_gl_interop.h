/**
 * @file cuda_gl_interop.h
 * @brief Refused: simtcc says so in one sentence, and nothing behind it (simtcc/refusals.c).
 */
#error "graphics interoperability is not on the software device; leave the drawing out"
