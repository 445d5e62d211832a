#error "cuSOLVER is not on the software device; solve the system on the host"
