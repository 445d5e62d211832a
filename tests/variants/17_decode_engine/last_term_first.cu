/*
 * The same from the last term of every sum to the first, with a workspace that is larger than needed.
 */
#include "decode_engine.h"

#include "plain_step.h"

size_t engine_workspace_bytes(const struct engine_config *config)
{
    return config == NULL || !engine_config_fits(config) ? 0 : place_buffers(config, NULL).bytes + 512;
}

enum kernel_status engine_step(const struct engine_model *model, const struct engine_batch *batch,
                               cudaStream_t stream)
{
    return plain_step<float, false>(model, batch, stream);
}
