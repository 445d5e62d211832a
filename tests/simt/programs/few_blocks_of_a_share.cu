/**
 * Few blocks that walk over all rows of a problem of which only a share is of interest: the device lets each of them go on
 * until it is plain that it would not come to its end, and no longer. It says that what is there tells nothing.
 */
#include <stdint.h>
#include "../testing.h"

/* the software device has them */
extern "C" void simt_run_share(uint64_t total, uint64_t step, uint64_t each, const void *workspace,
                               size_t bytes) __attribute__((weak));
extern "C" int simt_share_left(void) __attribute__((weak));

enum { BLOCKS = 5, PAGE_FLOATS = 32, ROWS = 1 << 20, MOST = 2048 }; /* a row is a page of the device's */

static __global__ void rows_kernel(float *out, /* [rows, 32] */
                                   int rows, int *done /* [gridDim.x] */)
{
    int count = 0;
    for (int row = (int)blockIdx.x; row < rows; row += (int)gridDim.x) {
        out[(size_t)row * PAGE_FLOATS + threadIdx.x] = 1.0f;
        if (threadIdx.x == 0) done[blockIdx.x] = ++count;
    }
}

static void run(int rows, bool left)
{
    float *out = device_array<float>((size_t)ROWS * PAGE_FLOATS);
    int none[BLOCKS] = {0}, got[BLOCKS], *done = upload(none, BLOCKS);
    simt_run_share(ROWS, ROWS - 1, 1, NULL, 0);
    rows_kernel<<<BLOCKS, PAGE_FLOATS>>>(out, rows, done);
    finish_launch("rows_kernel");
    expect_close("tells nothing", 0, simt_share_left(), left, 0.0);
    simt_run_share(0, 0, 0, NULL, 0);
    download(got, done, BLOCKS);
    for (int block = 0; block < BLOCKS; block++)
        expect_close("not too many rows", block, got[block] <= MOST, 1, 0.0);
    release(out);
    release(done);
}

int main(void)
{
    if (simt_run_share != NULL) {
        run(ROWS, true);
        run(BLOCKS, false); /* blocks that end tell that nothing more would have been written */
    }
    return finish("few_blocks_of_a_share");
}
