/**
 * @file generate.c
 * @brief warpwise generate: text from a model, by lesson 17's kernels, the student's or the course's.
 *
 * The program is common/generate/generate.cu; it is built with the kernel file at every call, which takes seconds. A model whose
 * matrices are not all floats needs the kernels of another lesson, too. Kernels of two lessons may have the same name, and a linker
 * would take either for both: so all that the other lesson's object file defines becomes local to it, but for what C can call.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "build/build.h"
#include "companion.h"
#include "course/command.h"
#include "course/course.h"
#include "course/described.h"
#include "course/device.h"
#include "course/places.h"
#include "model/model.h"

enum { COMPILER_SECONDS = 300 };

/* Who multiplies with matrices that lesson 17's products do not take. */
struct others {
    const char *products;               /* header of common/generate; NULL: nobody is needed */
    const struct lesson_folder *lesson; /* whose kernels it calls */
    char *kernel;                       /* file of it */
};

/* The compiler for the device and its options; 0 if it is not installed. */
static int add_compiler(struct argument_list *words, enum device device)
{
    const int arch = device_probe(device)->arch;
    const char *suffix = architecture_suffix(arch);
    argument_add(words, device == DEVICE_SIMT ? in_build("bin/simtcc") : places.nvcc);
    argument_add_words(words, device == DEVICE_SIMT ? "-Og" : "-std=c++17 -O3");
    if (device == DEVICE_GPU)
        argument_add(words, *suffix ? format_string("-gencode=arch=compute_%d%s,code=sm_%d%s", arch, suffix,
                                                    arch, suffix)
                                    : "-arch=native");
    if (device == DEVICE_GPU && *places.cuda_host) {
        argument_add(words, "-ccbin");
        argument_add(words, places.cuda_host);
    }
    return device == DEVICE_SIMT || *places.nvcc;
}

static void add_folder(struct argument_list *words, const char *folder)
{
    argument_add(words, "-I");
    argument_add(words, in_source(folder));
}

/* Runs a program that compiles or links. EXIT_PASS, or EXIT_FAIL after its messages. */
static int run_tool(struct argument_list *words)
{
    struct process_end end;
    char *compiler = format_string("CXX=%s", places.cxx);
    const char *environment[] = {compiler, NULL};
    struct process process = {
        .arguments = words->items, .environment = environment, .seconds = COMPILER_SECONDS};
    process_run(&process, &end);
    if (end.exit_code != 0)
        fprintf(stderr, "%s",
                end.output.length ? end.output.data : format_string("%s did not start\n", *words->items));
    free(compiler);
    free(words->items);
    *words = (struct argument_list){0};
    return end.exit_code == 0 ? EXIT_PASS : EXIT_FAIL;
}

/* The other lesson's kernels as @p object, all of whose C++ names are its own. EXIT_PASS, or EXIT_FAIL after messages. */
static int build_others(const struct others *others, enum device device, const char *object)
{
    char *whole = format_string("%s.whole.o", object);
    struct argument_list words = {0};
    (void)add_compiler(&words, device);
    if (strcmp(places.cxx_id, "GNU") == 0) /* such symbols cannot be made local */
        argument_add_words(&words, device == DEVICE_SIMT ? "-fno-gnu-unique" : "-Xcompiler -fno-gnu-unique");
    add_folder(&words, "common/contracts");
    add_folder(&words, format_string("lessons/%s", others->lesson->name));
    argument_add_words(&words, "-c");
    argument_add(&words, others->kernel);
    argument_add(&words, "-o");
    argument_add(&words, object);
    int failed = run_tool(&words);
    argument_add_words(
        &words, "ld -r --force-group-allocation -o"); /* or the linker would still choose among groups */
    argument_add(&words, whole);
    argument_add(&words, object);
    if (!failed) failed = run_tool(&words);
    argument_add_words(&words, "objcopy --wildcard --keep-global-symbol=[!_]*");
    argument_add(&words, whole);
    argument_add(&words, object);
    if (!failed) failed = run_tool(&words);
    unlink(whole);
    free(whole);
    return failed;
}

/* Builds @p kernel and the program around it as @p program. EXIT_PASS, or EXIT_TROUBLE or EXIT_FAIL after
 * messages. */
static int build_program(const char *kernel, const struct others *others, enum device device,
                         const char *program, const char *others_object)
{
    static const char *const folders[] = {"common", "common/contracts", "common/decode",
                                          "lessons/17_decode_engine"};
    static const char *const libraries[] = {"lib/libengine.a", "lib/libmodel.a", "lib/libbase.a"};
    struct argument_list words = {0};
    if (!add_compiler(&words, device)) return complain("there is no nvcc here; see warpwise doctor.");
    if (others->products != NULL && build_others(others, device, others_object) != EXIT_PASS)
        return EXIT_FAIL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) add_folder(&words, folders[i]);
    if (others->products != NULL) {
        add_folder(&words, format_string("lessons/%s", others->lesson->name));
        argument_add(&words, format_string("-DPRODUCTS=\"%s\"", others->products));
    }
    argument_add(&words, format_string("-DTINY_MODEL=\"%s/reference/tiny_model\"", places.source_dir));
    argument_add(&words, in_source("common/generate/generate.cu"));
    argument_add(&words, kernel);
    if (device == DEVICE_GPU) argument_add(&words, in_source("common/runner/tensor_maps.c"));
    if (others->products != NULL) argument_add(&words, others_object);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        argument_add(&words, in_build(libraries[i]));
    argument_add(&words, "-o");
    argument_add(&words, program);
    return run_tool(&words);
}

/* Who else is needed for the model. EXIT_PASS, or EXIT_TROUBLE after a complaint. */
static int find_others(const char *model, int solution, struct others *others)
{
    struct model_config config = {0};
    char error[MODEL_ERROR] = "", *path = format_string("%s/config.json", model);
    const int known = strcmp(model, "tiny") == 0 || model_config_named(&config, model) == 0;
    const int failed = !known && model_config_read(&config, path, error) != 0;
    free(path);
    if (failed) return complain("%s.", error);
    *others = (struct others){0};
    const char *lesson = NULL;
    if (config.experts > 0)
        lesson = "21", others->products = "products_experts.h";
    else if (config.storage == MODEL_INT8)
        lesson = "13", others->products = "products_int8.h";
    else if (config.storage != MODEL_FLOATS)
        lesson = "20", others->products = "products_w4.h";
    if (lesson == NULL) return EXIT_PASS;
    others->lesson = course_find_lesson(lesson);
    if (others->lesson == NULL) return EXIT_TROUBLE;
    others->kernel = course_kernel_path(others->lesson, solution);
    return build_kernel_file_usable(others->kernel);
}

/* Replaces this process by the program, and passes on the options meant for it. */
static int run_program(const char *program, const struct command_line *line)
{
    static const char *const ours[] = {"--device", "--kernel", "--solution"};
    struct argument_list words = {0};
    argument_add(&words, program);
    for (size_t i = 0; i < line->count; i++) {
        int own = 0;
        for (size_t k = 0; k < sizeof ours / sizeof ours[0]; k++) own |= strcmp(line->name[i], ours[k]) == 0;
        if (own) continue;
        argument_add(&words, line->name[i]);
        argument_add(&words, line->value[i]);
    }
    fflush(stdout);
    execv(program, (char *const *)(uintptr_t)words.items);
    return complain("%s cannot be started: %s.", program, strerror(errno));
}

static int run_generate(const struct command_line *line)
{
    struct device_choice choice;
    const char *given = option_value(line, "--kernel");
    const struct lesson_folder *lesson = course_find_lesson("17");
    if (option_value(line, "--model") == NULL || option_value(line, "--prompt") == NULL)
        return complain(
            "which model and prompt? For example: warpwise generate --model tiny --prompt \"A warp\"");
    if (lesson == NULL || device_choose(option_value(line, "--device"), &choice) != EXIT_PASS)
        return EXIT_TROUBLE;
    const int gpu = choice.wanted[DEVICE_GPU] && device_probe(DEVICE_GPU)->usable;
    const enum device device = gpu ? DEVICE_GPU : DEVICE_SIMT;
    if (!choice.wanted[device]) return complain("there is no such device here; see warpwise doctor.");
    char *kernel = given != NULL ? copy_string(given)
                                 : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    struct others others;
    if (build_kernel_file_usable(kernel) != EXIT_PASS ||
        find_others(option_value(line, "--model"), option_value(line, "--solution") != NULL, &others) !=
            EXIT_PASS)
        return EXIT_TROUBLE;
    char *folder = in_build("generate");
    char *program =
        format_string("%s/%s%s%.2s", folder, device_name(device), others.lesson != NULL ? "_" : "",
                      others.lesson != NULL ? others.lesson->name : "");
    char *made = format_string("%s.%d", program, (int)getpid());
    const int error = make_folders(folder);
    if (error) return complain("%s cannot be created: %s.", folder, strerror(error));
    char *made_object = format_string("%s.o", made), *object = format_string("%s.o", program);
    const int built = build_program(kernel, &others, device, made, made_object);
    if (built != EXIT_PASS) return built;
    if (rename(made, program) != 0 || (others.products != NULL && rename(made_object, object) != 0))
        return complain("%s cannot be written: %s.", program, strerror(errno));
    return run_program(program, line);
}

static const struct option_description generate_options[] = {
    {"--model", "NAME", "tiny, 0.6B or 8B (shapes, weights from a seed), or a folder", 0},
    {"--prompt", "TEXT", "what the text begins with", 0},
    {"--tokens", "N", "at most so many more; 64 without it", 0},
    {"--requests", "N", "the same prompt so many times at once; the first is shown", 0},
    {"--chunk", "N", "tokens of prompts in one step, at most; 64 without it", 0},
    {"--context", "N", "positions of a request that the cache has room for", 0},
    {"--temperature", "T", "0, as without it: always the most probable token", 0},
    {"--top-p", "P", "only the most probable tokens, of probability P together", 0},
    {"--top-k", "K", "only the K most probable tokens", 0},
    {"--seed", "S", "of what is sampled", 0},
    {"--show", "N", "the request whose text is shown; 1 without it", 0},
    {"--sharing", "on|off",
     "requests that begin alike share blocks of the cache: the same bits; on without it", 0},
    {"--device", "gpu|simt", "where to run; without it, the GPU if there is one", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {0},
};

const struct command generate_command = {
    .name = "generate",
    .summary = "text from a model, by your kernels of lesson 17",
    .details = "A folder is as Hugging Face's transformers write it: config.json, weights as .safetensors,\n"
               "tokenizer.json. Its matrices are floats, or of 4 bits (AWQ, GPTQ: your kernels of lesson 20 "
               "multiply),\n"
               "or of 8 (compressed-tensors: lesson 13), or it has experts (Qwen3-MoE: lesson 21). Tokens "
               "per second of prompts and of what follows are told at the end.",
    .options = generate_options,
    .run = run_generate,
};
