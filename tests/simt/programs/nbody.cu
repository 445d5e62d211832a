/**
 * Gravity between all pairs of bodies, positions passing through a float4 tile. Shown: float4 shared memory,
 * rsqrtf, a tile that is filled again and again, double-precision reference.
 */
#include "../testing.h"

enum { BODIES = 200, TILE = 64 };

static const float softening = 1e-2f;

static __device__ float3 attraction(float3 sum, float4 self, float4 other)
{
    const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
    const float strength = other.w * inverse * inverse * inverse;
    return make_float3(sum.x + strength * dx, sum.y + strength * dy, sum.z + strength * dz);
}

static __global__ void acceleration_kernel(const float4 *bodies,  /* [BODIES]: x, y, z, mass */
                                           float3 *accelerations) /* [BODIES] */
{
    __shared__ float4 tile[TILE];
    const int i = (int)(blockIdx.x * TILE + threadIdx.x);
    const float4 self = bodies[min(i, BODIES - 1)];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int first = 0; first < BODIES; first += TILE) {
        const int j = first + (int)threadIdx.x;
        tile[threadIdx.x] = j < BODIES ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __syncthreads(); /* the tile is complete */
        for (int k = 0; k < TILE; k++) sum = attraction(sum, self, tile[k]);
        __syncthreads(); /* nobody needs this tile any more */
    }
    if (i < BODIES) accelerations[i] = sum;
}

int main(void)
{
    static float4 host[BODIES];
    static float3 got[BODIES];
    unsigned state = 53;
    for (int i = 0; i < BODIES; i++) {
        host[i] = make_float4(next_float(&state), next_float(&state), next_float(&state),
                              1.0f + next_float(&state));
    }
    float4 *bodies = upload(host, BODIES);
    float3 *accelerations = device_array<float3>(BODIES);
    acceleration_kernel<<<(BODIES + TILE - 1) / TILE, TILE>>>(bodies, accelerations);
    finish_launch("acceleration_kernel");
    download(got, accelerations, BODIES);
    for (int i = 0; i < BODIES; i++) {
        double sum[3] = {0.0, 0.0, 0.0}, size = 0.0;
        for (int j = 0; j < BODIES; j++) {
            const double d[3] = {(double)host[j].x - host[i].x, (double)host[j].y - host[i].y,
                                 (double)host[j].z - host[i].z};
            const double strength =
                host[j].w * pow(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening, -1.5);
            for (int axis = 0; axis < 3; axis++) {
                sum[axis] += strength * d[axis];
                size += fabs(strength * d[axis]);
            }
        }
        expect_close("x", i, got[i].x, sum[0], 1e-5 * size);
        expect_close("y", i, got[i].y, sum[1], 1e-5 * size);
        expect_close("z", i, got[i].z, sum[2], 1e-5 * size);
    }
    release(bodies);
    release(accelerations);
    return finish("nbody");
}
