/**
 * printf in a kernel: the lines arrive on the program's standard output when the launch is waited for, each
 * whole, with the conversions of C. The order of threads is not determined, so that the lines are looked up.
 */
#include "../testing.h"

#include <string.h>
#include <unistd.h>

enum { BLOCKS = 3, THREADS = 5, OUTPUT_BYTES = 4096 };

static __global__ void printing_kernel(float factor, int *returned)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    printf("block %u thread %u: %d %.3f %s %c %5d|%-5d|%lld 0x%x %%\n", blockIdx.x, threadIdx.x, -i,
           (double)(factor * (float)i), i % 2 ? "odd" : "even", 'a' + i, i, i, 10000000000ll + i, 255 + i);
    if (i == 0) returned[0] = printf("no arguments\n");
    if (i == 0) returned[1] = printf("%d%% of %*.*f\n", 50, 7, 2, 1.5);
}

/* Runs the kernel with standard output going to `file`, and reads back what it wrote. */
static void capture(FILE *file, char *output, int *returned)
{
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    if (saved < 0 || dup2(fileno(file), STDOUT_FILENO) < 0) {
        perror("dup2");
        exit(1);
    }
    printing_kernel<<<BLOCKS, THREADS>>>(0.125f, returned);
    finish_launch("printing_kernel");
    fflush(stdout);
    if (dup2(saved, STDOUT_FILENO) < 0 || close(saved) != 0) {
        perror("dup2");
        exit(1);
    }
    rewind(file);
    output[fread(output, 1, OUTPUT_BYTES - 1, file)] = '\0';
}

int main(void)
{
    static char output[OUTPUT_BYTES];
    char line[200];
    size_t length = strlen("no arguments\n50% of    1.50\n");
    int *returned;
    if (cudaMallocManaged(&returned, 2 * sizeof *returned) != cudaSuccess) return 1;
    FILE *file = tmpfile();
    if (file == NULL) {
        perror("tmpfile");
        return 1;
    }
    capture(file, output, returned);
    fclose(file);
    expect_equal("arguments of none", 0, returned[0], 0);
    expect_equal("arguments", 0, returned[1], 4);
    cudaFree(returned);
    expect_equal("line without arguments", 0, strstr(output, "no arguments\n") != NULL, 1);
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        snprintf(line, sizeof line, "block %d thread %d: %d %.3f %s %c %5d|%-5d|%lld 0x%x %%\n", i / THREADS,
                 i % THREADS, -i, 0.125 * i, i % 2 ? "odd" : "even", 'a' + i, i, i, 10000000000ll + i,
                 255 + i);
        expect_equal("line found", i, strstr(output, line) != NULL, 1);
        length += strlen(line);
    }
    expect_equal("bytes printed", 0, (long long)strlen(output), (long long)length);
    return finish("device_printf");
}
