/*
 * The same with sums, softmax and rotation in double: what is off is what the contract rounds to f16.
 */
#include "decode_engine.h"

#include "plain_step.h"

size_t engine_workspace_bytes(const struct engine_config *config)
{
    return config == NULL || !engine_config_fits(config) ? 0 : place_buffers(config, NULL).bytes;
}

enum kernel_status engine_step(const struct engine_model *model, const struct engine_batch *batch,
                               cudaStream_t stream)
{
    return plain_step<double, true>(model, batch, stream);
}
