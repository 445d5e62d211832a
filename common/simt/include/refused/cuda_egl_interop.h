#error "graphics interoperability is not on the software device; leave the drawing out"
