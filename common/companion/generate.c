/**
 * @file generate.c
 * @brief warpwise generate: text from a model, by lesson 17's kernels, the student's or the course's.
 *
 * The program is common/generate/generate.cu; it is built with the kernel file at every call, which takes seconds.
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
#include "course/device.h"
#include "course/places.h"

enum { COMPILER_SECONDS = 300 };

/* The compiler for the device and its options; 0 if it is not installed. */
static int add_compiler(struct argument_list *words, enum device device)
{
    argument_add(words, device == DEVICE_SIMT ? in_build("bin/simtcc") : places.nvcc);
    argument_add_words(words, device == DEVICE_SIMT ? "-Og" : "-std=c++17 -O3 -arch=native");
    if (device == DEVICE_GPU && *places.cuda_host) {
        argument_add(words, "-ccbin");
        argument_add(words, places.cuda_host);
    }
    return device == DEVICE_SIMT || *places.nvcc;
}

/* Builds @p kernel and the program around it as @p program. EXIT_PASS, or EXIT_TROUBLE after the
 * compiler's messages. */
static int build_program(const char *kernel, enum device device, const char *program)
{
    static const char *const folders[] = {"common", "common/contracts", "common/decode",
                                          "lessons/17_decode_engine"};
    static const char *const libraries[] = {"lib/libengine.a", "lib/libmodel.a", "lib/libbase.a"};
    struct argument_list words = {0};
    struct process_end end;
    if (!add_compiler(&words, device)) return complain("there is no nvcc here; see warpwise doctor.");
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        argument_add(&words, "-I");
        argument_add(&words, in_source(folders[i]));
    }
    argument_add(&words, format_string("-DTINY_MODEL=\"%s/common/model/tiny\"", places.source_dir));
    argument_add(&words, in_source("common/generate/generate.cu"));
    argument_add(&words, kernel);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        argument_add(&words, in_build(libraries[i]));
    argument_add(&words, "-o");
    argument_add(&words, program);
    char *compiler = format_string("CXX=%s", places.cxx);
    const char *environment[] = {compiler, NULL};
    struct process process = {
        .arguments = words.items, .environment = environment, .seconds = COMPILER_SECONDS};
    process_run(&process, &end);
    free(compiler);
    free(words.items);
    if (end.exit_code == 0) return EXIT_PASS;
    fputs(end.output.length ? end.output.data : "the compiler did not start\n", stderr);
    return EXIT_FAIL;
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
    if (!option_value(line, "--model") || !option_value(line, "--prompt"))
        return complain(
            "which model and prompt? For example: warpwise generate --model tiny --prompt \"A warp\"");
    if (!lesson || device_choose(option_value(line, "--device"), &choice) != EXIT_PASS) return EXIT_TROUBLE;
    const int gpu = choice.wanted[DEVICE_GPU] && device_probe(DEVICE_GPU)->usable;
    const enum device device = gpu ? DEVICE_GPU : DEVICE_SIMT;
    if (!choice.wanted[device]) return complain("there is no such device here; see warpwise doctor.");
    char *kernel =
        given ? copy_string(given) : course_kernel_path(lesson, option_value(line, "--solution") != NULL);
    if (build_kernel_file_usable(kernel) != EXIT_PASS) return EXIT_TROUBLE;
    char *folder = in_build("generate"), *program = format_string("%s/%s", folder, device_name(device));
    char *made = format_string("%s.%d", program, (int)getpid());
    const int error = make_folders(folder);
    if (error) return complain("%s cannot be created: %s.", folder, strerror(error));
    const int built = build_program(kernel, device, made);
    if (built != EXIT_PASS) return built;
    if (rename(made, program) != 0) return complain("%s cannot be written: %s.", program, strerror(errno));
    return run_program(program, line);
}

static const struct option_description options[] = {
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
    {"--device", "gpu|simt", "where to run; without it, the GPU if there is one", 0},
    {"--kernel", "FILE.cu", "this file instead of the lesson's", 0},
    {"--solution", NULL, "the course's own solution", 0},
    {0},
};

const struct command generate_command = {
    .name = "generate",
    .summary = "text from a model, by your kernels of lesson 17",
    .details = "A folder is as Hugging Face's transformers write it: config.json, weights as .safetensors,\n"
               "tokenizer.json. Tokens per second of prompts and of what follows are told at the end.",
    .options = options,
    .run = run_generate,
};
