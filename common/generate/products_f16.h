/**
 * @file products_f16.h
 * @brief Nothing is elsewhere: lesson 17's own products multiply with all matrices.
 */
#pragma once

#include "products.h"

/** @brief Ends the program if the model's matrices are not f16 when they are on the device. */
static inline struct engine_products *products_open(const struct model *model, const struct engine_model *)
{
    const struct model_config *c = model_config(model);
    if (c->storage == MODEL_FLOATS && c->experts == 0) return NULL;
    fprintf(stderr,
            "generate: this program was built for a model without experts and with matrices of floats\n");
    exit(2);
}

/** @brief Releases nothing. */
static inline void products_close(struct engine_products *) {}
