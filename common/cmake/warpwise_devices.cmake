# Decides which devices are built for, and with which architectures.
#   WARPWISE_WITH_SIMT, WARPWISE_WITH_GPU    what is built
#   WARPWISE_RUNNER_DEVICES                  the same as a list: simt, gpu
#   WARPWISE_CUDA_ARCHITECTURES              what nvcc is asked for
include(CheckLanguage)

if("simt" IN_LIST WARPWISE_DEVICES OR WARPWISE_DEVICES STREQUAL "auto")
    set(WARPWISE_WITH_SIMT TRUE)
else()
    set(WARPWISE_WITH_SIMT FALSE)
endif()
set(WARPWISE_WITH_GPU FALSE)
if("gpu" IN_LIST WARPWISE_DEVICES OR WARPWISE_DEVICES STREQUAL "auto")
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
            set(CMAKE_CUDA_ARCHITECTURES OFF) # set on each target below
        endif()
        enable_language(CUDA)
        find_package(CUDAToolkit REQUIRED)
        set(WARPWISE_WITH_GPU TRUE)
    elseif("gpu" IN_LIST WARPWISE_DEVICES)
        message(FATAL_ERROR "WARPWISE_DEVICES asks for gpu, but no CUDA compiler was found. Put nvcc on the PATH or set "
                            "CMAKE_CUDA_COMPILER; or use -DWARPWISE_DEVICES=simt, which needs no CUDA Toolkit.")
    endif()
endif()
if(NOT WARPWISE_WITH_SIMT AND NOT WARPWISE_WITH_GPU)
    message(FATAL_ERROR "WARPWISE_DEVICES is '${WARPWISE_DEVICES}'; it takes auto, simt, gpu or simt;gpu.")
endif()

set(WARPWISE_RUNNER_DEVICES "")
if(WARPWISE_WITH_SIMT)
    list(APPEND WARPWISE_RUNNER_DEVICES simt)
endif()
if(WARPWISE_WITH_GPU)
    list(APPEND WARPWISE_RUNNER_DEVICES gpu)
endif()

# Machine code for each of these that the toolkit still knows, and PTX of the last for chips to come.
if(WARPWISE_WITH_GPU)
    set(WARPWISE_CUDA_ARCHITECTURES "")
    foreach(architecture IN ITEMS 70 75 80 86 87 89 90)
        if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0 AND architecture LESS 75)
            continue()
        endif()
        if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.8 AND architecture GREATER 87)
            continue()
        endif()
        list(APPEND WARPWISE_CUDA_ARCHITECTURES ${architecture}-real)
    endforeach()
    list(APPEND WARPWISE_CUDA_ARCHITECTURES 90-virtual)
endif()

if(WARPWISE_WITH_GPU)
    message(STATUS "Warpwise devices: simt and gpu (nvcc ${CMAKE_CUDA_COMPILER_VERSION}; ${WARPWISE_CUDA_ARCHITECTURES})")
else()
    message(STATUS "Warpwise devices: simt (no CUDA Toolkit is used)")
endif()
