// Asks a tensor core which lane holds which element of mma.sync.m16n8k16. docs/tensor_cores.md tells what the answer is good for.
#include <cuda_fp16.h>
#include <stdio.h>

enum { M = 16, N = 8, K = 16, LANES = 32, A_HALVES = 8, B_HALVES = 4, C_FLOATS = 4 };

// What each lane holds: numbers row * columns + column of the elements of A (16 x 16), B (16 x 8) and C (16 x 8).
struct held {
    int a[LANES][A_HALVES], b[LANES][B_HALVES], c[LANES][C_FLOATS];
};

// Register r of lane 4g + q is x[r]: the halves 2q and 2q + 1 of row g of matrix r, whose row i the lane 8r + i names.
__device__ inline void load_four(unsigned (&x)[4], const half *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

// Two matrices of 8 x 8, each transposed on its way; lanes 0 to 15 name the rows.
__device__ inline void load_two_transposed(unsigned (&x)[2], const half *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(x[0]), "=r"(x[1])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
}

// c += a b
__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void halves_of(unsigned x, int *two)
{
    two[0] = (int)__half2float(__ushort_as_half((unsigned short)(x & 0xffff)));
    two[1] = (int)__half2float(__ushort_as_half((unsigned short)(x >> 16)));
}

// One warp. Every element of A and B is its own number, so the registers say which element they hold.
__global__ void ask_operands(struct held *held)
{
    __shared__ __align__(16) half a_tile[M][K], b_tile[K][N];
    int lane = (int)threadIdx.x;
    for (int i = lane; i < M * K; i += LANES) a_tile[i / K][i % K] = __int2half_rn(i);
    for (int i = lane; i < K * N; i += LANES) b_tile[i / N][i % N] = __int2half_rn(i);
    __syncwarp();
    unsigned a[4], b[2];
    load_four(a, &a_tile[lane % 16][lane / 16 * 8]); // upper left, lower left, upper right, lower right
    load_two_transposed(b, b_tile[lane % 16]);       // upper, lower
    for (int r = 0; r < 4; r++) halves_of(a[r], held->a[lane] + 2 * r);
    for (int r = 0; r < 2; r++) halves_of(b[r], held->b[lane] + 2 * r);
}

// One warp. A has the row number in column 0 and a one in column 1; B has 8 in row 0 and the column number in row 1.
// So the product's element (i, j) is 8 i + j: the instruction itself says where it put it.
__global__ void ask_sums(struct held *held)
{
    __shared__ __align__(16) half a_tile[M][K], b_tile[K][N];
    int lane = (int)threadIdx.x;
    for (int i = lane; i < M * K; i += LANES)
        a_tile[i / K][i % K] = __int2half_rn(i % K == 0 ? i / K : i % K == 1);
    for (int i = lane; i < K * N; i += LANES)
        b_tile[i / N][i % N] = __int2half_rn(i / N == 0 ? N : i / N == 1 ? i % N : 0);
    __syncwarp();
    unsigned a[4], b[2];
    float c[C_FLOATS] = {0.0f, 0.0f, 0.0f, 0.0f};
    load_four(a, &a_tile[lane % 16][lane / 16 * 8]);
    load_two_transposed(b, b_tile[lane % 16]);
    multiply(c, a, b);
    for (int i = 0; i < C_FLOATS; i++) held->c[lane][i] = (int)c[i];
}

static cudaError_t ask(struct held *held)
{
    struct held *device = NULL;
    cudaError_t error = cudaMalloc((void **)&device, sizeof *held);
    if (error != cudaSuccess) return error;
    ask_operands<<<1, LANES>>>(device);
    ask_sums<<<1, LANES>>>(device);
    error = cudaMemcpy(held, device, sizeof *held, cudaMemcpyDeviceToHost);
    cudaFree(device);
    return error;
}

#ifndef FRAGMENTS_NO_MAIN
static void print_lane(const char *name, const int *elements, int count, int columns)
{
    printf("  %s", name);
    for (int i = 0; i < count; i++) printf(" (%d,%d)", elements[i] / columns, elements[i] % columns);
    printf("\n");
}

int main(void)
{
    static struct held held;
    cudaError_t error = ask(&held);
    if (error != cudaSuccess) {
        fprintf(stderr, "the kernels failed: %s\n", cudaGetErrorString(error));
        return 1;
    }
    for (int lane = 0; lane < LANES; lane++) {
        printf("lane %d = 4 * %d + %d holds (row,column)\n", lane, lane / 4, lane % 4);
        print_lane("A", held.a[lane], A_HALVES, K);
        print_lane("B", held.b[lane], B_HALVES, N);
        print_lane("C", held.c[lane], C_FLOATS, N);
    }
    return 0;
}
#endif
