/*
 * What variants of lesson 11 have in common whose every entry point is one kernel, row_kernel<T>(args, scale) with a
 * block of THREADS threads per row: included behind them.
 */
static enum kernel_status launch(const struct decode_args *args, cudaStream_t stream)
{
    dim3 grid(args->heads, args->q_len, args->batch);
    if (args->dtype == DTYPE_F16)
        row_kernel<__half><<<grid, THREADS, 0, stream>>>(*args, decode_scale(args));
    else
        row_kernel<float><<<grid, THREADS, 0, stream>>>(*args, decode_scale(args));
    return launch_status();
}

#ifndef WORKSPACE_IS_ANOTHER
size_t decode_workspace_bytes(const struct decode_args *args, enum decode_variant variant,
                              enum decode_loads loads)
{
    if (args == NULL || !decode_extents_fit(args)) return 0;
    if (loads != DECODE_LOADS_4_BYTES && loads != DECODE_LOADS_16_BYTES) return 0;
    return variant == DECODE_MHA ? sizeof(float) * args->batch * args->heads * args->q_len * args->max_len
                                 : 0;
}
#endif

#ifndef FLASH_2_IS_ANOTHER
enum kernel_status decode_flash_2(const struct decode_args *args, cudaStream_t stream)
{
    enum kernel_status status = decode_flash_2_check(args, 0);
    return status != KERNEL_OK ? status : launch(args, stream);
}
#endif

enum decode_variant decode_choose_variant(const struct decode_args *args, enum decode_loads loads)
{
    if (loads != DECODE_LOADS_16_BYTES || args->dtype != DTYPE_F16 || args->q_len != 1) return DECODE_FLASH_1;
    return args->head_dim == 64 || args->head_dim == 128 ? DECODE_FLASH_2 : DECODE_FLASH_1;
}

enum kernel_status decode_flash_1(const struct decode_args *args, enum decode_loads loads,
                                  cudaStream_t stream)
{
    enum kernel_status status = decode_args_check(args, loads, 0);
    return status != KERNEL_OK ? status : launch(args, stream);
}

enum kernel_status decode_mha(const struct decode_args *args, enum decode_loads loads, cudaStream_t stream)
{
    size_t bytes = decode_workspace_bytes(args, DECODE_MHA, loads);
    enum kernel_status status = decode_args_check(args, loads, bytes);
    return status != KERNEL_OK ? status : launch(args, stream);
}

enum kernel_status decode_attention(const struct decode_args *args, enum decode_variant variant,
                                    enum decode_loads loads, cudaStream_t stream)
{
    if (args == NULL) return KERNEL_INVALID_CONFIG;
    if (loads != DECODE_LOADS_4_BYTES && loads != DECODE_LOADS_16_BYTES) return KERNEL_INVALID_CONFIG;
    if (variant == DECODE_AUTO) variant = decode_choose_variant(args, loads);
    if (variant == DECODE_MHA) return decode_mha(args, loads, stream);
    if (variant == DECODE_FLASH_1) return decode_flash_1(args, loads, stream);
    if (variant == DECODE_FLASH_2 && loads == DECODE_LOADS_16_BYTES) return decode_flash_2(args, stream);
    return KERNEL_INVALID_CONFIG;
}
