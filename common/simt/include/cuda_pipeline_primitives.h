/**
 * @file cuda_pipeline_primitives.h
 * @brief The place of asynchronous copies on the software device.
 */
#ifndef WARPWISE_SIMT_CUDA_PIPELINE_PRIMITIVES_H
#define WARPWISE_SIMT_CUDA_PIPELINE_PRIMITIVES_H

#error "cuda_pipeline_primitives.h: asynchronous copies do not exist on the software device yet"

#endif
