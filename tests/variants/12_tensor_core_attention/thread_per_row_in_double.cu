/** No tensor cores: a thread has a query row, sums in double, and exp takes the place of exp2. */
#include "entry.h"

template <typename T, int HEAD_DIM>
__global__ void attention_kernel(struct attention_args args, double scale, int rows)
{
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows) return;
    int bh = row / args.q_len, seen = keys_seen(args, row % args.q_len);
    const T *q = (const T *)args.q + (size_t)row * HEAD_DIM;
    const T *k = (const T *)args.k + kv_head(args, bh) * args.kv_len * HEAD_DIM;
    const T *v = (const T *)args.v + kv_head(args, bh) * args.kv_len * HEAD_DIM;
    double m = -(double)INFINITY, l = 0.0, o[HEAD_DIM];
    for (int d = 0; d < HEAD_DIM; d++) o[d] = 0.0;
    for (int key = 0; key < seen; key++) {
        double s = 0.0;
        for (int d = 0; d < HEAD_DIM; d++)
            s += (double)as_float(q[d]) * (double)as_float(k[(size_t)key * HEAD_DIM + d]);
        s *= scale;
        double larger = fmax(m, s), shift = larger == -(double)INFINITY ? 0.0 : larger;
        double correction = exp(m - shift), weight = exp(s - shift);
        m = larger;
        l = l * correction + weight;
        for (int d = 0; d < HEAD_DIM; d++)
            o[d] = (correction == 1.0 ? o[d] : o[d] * correction) +
                   weight * (double)as_float(v[(size_t)key * HEAD_DIM + d]);
    }
    for (int d = 0; d < HEAD_DIM; d++)
        store((T *)args.out + (size_t)row * HEAD_DIM + d, l == 0.0 ? (float)o[d] : (float)(o[d] / l));
    if (args.lse != NULL) args.lse[row] = (float)(m + log(l));
}

template <typename T, int HEAD_DIM>
static enum kernel_status launch(const struct attention_args *args, cudaStream_t stream)
{
    int rows = args->batch * args->heads * args->q_len;
    attention_kernel<T, HEAD_DIM>
        <<<(unsigned)divide_up(rows, 64), 64, 0, stream>>>(*args, (double)attention_scale(args), rows);
    return launch_status();
}
