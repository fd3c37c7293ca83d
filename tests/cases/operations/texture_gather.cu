// One component of four texels: each component, of floats and of integers, with an offset and at a border.
__device__ float *store(float *out, float4 four)
{
    out[0] = four.x;
    out[1] = four.y;
    out[2] = four.z;
    out[3] = four.w;
    return out + 4;
}

extern "C" __global__ void texture_gather(cudaTextureObject_t floats, cudaTextureObject_t integers,
                                          cudaTextureObject_t bytes, const float2 *in, float *out, unsigned *words)
{
    int t = threadIdx.x;
    float2 at = in[t];
    out += 20 * t;
    out = store(out, tex2Dgather<float4>(floats, at.x, at.y, 0));
    out = store(out, tex2Dgather<float4>(floats, at.x, at.y, 1));
    out = store(out, tex2Dgather<float4>(floats, at.x, at.y, 2));
    out = store(out, tex2Dgather<float4>(floats, at.x, at.y, 3));
    float4 four;
    asm("tld4.a.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {3, -2};"
        : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w) : "l"(floats), "f"(at.x), "f"(at.y));
    store(out, four);
    uint4 whole;
    switch (t % 4) {
    case 0: whole = tex2Dgather<uint4>(integers, at.x, at.y, 0); break;
    case 1: whole = tex2Dgather<uint4>(integers, at.x, at.y, 1); break;
    case 2: whole = tex2Dgather<uint4>(integers, at.x, at.y, 2); break;
    default: whole = tex2Dgather<uint4>(integers, at.x, at.y, 3); break;
    }
    // Bytes with a sign, as the format of the image has it.
    char4 small = t % 2 ? tex2Dgather<char4>(bytes, at.x, at.y, 1) : tex2Dgather<char4>(bytes, at.x, at.y, 0);
    words += 8 * t;
    words[0] = whole.x;
    words[1] = whole.y;
    words[2] = whole.z;
    words[3] = whole.w;
    words[4] = small.x;
    words[5] = small.y;
    words[6] = small.z;
    words[7] = small.w;
}
