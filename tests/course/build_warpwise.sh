# build_warpwise DEVICES CXX [NVCC]: build/bin/warpwise of the course in folder $root, compiled for exactly this place. All but
# places.c, which says where things lie, comes from the libraries in folder PARTS. With TRUSTING, submissions are built as the
# user's own files are: stub compilers make no object files to look into.
build_warpwise() {
    mkdir -p build/generated build/bin
    sed -e "s|@PROJECT_VERSION@|1.2.3|; s|@PROJECT_SOURCE_DIR@|$root|; s|@PROJECT_BINARY_DIR@|$root/build|" \
        -e "s|@WARPWISE_RUNNER_DEVICES@|$1|; s|@CMAKE_CXX_COMPILER@|$2|; s|@CMAKE_CUDA_COMPILER@|$3|" \
        -e "s|@CMAKE_CXX_COMPILER_ID@|Stub|; s|@CMAKE_CXX_COMPILER_VERSION@|1.2.3|; s|@CMAKE_CUDA_COMPILER_VERSION@|13.0.88|" \
        -e "s|@WARPWISE_CUDA_ARCHITECTURES@|80-real;90-real;90-virtual|; s|@CMAKE_COMMAND@|$CMAKE|; s|@CMAKE_VERSION@|3.25|; s|@[A-Z_]*@||" \
        "$SOURCE_DIR/common/course/places.c.in" >build/generated/places.c
    $C_COMPILER -std=c11 -D_GNU_SOURCE -O0 -I"$SOURCE_DIR/common" build/generated/places.c ${TRUSTING:+"$SOURCE_DIR/tests/course/build_trusting.c"} \
        -L"$PARTS" -lwarpwise_parts -lcompanion -lmodel -lengine -ltrace -lgrading -ljudging -lrecord -lbuild -lsimtcc_lexer -lcourse -lsandbox -lbase \
        -o build/bin/warpwise -pthread -lm
}
