#error "surfaces are not on the software device; read and write plain memory"
