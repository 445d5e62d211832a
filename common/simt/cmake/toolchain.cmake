# Builds a CMake project that uses CUDA for the Warpwise software device: no CUDA Toolkit and no GPU are needed, and nothing in
# the project changes.
#
#   cmake -S project -B build-simt -DCMAKE_TOOLCHAIN_FILE=PREFIX/share/simt/cmake/toolchain.cmake
#
# (In the course's folder: common/simt/cmake/toolchain.cmake, after `cmake --build build`.) CMake's language CUDA is then
# simtcc; find_package(CUDAToolkit) finds CUDA::cudart and its like, which are this device. SIMT_ARCHITECTURE, sm_90 unless
# set, is what __CUDA_ARCH__ stands for; CUDA_ARCHITECTURES of targets mean nothing here.
get_filename_component(simt_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(simt_folder IN ITEMS "$ENV{WARPWISE_SIMT_ROOT}/bin" "$ENV{WARPWISE_SIMT_ROOT}/build/bin" "${simt_root}/bin" "${simt_root}/build/bin")
    if(NOT CMAKE_CUDA_COMPILER AND EXISTS "${simt_folder}/simtcc")
        set(CMAKE_CUDA_COMPILER "${simt_folder}/simtcc" CACHE FILEPATH "Compiler driver of the software device")
    endif()
endforeach()
if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "There is no simtcc beside ${CMAKE_CURRENT_LIST_FILE}. In the course's folder: cmake --build build. "
                        "Elsewhere set the environment variable WARPWISE_SIMT_ROOT.")
endif()
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}") # Compiler/Simt-CUDA.cmake, FindCUDAToolkit.cmake
set(CMAKE_CUDA_COMPILER_ID Simt)
set(CMAKE_CUDA_COMPILER_ID_RUN TRUE)
set(CMAKE_CUDA_COMPILER_FORCED TRUE) # it makes programs for this machine, and that is all CMake would try
set(CMAKE_CUDA_COMPILER_VERSION 13.0)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF)
endif()
