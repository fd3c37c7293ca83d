// Volumes with each address mode beside and beyond their sides, filtered.
extern "C" __global__ void texture_modes(cudaTextureObject_t mirrored, cudaTextureObject_t mirrored_nearest,
                                         cudaTextureObject_t bordered, cudaTextureObject_t clamped,
                                         cudaTextureObject_t mixed, const float4 *in, float *out)
{
    int t = threadIdx.x;
    float4 far = in[2 * t], near = in[2 * t + 1];
    out += 10 * t;
    *out++ = tex3D<float>(mirrored, far.x, far.y, far.z);
    *out++ = tex3D<float>(mirrored_nearest, far.x, far.y, far.z);
    float4 four = tex3D<float4>(bordered, near.x, near.y, near.z);
    *out++ = four.x;
    *out++ = four.y;
    *out++ = four.z;
    *out++ = four.w;
    float2 two = tex3D<float2>(clamped, near.x, near.y, near.z);
    *out++ = two.x;
    *out++ = two.y;
    *out++ = tex3D<float>(mixed, far.x, far.y, far.z);
    float x;
    asm("{\n\t.reg .f32 y;\n\ttex.3d.v4.f32.s32 {%0, y, y, y}, [%1, {%2, %3, %4, %4}];\n\t}"
        : "=f"(x) : "l"(mixed), "r"(t % 4), "r"(t / 4), "r"(t % 2));
    *out = x;
}
