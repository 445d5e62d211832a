/**
 * Warps that take their rows by a counter, each the next one: every row is taken once, whoever takes it. In the software device's other
 * order warps take turns at atomics, so that most get some; otherwise the warp that begins would take them all, in any order.
 */
#include "../testing.h"

enum { WARPS = 8, LANES = 32, ROWS = 100 };

extern "C" void simt_turn_order(int turned) __attribute__((weak)); /* the software device has it */

static __global__ void take_rows(int *taken_by, /* [ROWS] */
                                 int *next)     /* one, starts at 0 */
{
    const int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
    for (;;) {
        int row = lane == 0 ? atomicAdd(next, 1) : 0;
        row = __shfl_sync(0xffffffffu, row, 0);
        if (row >= ROWS) return;
        if (lane == 0) taken_by[row] = warp;
    }
}

/** How many warps took a row. */
static int warps_that_work(const char *order)
{
    int taken_by[ROWS], taken[WARPS] = {0}, warps = 0, none[ROWS];
    for (int row = 0; row < ROWS; row++) none[row] = -1;
    int *rows = upload(none, ROWS), *next = device_array<int>(1);
    require(cudaMemset(next, 0, sizeof *next), "cudaMemset");
    take_rows<<<1, WARPS * LANES>>>(rows, next);
    finish_launch("take_rows");
    download(taken_by, rows, ROWS);
    for (int row = 0; row < ROWS; row++) {
        expect_equal(order, row, taken_by[row] >= 0 && taken_by[row] < WARPS, 1);
        if (taken_by[row] >= 0) taken[taken_by[row] % WARPS]++;
    }
    for (int warp = 0; warp < WARPS; warp++) warps += taken[warp] > 0;
    release(rows);
    release(next);
    return warps;
}

int main(void)
{
    warps_that_work("row");
    if (simt_turn_order != NULL) {
        simt_turn_order(1);
        expect_equal("half of the warps work", 0, warps_that_work("row, in the other order") >= WARPS / 2, 1);
        simt_turn_order(0);
    }
    return finish("work_by_atomic");
}
