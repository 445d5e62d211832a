/**
 * @file object_check.c
 * @brief The rules for what stands in an untrusted object file.
 */
#include "machine_code.h"
#include "object_check.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "boundary/calls.h"
#include "course/device.h"
#include "object_file.h"

enum { CONSTANT_BYTES = 64 << 10, VARIABLE_BYTES = 64 << 10 /* as on the software device */ };

/* ---- the lists ----------------------------------------------------------------------------------------- */

/* Functions that only compute; each also with a final f for float. */
static const char mathematics[] = " exp exp2 exp10 expm1 log log2 log10 log1p pow sqrt cbrt hypot sin cos "
                                  "tan asin acos atan atan2 sinh cosh tanh"
                                  " asinh acosh atanh fabs fmin fmax fma fmod remainder remquo floor ceil "
                                  "round rint nearbyint trunc ldexp frexp"
                                  " scalbn scalbln logb ilogb erf erfc tgamma lgamma copysign nextafter "
                                  "nexttoward fdim modf lround llround lrint"
                                  " llrint sincos nan rsqrt normcdf j0 j1 y0 y1 ";
/* On a GPU, and in a student's own check: memory of the file's own, copies, output for the reader; and functions that
 * compilers themselves call, for exceptions, too. */
static const char gpu_names[] =
    " malloc calloc realloc free memcpy memmove memset memcmp memchr abs labs llabs printf puts putchar"
    " fprintf fputs fputc putc fwrite fflush perror stdout stderr __assert_fail __printf_chk __fprintf_chk"
    " snprintf sprintf vsnprintf __snprintf_chk __sprintf_chk __vsnprintf_chk strerror __errno_location"
    " strlen strcmp strncmp strchr strrchr strstr strcpy strncpy strcat __strcpy_chk __strncpy_chk "
    "__strcat_chk"
    " rand srand qsort bsearch time clock __ctype_b_loc exit abort "

    " __memcpy_chk __memset_chk __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort "
    "__gxx_personality_v0"
    " _Unwind_Resume __stack_chk_fail _GLOBAL_OFFSET_TABLE_ _Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv _ZdaPvm"
    " __cxa_pure_virtual __tls_get_addr __cxa_begin_catch __cxa_end_catch __cxa_rethrow"
    " _ZSt17__throw_bad_allocv _ZSt20__throw_length_errorPKc _ZSt28__throw_bad_array_new_lengthv"
    " _ZSt24__throw_out_of_range_fmtPKcz _ZSt25__throw_bad_function_callv ";
/* What host code may call in CUDA: launches, limits, work on streams, graphs. Nothing that allocates,
 * waits, reads back or changes the device for others. */
static const char cuda_names[] =
    " cudaGetLastError cudaPeekAtLastError cudaGetErrorName cudaGetErrorString cudaLaunchKernel "
    "cudaLaunchKernelExC"
    " cudaLaunchCooperativeKernel cudaFuncSetAttribute cudaFuncGetAttributes cudaFuncSetCacheConfig "
    "cudaGetDevice"
    " cudaDeviceGetAttribute cudaGetDeviceProperties cudaGetDeviceProperties_v2 cudaPointerGetAttributes"
    " cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"
    " cudaOccupancyMaxPotentialBlockSize cudaOccupancyAvailableDynamicSMemPerBlock"
    " cudaMemsetAsync cudaMemset2DAsync cudaMemcpyAsync cudaMemcpyToSymbolAsync"
    " cudaGetSymbolAddress cudaGetSymbolSize"
    " cudaStreamBeginCapture cudaStreamEndCapture cudaStreamIsCapturing cudaStreamGetCaptureInfo"
    " cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v3 cudaStreamUpdateCaptureDependencies"
    " cudaStreamWaitEvent cudaStreamCreate cudaStreamCreateWithFlags cudaStreamCreateWithPriority "
    "cudaStreamDestroy"
    " cudaStreamGetFlags cudaStreamGetPriority cudaStreamQuery cudaThreadExchangeStreamCaptureMode"
    " cudaEventCreate cudaEventCreateWithFlags cudaEventRecord cudaEventRecordWithFlags cudaEventDestroy"
    " cudaEventQuery cudaGraphCreate cudaGraphClone cudaGraphDestroy cudaGraphInstantiate "
    "cudaGraphInstantiateWithFlags"
    " cudaGraphLaunch cudaGraphUpload cudaGraphExecDestroy cudaGraphExecUpdate cudaGraphAddKernelNode"
    " cudaGraphAddMemsetNode cudaGraphAddEmptyNode"
    " cudaGraphAddDependencies cudaGraphAddChildGraphNode cudaGraphGetNodes cudaGraphGetRootNodes "
    "cudaGraphGetEdges"
    " cudaGraphNodeGetType cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetParams "
    "cudaGraphExecKernelNodeSetParams"
    " cudaGraphExecMemsetNodeSetParams cuTensorMapEncodeTiled cudaSetDevice"
    " ncclGroupStart ncclGroupEnd ncclAllReduce ncclReduceScatter ncclAllGather ncclBroadcast ncclSend "
    "ncclRecv"
    " ncclCommCount ncclCommUserRank ncclCommGetAsyncError ncclGetErrorString ";
/* Functions that nvcc's generated code calls. */
static const char nvcc_names[] =
    " __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction"
    " __cudaRegisterVar __cudaPushCallConfiguration"
    " __cudaPopCallConfiguration __cudaGetKernel __cudaLaunchKernel __cudaLaunchKernel_ptsz atexit "
    "__dso_handle ";

static int in_list(const char *list, const char *name, size_t length)
{
    for (const char *at = list; (at = strstr(at, " ")) != NULL && at[1]; at++) {
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == ' ') return 1;
    }
    return 0;
}

int object_is_mathematics(const char *name)
{
    size_t length = strlen(name);
    return length > 1 && (in_list(mathematics, name, length) ||
                          (name[length - 1] == 'f' && in_list(mathematics, name, length - 1)));
}

int object_needs_no_gate(const char *name)
{
    char *word = format_string(" %s ", name);
    int is_free = strstr(BOUNDARY_FREE BOUNDARY_MACHINE, word) != NULL || strncmp(name, "__tsan_", 7) == 0 ||
                  machine_code_report(name) != 0 ||                  /* simt/machine/own_reports.c */
                  strncmp(name, "__x86_indirect_thunk_", 21) == 0 || /* which is its own gate */
                  object_is_mathematics(name);
    free(word);
    return is_free;
}

int object_has_gate(const char *name)
{
    static const char *const gated[] = {
#define NAME_OF(name, ...) #name,
        BOUNDARY_CALLS(NAME_OF) BOUNDARY_GATED(NAME_OF)
#undef NAME_OF
    };
    for (size_t i = 0; i < sizeof gated / sizeof gated[0]; i++)
        if (strcmp(name, gated[i]) == 0) return 1;
    return 0;
}

/* 1 if @p text contains @p name as a word; if asked so, as the name of a function. */
static int is_word_of(const char *text, const char *name, int function)
{
    size_t length = strlen(name);
    for (const char *at = text; length > 0 && (at = strstr(at, name)) != NULL; at++) {
        const char *after = at + length;
        int begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        int ends = !(isalnum((unsigned char)*after) || *after == '_');
        if (begins && ends && (!function || after[strspn(after, " \t\n")] == '(')) return 1;
    }
    return 0;
}

/* C++ names that only this file can define: not those of the standard library or of operator new. */
static int is_own_cpp_name(const char *name)
{
    static const char *const library[] = {"_ZSt",  "_ZNSt", "_ZNKSt", "_ZTVN10__", "_ZTIN10__", "_Znw",
                                          "_Zna",  "_Zdl",  "_Zda",   "_ZN10__",   "_ZN9__gnu", "_ZNSi",
                                          "_ZNSo", "_ZTv",  "_ZThn",  NULL};
    if (strncmp(name, "_Z", 2) != 0) return 0;
    for (size_t i = 0; library[i] != NULL; i++) {
        if (strncmp(name, library[i], strlen(library[i])) == 0) return 0;
    }
    return 1;
}

/* A template of the standard library that this file instantiates: other objects may define the same one.
 * Ours do not (our libraries are in C), and names of operator new belong to the device. */
static int is_library_template(const Elf64_Sym *symbol, const char *name)
{
    static const char *const library[] = {"_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu", "_ZZNSt", NULL};
    unsigned bind = ELF64_ST_BIND(symbol->st_info);
    for (size_t i = 0; library[i] != NULL && (bind == STB_WEAK || bind == STB_GNU_UNIQUE); i++) {
        if (strncmp(name, library[i], strlen(library[i])) == 0) return 1;
    }
    return 0;
}

static int may_refer_to(const struct object_rules *rules, const char *name)
{
    size_t length = strlen(name);
    if (object_is_mathematics(name) || in_list(cuda_names, name, length) ||
        is_word_of(rules->contract, name, 1))
        return 1;
    if ((rules->device == DEVICE_GPU || rules->is_own) && in_list(gpu_names, name, length)) return 1;
    if (rules->device == DEVICE_GPU) return in_list(nvcc_names, name, length);
    return object_has_gate(name) || object_needs_no_gate(name);
}

/* ---- the rules ----------------------------------------------------------------------------------------- */

/* The name of a symbol in the source: of a C++ name the first plain part. */
static char *source_name(const char *name)
{
    const char *digits = name;
    if (strncmp(name, "_GLOBAL__sub_I_", 15) == 0) return source_name(name + 15);
    if (strncmp(name, "_Z", 2) != 0) return copy_string(name);
    while (*digits && !isdigit((unsigned char)*digits)) digits++;
    size_t length = strtoul(digits, (char **)&digits, 10);
    return length > 0 && length < strlen(digits) + 1 ? format_string("%.*s", (int)length, digits)
                                                     : copy_string(name);
}

static int refuse(struct object_finding *finding, const char *symbol, const char *format, const char *name)
{
    finding->symbol = symbol != NULL ? source_name(symbol) : NULL;
    struct text message = {0};
    for (const char *at = format; *at; at++) {
        if (*at == '%')
            text_print(&message, "%s", name);
        else
            text_append(&message, at, 1);
    }
    finding->message = message.data;
    return 0;
}

/* The device's headers rename some C functions by an assembler name, malloc to simt_malloc: the source
 * says malloc. */
static const char *name_as_written(const struct object_rules *rules, const char *name)
{
    char *label = format_string("__asm__(\"%s\")", name);
    int is_sent = strncmp(name, "simt_", 5) == 0 && strstr(rules->device_headers, label) != NULL;
    free(label);
    return is_sent ? name + 5 : name;
}

static int check_defined(const struct object_rules *rules, const Elf64_Sym *symbol, const char *name,
                         struct object_finding *finding)
{
    if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) {
        /* Such names are the compiler's ([lex.name]); what it calls by one, its thunks among them, is the device's. */
        if (rules->device == DEVICE_GPU || strncmp(name, "__", 2) != 0) return 1;
        return refuse(finding, name, "defines %, and names that begin so are the compiler's own", name);
    }
    if (symbol->st_shndx == SHN_COMMON || symbol->st_shndx == SHN_ABS)
        return refuse(finding, name, "defines % for everybody to see: make it static", name);
    if (is_word_of(rules->contract, name, 1) || is_own_cpp_name(name)) return 1;
    if (is_library_template(symbol, name)) return 1;
    if (strncmp(name, "DW.ref.", 7) == 0 && (rules->device == DEVICE_GPU || rules->is_own))
        return 1; /* the compiler's, for exceptions */
    name = name_as_written(rules, name);
    return refuse(finding, name,
                  "defines %, which is none of the contract's functions: make it static, or leave it out",
                  name);
}

static int check_symbols(const struct object *object, const struct object_rules *rules,
                         struct object_finding *finding)
{
    for (size_t i = 1; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbol[i];
        const char *name = object_symbol_name(object, symbol);
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if (type == STT_GNU_IFUNC)
            return refuse(finding, name, "has % chosen by code that runs before main", name);
        if (type == STT_FILE || type == STT_SECTION) continue;
        if (symbol->st_shndx != SHN_UNDEF) {
            if (!check_defined(rules, symbol, name, finding)) return 0;
        } else if (*name && !may_refer_to(rules, name)) {
            return refuse(finding, name, "calls or uses %, which a kernel file has no use for", name);
        }
    }
    return 1;
}

/* The target of a relocation: a section and an offset in it; and the name, if it is a symbol. */
static int target_of(const struct object *object, const Elf64_Rela *relocation, size_t *section, uint64_t *at,
                     const char **name)
{
    size_t index = ELF64_R_SYM(relocation->r_info);
    if (index >= object->symbol_count) return 0;
    const Elf64_Sym *symbol = &object->symbol[index];
    *section = symbol->st_shndx;
    *at = symbol->st_value + (uint64_t)relocation->r_addend;
    *name = object_symbol_name(object, symbol);
    return 1;
}

/* The name of the function that begins at a place, "" if there is none. */
static const char *function_at(const struct object *object, size_t section, uint64_t at)
{
    for (size_t i = 1; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbol[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx == section &&
            symbol->st_value == at)
            return object_symbol_name(object, symbol);
    }
    return "";
}

/* The one function that each compiler itself runs at the start: nvcc's registers the kernels, the other's
 * says that accesses are reported. */
static int is_compilers_own(enum device device, const char *function)
{
    if (device == DEVICE_GPU) return strstr(function, "__sti____cudaRegisterAll") != NULL;
    return strncmp(function, "_sub_I_00099_", 13) == 0 || strcmp(function, "tsan.module_ctor") == 0;
}

static int check_start_list(const struct object *object, const Elf64_Shdr *list,
                            const struct object_rules *rules, int *entries, struct object_finding *finding)
{
    size_t number = (size_t)(list - object->section);
    for (size_t i = 0; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->section[i];
        if ((section->sh_type != SHT_RELA && section->sh_type != SHT_REL) || section->sh_info != number)
            continue;
        if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela) ||
            section->sh_offset % 8 != 0 || !object_holds(object, section->sh_offset, section->sh_size))
            return refuse(finding, NULL, "has relocations that cannot be read", "");
        const Elf64_Rela *relocation = (const Elf64_Rela *)(const void *)(object->data + section->sh_offset);
        for (size_t r = 0; r < section->sh_size / sizeof *relocation; r++) {
            size_t where;
            uint64_t at;
            const char *name;
            if (!target_of(object, &relocation[r], &where, &at, &name))
                return refuse(finding, NULL, "has relocations that cannot be read", "");
            const char *function = function_at(object, where, at);
            if (is_compilers_own(rules->device, function) && ++*entries == 1) continue;
            return refuse(finding, *function ? function : NULL,
                          "has code that runs before main (%): no constructors and no objects that need one",
                          *function ? function : "unnamed");
        }
    }
    return list->sh_size <= 8 * (size_t)*entries ||
           refuse(finding, NULL, "has code that runs before main: no constructors", "");
}

static int begins(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* A linker gives some sections a meaning by their name alone. */
static int check_section_name(const char *name, struct object_finding *finding)
{
    static const char *const usual[] = {".text",
                                        ".data",
                                        ".bss",
                                        ".rodata",
                                        ".tdata",
                                        ".tbss",
                                        ".rela.",
                                        ".symtab",
                                        ".strtab",
                                        ".shstrtab",
                                        ".group",
                                        ".comment",
                                        ".note.",
                                        ".debug_",
                                        ".eh_frame",
                                        ".gcc_except_table",
                                        ".nv_fatbin",
                                        ".nvFatBinSegment",
                                        "__nv_relfatbin",
                                        "__nv_module_id",
                                        ".tm_clone_table",
                                        "simt_device",
                                        ".relasimt_device", /* pointers in such variables */
                                        "simt_constant",
                                        ".relasimt_constant",
                                        "__patchable_function_entries", /* of kernels */
                                        ".rela__patchable_function_entries",
                                        ".symtab_shndx",
                                        ".llvm_addrsig",
                                        ".lbss",
                                        ".lrodata",
                                        ".ldata",
                                        ".llvm.",
                                        NULL};
    for (size_t i = 0; usual[i] != NULL; i++) {
        if (begins(name, usual[i])) return 1;
    }
    return *name == '\0' || refuse(finding, NULL, "has a section % that no compiler makes by itself", name);
}

static int check_sections(const struct object *object, const struct object_rules *rules,
                          struct object_finding *finding)
{
    int entries = 0;
    uint64_t constant_bytes = 0;
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->section[i];
        const char *name = object_section_name(object, section);
        int starts =
            section->sh_type == SHT_INIT_ARRAY || begins(name, ".init_array") || begins(name, ".ctors");
        if (strcmp(name, ".nv_fatbin") == 0 && object_holds(object, section->sh_offset, section->sh_size) &&
            object_device_bytes(object->data + section->sh_offset, section->sh_size) > VARIABLE_BYTES)
            return refuse(finding, NULL,
                          "has more than 64 KB of __device__ variables, room for more than tables", "");
        if (strcmp(name, "simt_constant") == 0) constant_bytes += section->sh_size;
        if (constant_bytes > CONSTANT_BYTES)
            return refuse(finding, NULL, "has more than 64 KB of __constant__ variables, which no GPU has",
                          "");
        if (starts && section->sh_type != SHT_RELA) {
            if (!check_start_list(object, section, rules, &entries, finding)) return 0;
        } else if (section->sh_type == SHT_FINI_ARRAY || section->sh_type == SHT_PREINIT_ARRAY ||
                   begins(name, ".fini") || begins(name, ".preinit_array") || begins(name, ".dtors") ||
                   strcmp(name, ".init") == 0) {
            /* The software device's compiler puts nothing here; nvcc uses it for atexit. */
            return refuse(finding, NULL, "has code that runs before or after main (section %)", name);
        } else if (!starts && !check_section_name(name, finding)) {
            return 0;
        }
    }
    return 1;
}

/* nvcc's own start code calls atexit; nothing else may. */
static int check_atexit(const struct object *object, struct object_finding *finding)
{
    const Elf64_Sym *own = NULL;
    for (size_t i = 1; i < object->symbol_count; i++) {
        if (strstr(object_symbol_name(object, &object->symbol[i]), "__sti____cudaRegisterAll") != NULL)
            own = &object->symbol[i];
    }
    for (size_t i = 1; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->section[i];
        if (section->sh_type != SHT_RELA || section->sh_offset % 8 != 0 ||
            !object_holds(object, section->sh_offset, section->sh_size))
            continue;
        const Elf64_Rela *relocation = (const Elf64_Rela *)(const void *)(object->data + section->sh_offset);
        for (size_t r = 0; r < section->sh_size / sizeof *relocation; r++) {
            size_t where;
            uint64_t at;
            const char *name;
            if (!target_of(object, &relocation[r], &where, &at, &name) || strcmp(name, "atexit") != 0)
                continue;
            uint64_t from = relocation[r].r_offset;
            if (own == NULL || section->sh_info != own->st_shndx || from < own->st_value ||
                from - own->st_value >= own->st_size)
                return refuse(finding, "atexit", "calls %, which a kernel file has no use for", "atexit");
        }
    }
    return 1;
}

int object_check(const char *path, const struct object_rules *rules, struct object_finding *finding)
{
    struct object object = {0};
    *finding = (struct object_finding){0};
    int fine = object_read(path, &object);
    if (!fine) {
        refuse(finding, NULL, "did not compile to an object file that can be read", "");
    } else {
        fine = check_sections(&object, rules, finding) && check_symbols(&object, rules, finding) &&
               (rules->device != DEVICE_GPU || check_atexit(&object, finding));
    }
    free(object.data);
    return fine;
}
