/**
 * @file cuda_pipeline.h
 * @brief The place of asynchronous copies on the software device.
 */
#ifndef WARPWISE_SIMT_CUDA_PIPELINE_H
#define WARPWISE_SIMT_CUDA_PIPELINE_H

#error "cuda_pipeline.h: asynchronous copies do not exist on the software device yet"

#endif
