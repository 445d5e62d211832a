/**
 * @file mma.h
 * @brief The place of WMMA on the software device.
 */
#ifndef WARPWISE_SIMT_MMA_H
#define WARPWISE_SIMT_MMA_H

#error "mma.h: warp matrix operations do not exist on the software device yet"

#endif
