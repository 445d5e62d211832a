# warpwise sass in the sandbox: a compiler that prints what ptxas prints, and disassemblers that print what stands in the kernel
# file after "sass: ". Where the toolkit's own programs are, the solutions of two lessons are looked into as well.
#   SOURCE_DIR WORK C_COMPILER PARTS  as sandbox.cmake says      WARPWISE  this build's own program
include(${CMAKE_CURRENT_LIST_DIR}/sandbox.cmake)
make_sandbox()
set(kernel ${root}/lessons/01_alpha/alpha.cu)
set(page ${root}/lessons/01_alpha/README.md)
set(prints [=[sed -n 's|^// sass: ||p' "$2"
grep -q UNREADABLE "$2" && { echo "not a cubin" >&2; exit 1; }
exit 0
]=])
write_script(${root}/tools/nvcc [=[
for word; do case $word in *.cu) source=$word ;; esac; last=$word; done
echo "$*" >>"$(dirname "$0")/nvcc.log"
grep -q BROKEN "$source" && { echo "$source(3): error: identifier \"score\" is undefined" >&2; exit 2; }
sed -n 's|^// ptxas: ||p' "$source" >&2
cp "$source" "$last"
]=])

# In front of the loop one load of 16 bytes; in it, with a loop inside that is shorter than the one after it, ...
set(code [=[
// ptxas: ptxas info    : (C7520) Potential Performance Loss: wgmma.mma_async instructions are serialized due to program dependence on compiler-inserted WG.AR in divergent path in the function '_Z12alpha_kernelPf'
// ptxas: ptxas info    : Compiling entry function '_Z12alpha_kernelPf' for 'sm_90'
// ptxas: ptxas info    : Function properties for _Z12alpha_kernelPf
// ptxas:     8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
// ptxas: ptxas info    : Used 41 registers, used 1 barriers, 8 bytes cumulative stack size, 2368 bytes smem, 400 bytes cmem[0]
// sass: 	code for sm_90
// sass: 		Function : _Z12alpha_kernelPf
// sass: 	.headerflags	@"EF_CUDA_SM90"
// sass:         /*0000*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;  /* 0x0000000402047981 */
// sass:                                                                               /* 0x000fe20000000800 */
// sass:         /*0010*/                   STL [R1], R4 ;                             /* 0x0 */
// sass:         /*0020*/              @!P0 FFMA R5, R4, R5, R6 ;                      /* 0x0 */
// sass:         /*0030*/               @P1 BRA 0x20 ;                                 /* 0x0 */
// sass:         /*0040*/                   LDS.64 R8, [R9] ;                          /* 0x0 */
// sass:         /*0050*/                   FFMA R5, R8, R5, R6 ;                      /* 0x0 */
// sass:         /*0060*/                   MUFU.EX2 R7, R5 ;                          /* 0x0 */
// sass:         /*0070*/               @P2 BRA 0x40 ;                                 /* 0x0 */
// sass:         /*0080*/               @P3 BRA 0x10 ;                                 /* 0x0 */
// sass:         /*0090*/                   LDGSTS.E.BYPASS.128 [R3], desc[UR4][R2.64] ; /* 0x0 */
// sass:         /*00a0*/                   EXIT ;                                     /* 0x0 */
// sass:         /*00b0*/                   BRA 0xb0;                                  /* 0x0 */
]=])
file(WRITE ${kernel} "${code}")
expect(2 "neither cuobjdump nor nvdisasm is on the PATH or beside .*/tools/nvcc.*packages cuda-cuobjdump and cuda-nvdisasm"
       env PATH=/nowhere ${warpwise} sass 01)
write_script(${root}/tools/cuobjdump "${prints}")
expect(0 "alpha.cu, machine code for sm_90\n" ${warpwise} sass 01)
foreach(text IN ITEMS "\nalpha_kernel.float.*\n  41 registers per thread: the 64 K registers of an SM have room for 40 warps"
        "\n  2368 bytes of static shared memory per block, 12 bytes of registers spilled"
        "\n  wgmma serialised by ptxas: each waits"
        "\n  12 instructions, 4 of them in its longest inner loop, 0x40 to 0x70\n"
        "\n  FFMA +2 +1 .25%.  f32 multiply-add\n" "\n  LDS.64 +1 +1 .25%.  load from shared memory\n"
        "\n  LDG.128 +1 +0 . 0%.  load from device memory\n" "\n  STL +1 +0 . 0%.  store to local memory: a spilled"
        "\n  LDGSTS.128 +1 +0 . 0%.  asynchronous copy" "\n  MUFU.EX2 +1 +1 .25%.  2 to the power" "\n  others +5 +1 .25%.\n$")
    if(NOT output MATCHES "${text}")
        message(SEND_ERROR "\"${text}\" is not in:\n${output}")
    endif()
endforeach()
# The page says which instructions it speaks of; spills are said in any case, and LDG does not stand for LDGSTS.
file(APPEND ${page} "\n<!-- sass: LDG FFMA -->\n")
expect(0 "those that the lesson speaks of.*FFMA.*LDG.128.*STL +1.*others" ${warpwise} sass 01)
if(output MATCHES "LDGSTS|MUFU|LDS")
    message(SEND_ERROR "more than the page speaks of:\n${output}")
endif()
expect(0 "Function : _Z12alpha_kernelPf.*LDGSTS" ${warpwise} sass 01 --listing)
expect(0 "machine code for sm_80" ${warpwise} sass 01 --arch 80)
expect(0 "" ${warpwise} sass 01 --arch sm_100)
file(READ ${root}/tools/nvcc.log calls)
if(NOT calls MATCHES "-cubin -Xptxas=-v -arch=sm_80 .*-arch=sm_100")
    message(SEND_ERROR "nvcc was called with:\n${calls}")
endif()

# nvdisasm writes labels where cuobjdump writes addresses.
file(REMOVE ${root}/tools/cuobjdump)
write_script(${root}/tools/nvdisasm "${prints}")
string(REGEX REPLACE "\t\tFunction : (_Z12alpha_kernelPf)" ".text.\\1:" code "${code}")
string(REPLACE "// sass:         /*0040*/" "// sass: .L_x_1:\n// sass:         /*0040*/" code "${code}")
string(REPLACE "BRA 0x40 ;" "BRA `(.L_x_1) ;" code "${code}")
file(WRITE ${kernel} "${code}")
expect(0 "12 instructions, 4 of them in its longest inner loop, 0x40 to 0x70\n" ${warpwise} sass 01)

# What can go wrong.
file(WRITE ${kernel} "// nothing is launched\n")
expect(77 "alpha.cu has no kernel for sm_90 yet: a template is compiled when something launches it" ${warpwise} sass 01)
file(WRITE ${kernel} "// BROKEN\n")
expect(1 "identifier \"score\" is undefined.*nvcc does not compile lessons/01_alpha/alpha.cu for sm_90" ${warpwise} sass 01)
file(WRITE ${kernel} "// UNREADABLE\n")
expect(2 "nvdisasm does not work here: not a cubin" ${warpwise} sass 01)
expect(2 "--arch hopper: write a number from 75 on" ${warpwise} sass 01 --arch hopper)
expect(2 "which lesson. For example: .*sass 10" ${warpwise} sass)
file(REMOVE ${root}/tools/nvcc)
if(NOT EXISTS /usr/local/cuda/bin/nvcc)
    expect(2 "sass needs nvcc of the CUDA Toolkit.*a GPU it does not need. On the software device: .*profile 01"
           env PATH=/nowhere ${warpwise} sass 01)
endif()

# The real programs: what a shared tile and the tensor cores compile to.
find_program(nvcc nvcc HINTS /usr/local/cuda/bin)
find_program(disassembler NAMES cuobjdump nvdisasm HINTS /usr/local/cuda/bin)
if(nvcc AND disassembler)
    expect(0 "FFMA.*f32 multiply-add.*LDS" ${WARPWISE} sass 02 --solution)
    expect(0 "HMMA.*tensor cores.*LDSM|LDSM.*HMMA" ${WARPWISE} sass 08 --solution)
else()
    message("nvcc, or a disassembler, is not here: the solutions were not looked into")
endif()
