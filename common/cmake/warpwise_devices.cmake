# Decides which devices are built for, and with which architectures.
#   WARPWISE_WITH_SIMT, WARPWISE_WITH_GPU    what is built
#   WARPWISE_RUNNER_DEVICES                  the same as a list: simt, gpu
#   WARPWISE_CUDA_ARCHITECTURES              what nvcc is asked for

if("simt" IN_LIST WARPWISE_DEVICES OR WARPWISE_DEVICES STREQUAL "auto")
    set(WARPWISE_WITH_SIMT TRUE)
else()
    set(WARPWISE_WITH_SIMT FALSE)
endif()
set(WARPWISE_WITH_GPU FALSE)
if("gpu" IN_LIST WARPWISE_DEVICES OR WARPWISE_DEVICES STREQUAL "auto")
    # check_language(CUDA) configures a project for this question, seconds of nvcc. An nvcc that refuses the host compiler
    # says so when it preprocesses.
    find_program(CMAKE_CUDA_COMPILER NAMES $ENV{CUDACXX} nvcc HINTS ENV CUDA_PATH PATH_SUFFIXES bin DOC "CUDA compiler")
    set(nvcc_error 0)
    if(CMAKE_CUDA_COMPILER AND WARPWISE_DEVICES STREQUAL "auto" AND NOT CMAKE_CUDA_COMPILER_LOADED)
        set(host_compiler ${CMAKE_CUDA_HOST_COMPILER} $ENV{CUDAHOSTCXX})
        list(TRANSFORM host_compiler PREPEND -ccbin=)
        separate_arguments(flags UNIX_COMMAND "$ENV{CUDAFLAGS} ${CMAKE_CUDA_FLAGS}")
        execute_process(COMMAND ${CMAKE_CUDA_COMPILER} ${host_compiler} ${flags} -E -x cu /dev/null
                        RESULT_VARIABLE nvcc_error OUTPUT_QUIET ERROR_VARIABLE nvcc_says)
    endif()
    if(NOT nvcc_error EQUAL 0)
        message(STATUS "Warpwise: ${CMAKE_CUDA_COMPILER} does not work here, so there is no gpu: ${nvcc_says}")
    elseif(CMAKE_CUDA_COMPILER)
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
            set(CMAKE_CUDA_ARCHITECTURES OFF) # set on each target below
        endif()
        enable_language(CUDA)
        find_package(CUDAToolkit REQUIRED)
        set(WARPWISE_WITH_GPU TRUE)
        # For watch's first look a kernel file is hardly optimised, and its functions are compiled side by side. What is timed is
        # compiled whole: side by side lesson 06's kernel gets a stack frame and takes twice as long.
        set(WARPWISE_NVCC_QUICK "-O1")
        if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
            set(WARPWISE_NVCC_QUICK "-Ofc max")
        endif()
        if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
            string(APPEND WARPWISE_NVCC_QUICK " --split-compile=0")
        endif()
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

# NCCL, for lesson 19 and for programs with several GPUs. Without it that lesson has no device here.
if(WARPWISE_WITH_GPU)
    # PyTorch brings its own as a Python package, without the name that ends in ".so".
    set(nccl_package "")
    find_program(WARPWISE_PYTHON python3)
    mark_as_advanced(WARPWISE_PYTHON)
    if(WARPWISE_PYTHON AND NOT WARPWISE_NCCL_LIBRARY)
        execute_process(COMMAND ${WARPWISE_PYTHON} -c "import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])"
                        OUTPUT_VARIABLE nccl_package OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    find_path(WARPWISE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS ${nccl_package}/include)
    find_library(WARPWISE_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} PATHS ${nccl_package}/lib)
    mark_as_advanced(WARPWISE_NCCL_INCLUDE WARPWISE_NCCL_LIBRARY)
    set(WARPWISE_NCCL_LINK_FLAGS "")
    if(WARPWISE_NCCL_INCLUDE AND WARPWISE_NCCL_LIBRARY)
        set(WARPWISE_NCCL_HEADERS ${WARPWISE_NCCL_INCLUDE})
        cmake_path(GET WARPWISE_NCCL_LIBRARY PARENT_PATH folder)
        set(WARPWISE_NCCL_LINK_FLAGS "-Xlinker;--as-needed;-Xlinker;${WARPWISE_NCCL_LIBRARY};-Xlinker;-rpath;-Xlinker;${folder}")
    else()
        set(WARPWISE_NCCL_HEADERS ${PROJECT_SOURCE_DIR}/common/runner/without_nccl)
        message(STATUS "Warpwise: NCCL was not found (nccl.h, libnccl): lesson 19 has no GPU here")
    endif()
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
    list(TRANSFORM WARPWISE_CUDA_ARCHITECTURES REPLACE "^90-real$" "90a-real") # all that sm_90 has
    list(APPEND WARPWISE_CUDA_ARCHITECTURES 90-virtual)
endif()

if(WARPWISE_WITH_GPU)
    message(STATUS "Warpwise devices: simt and gpu (nvcc ${CMAKE_CUDA_COMPILER_VERSION}; ${WARPWISE_CUDA_ARCHITECTURES})")
else()
    message(STATUS "Warpwise devices: simt (no CUDA Toolkit is used)")
endif()
