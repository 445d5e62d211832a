/**
 * @file doctor.c
 * @brief warpwise doctor: what is installed, what is missing, and what to do about it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "companion.h"
#include "course/command.h"
#include "course/device.h"
#include "course/places.h"

enum finding { FINDING_OK, FINDING_OPTIONAL, FINDING_MISSING };

enum { PROBE_SECONDS = 60, ENOUGH_DISK_MB = 1024, ENOUGH_MEMORY_MB = 1024 };

/* One line of the list; @p remedy is shown unless all is well. */
static void report(enum finding finding, const char *what, const char *found, const char *remedy)
{
    static const char *const words[] = {"ok", "optional", "missing"};
    static const enum colour colours[] = {COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED};
    printf("  %s%-9s%s %-18s %s\n", colour_on(colours[finding]), words[finding], colour_off(), what, found);
    if (finding != FINDING_OK && *remedy) printf("  %-9s %-18s -> %s\n", "", "", remedy);
}

/* Runs @p program with @p option and copies the first line of output that contains @p mark. NULL if it
 * does not run. */
static char *ask_program(const char *program, const char *option, const char *mark)
{
    struct process_end end;
    char *path = find_program(program), *answer = NULL;
    if (path == NULL) return NULL;
    const char *arguments[] = {path, option, NULL};
    process_run(&(struct process){.arguments = arguments, .seconds = PROBE_SECONDS}, &end);
    const char *rest = end.output.data;
    for (char *line; answer == NULL && end.exit_code == 0 && (line = next_word(&rest, '\n')) != NULL;) {
        if (*line && strstr(line, mark) != NULL) answer = line;
    }
    text_free(&end.output);
    free(path);
    return answer;
}

/* Reports an optional program; returns 1 if it is there. */
static int report_program(const char *program, const char *option, const char *mark, const char *purpose)
{
    char *version = ask_program(program, option, mark);
    report(version != NULL ? FINDING_OK : FINDING_OPTIONAL, program, version != NULL ? version : "not found",
           purpose);
    free(version);
    return version != NULL;
}

static int look_at_host(void)
{
    struct utsname host;
    uname(&host);
    char *name = format_string("%s %s on %s", host.sysname, host.release, host.machine);
    int supported = strcmp(host.machine, "x86_64") == 0 || strcmp(host.machine, "aarch64") == 0;
    report(supported ? FINDING_OK : FINDING_MISSING, "host", name,
           "supported are Linux on x86-64 and aarch64; elsewhere use WSL2 or a container");
    free(name);
    return supported;
}

static int look_at_compiler(void)
{
    char *version = ask_program(places.cxx, "--version", "");
    report(version != NULL ? FINDING_OK : FINDING_MISSING, "C++ compiler",
           version != NULL ? version : format_string("%s is not found", places.cxx),
           "install g++ (Debian, Ubuntu: apt install g++) and configure anew: cmake --fresh");
    if (version != NULL && strstr(places.cxx_id, "Clang") != NULL) {
        report(FINDING_OPTIONAL, "",
               "clang splits wide loads: verdicts hold, counters do not; it grades no submissions",
               "for counters that match a GPU's, and to grade, configure with CXX=g++");
    }
    int found = version != NULL;
    free(version);
    return found;
}

static int look_at_parts(void)
{
    static const char *const parts[] = {"bin/checker", "bin/simtcc", "lib/libsimt.a"};
    char *missing = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *path = format_string("%s/%s", places.binary_dir, parts[i]);
        if (missing == NULL && access(path, R_OK) != 0) missing = format_string("%s is not built", path);
        free(path);
    }
    report(missing != NULL ? FINDING_MISSING : FINDING_OK, "course",
           missing != NULL ? missing : places.binary_dir,
           format_string("run cmake --build %s", places.binary_dir));
    free(missing);
    return missing == NULL;
}

static const char tiny_program[] =
    "#include <cuda_runtime.h>\n"
    "__global__ void set_kernel(int *out) { out[threadIdx.x] = threadIdx.x; }\n"
    "int main(void)\n"
    "{\n"
    "    int *device, host[32] = {0};\n"
    "    cudaMalloc((void **)&device, sizeof host);\n"
    "    set_kernel<<<1, 32>>>(device);\n"
    "    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);\n"
    "    cudaFree(device);\n"
    "    return host[31] == 31 ? 0 : 1;\n"
    "}\n";

/* 1 if the command succeeds. Keeps its first words in @p said, unless that is NULL: they matter if it
 * fails. */
static int run_quietly(const char *const *arguments, char **said)
{
    struct process_end end;
    const char *environment[] = {format_string("CXX=%s", places.cxx), NULL};
    struct process process = {.arguments = arguments, .environment = environment, .seconds = PROBE_SECONDS};
    process_run(&process, &end);
    const char *rest = end.output.data;
    if (said != NULL) *said = next_word(&rest, '\n');
    text_free(&end.output);
    return end.exit_code == 0;
}

/* The final test: a kernel is built and run. */
static int look_at_simt(void)
{
    char *folder = format_string("%s/doctor.%ld", places.binary_dir, (long)getpid());
    char *source = format_string("%s/tiny.cu", folder), *program = format_string("%s/tiny", folder);
    const char *build[] = {in_build("bin/simtcc"), source, "-o", program, NULL};
    const char *run[] = {program, NULL};
    int written = make_folders(folder) == 0 && write_file(source, tiny_program, strlen(tiny_program)) == 0;
    char *said = NULL;
    int built = written && run_quietly(build, &said), ran = built && run_quietly(run, &said);
    char *found = ran ? copy_string("built and run")
                  : written
                      ? format_string("%s: %.200s", built ? "built, but it does not run" : "does not build",
                                      said != NULL ? said : "")
                      : copy_string("nothing can be written to the build folder");
    report(ran ? FINDING_OK : FINDING_MISSING, "a kernel on simt", found,
           format_string("free space, or build anew: cmake --build %s --clean-first", places.binary_dir));
    free(found);
    remove_tree(folder);
    free(program);
    free(source);
    free(folder);
    return ran;
}

static void look_at_room(void)
{
    struct statvfs disk;
    double disk_mb = 0;
    double memory_mb = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 1048576;
    if (statvfs(places.binary_dir, &disk) == 0)
        disk_mb = (double)disk.f_bavail * (double)disk.f_frsize / 1048576;
    char *cores = format_string("%ld", sysconf(_SC_NPROCESSORS_ONLN));
    char *memory = format_string("%.1f GB", memory_mb / 1024);
    char *space = format_string("%.1f GB free in the build folder", disk_mb / 1024);
    report(FINDING_OK, "cores", cores, "");
    report(memory_mb < ENOUGH_MEMORY_MB ? FINDING_MISSING : FINDING_OK, "memory", memory,
           "the largest cases need 1 GB: close other programs");
    report(disk_mb < ENOUGH_DISK_MB ? FINDING_MISSING : FINDING_OK, "disk", space,
           format_string("1 GB is wanted; old builds can go: rm -r %s", in_build("kernels")));
    free(space);
    free(memory);
    free(cores);
}

/* Somebody who only asked for simt is not told to install anything for a GPU. */
static void look_at_gpu(void)
{
    if (*places.devices_asked && !*places.nvcc && strcmp(places.devices_asked, "auto") != 0) {
        report(FINDING_OPTIONAL, "gpu",
               format_string("not asked for: configured with WARPWISE_DEVICES=%s", places.devices_asked),
               format_string("to use a GPU: cmake -S %s -B %s -DWARPWISE_DEVICES=auto", places.source_dir,
                             places.binary_dir));
        return;
    }
    char *version = *places.nvcc ? ask_program(places.nvcc, "--version", "release") : NULL;
    report(version != NULL ? FINDING_OK : FINDING_OPTIONAL, "CUDA Toolkit",
           version != NULL ? version
           : *places.nvcc && strstr(places.nvcc, "NOTFOUND") == NULL
               ? format_string("%s does not run", places.nvcc)
               : "not found when this folder was configured",
           "install the CUDA Toolkit 12 or 13 with nvcc on the PATH and configure anew: cmake --fresh");
    if (version != NULL) report(FINDING_OK, "built for", places.cuda_architectures, "");
    free(version);

    const struct device_facts *facts = device_probe(DEVICE_GPU);
    char *gpu = facts->usable ? format_string("%s, sm_%d, driver for CUDA %.1f", facts->model, facts->arch,
                                              device_fact(facts, "driver"))
                              : copy_string(facts->reason);
    report(facts->usable ? FINDING_OK : FINDING_OPTIONAL, "GPU and driver", gpu,
           "without a GPU everything runs on simt; with one, nvidia-smi should list it");
    free(gpu);
    report_program("ncu", "--version", "Version", "Nsight Compute profiles kernels on the GPU");
    report_program("compute-sanitizer", "--version", "Version",
                   "looks for memory errors and races on the GPU");
}

static void look_at_extras(void)
{
    report_program("addr2line", "--version", "",
                   "names the lines of findings on simt (apt install binutils)");
    report_program("gdb", "--version", "", "steps through kernels: warpwise debug (apt install gdb)");
    report_program("doxygen", "--version", "", "builds the course's site (apt install doxygen)");
    report_program("dot", "-V", "", "draws its graphs (apt install graphviz)");
    report_program("gnuplot", "--version", "", "draws measured results (apt install gnuplot-nox)");
    char *bwrap = find_program("bwrap");
    const char *arguments[] = {bwrap, "--unshare-all", "--ro-bind", "/", "/", "true", NULL};
    int works = bwrap != NULL && run_quietly(arguments, NULL);
    report(works ? FINDING_OK : FINDING_OPTIONAL, "bubblewrap",
           works           ? "works"
           : bwrap != NULL ? "installed, but refused by this host"
                           : "not found",
           "isolates submissions when grading (apt install bubblewrap; containers may forbid it)");
    free(bwrap);
}

static int run_doctor(const struct command_line *line)
{
    (void)line;
    printf("%ssimt: kernels on this computer's cores%s\n", colour_on(COLOUR_BOLD), colour_off());
    int host = look_at_host(), compiler = look_at_compiler(), parts = look_at_parts();
    int simt_wanted = device_probe(DEVICE_SIMT)->usable;
    int works = simt_wanted && compiler && parts && look_at_simt();
    if (!simt_wanted) report(FINDING_OPTIONAL, "simt", device_probe(DEVICE_SIMT)->reason, "");
    report(FINDING_OK, "CMake", format_string("%s (%s)", places.cmake_version, places.cmake), "");
    look_at_room();
    printf("%sgpu: kernels on an NVIDIA GPU%s\n", colour_on(COLOUR_BOLD), colour_off());
    look_at_gpu();
    printf("%sextras%s\n", colour_on(COLOUR_BOLD), colour_off());
    look_at_extras();
    if (host && works) {
        printf("\nsimt works: every lesson can be done here. Next: %s next\n", program_name());
    } else {
        printf("\nsimt does not work yet: see the lines marked missing.\n");
    }
    return host && works ? EXIT_PASS : EXIT_FAIL;
}

static const struct option_description doctor_options[] = {{0}};

const struct command doctor_command = {
    .name = "doctor",
    .summary = "what is installed, what is missing and what to do",
    .details = "Exit 0 if kernels can be built and run on simt.",
    .options = doctor_options,
    .run = run_doctor,
};
