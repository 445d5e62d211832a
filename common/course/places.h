/**
 * @file places.h
 * @brief What CMake knows of this build: where things lie, which compilers it found. The one file that differs from build
 *        to build is places.c, made from places.c.in; everything else is the same in all of them.
 */
#pragma once

/** @brief Empty strings stand for what is not there. Lists are separated by semicolons. */
struct places {
    const char *version;       /**< of the course */
    const char *source_dir;    /**< the course's tree */
    const char *binary_dir;    /**< the build folder */
    const char *devices;       /**< that were built for: simt, gpu */
    const char *devices_asked; /**< what WARPWISE_DEVICES was: auto, or devices; "" in tests */
    const char *cxx, *cxx_id, *cxx_version;
    const char *cmake, *cmake_version;
    const char *nvcc, *cuda_version,
        *cuda_host;         /**< the CUDA compiler, the toolkit's version, the host compiler */
    const char *nvcc_quick; /* options */
    const char *cuda_architectures;
    /** the folder of nccl.h, or of what stands for it, where there is a CUDA compiler */
    const char *nccl_headers;
    const char *gpu_link_flags, *simt_link_flags; /**< what runners need at the link, beside their library */
};

extern const struct places places;

/** @brief The path of what lies at @p below in the course's tree. The caller's to free. */
char *in_source(const char *below);
/** @brief The same in the build folder. */
char *in_build(const char *below);
