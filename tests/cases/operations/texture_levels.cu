// Layers of planes and of rows at levels of detail, mixed, limited, and the nearest one.
extern "C" __global__ void texture_levels(cudaTextureObject_t mixed, cudaTextureObject_t limited,
                                          cudaTextureObject_t nearest, cudaTextureObject_t rows, const float4 *in,
                                          const int *layers, float *out)
{
    int t = threadIdx.x, layer = layers[t];
    float4 at = in[t];
    out += 6 * t;
    *out++ = tex2DLayeredLod<float>(mixed, at.x, at.y, layer, at.z);
    *out++ = tex2DLayeredLod<float>(limited, at.x, at.y, layer, at.z);
    *out++ = tex2DLayeredLod<float>(nearest, at.x, at.y, layer, at.z);
    float2 two = tex1DLayeredLod<float2>(rows, at.x, layer, at.z);
    *out++ = two.x;
    *out++ = two.y;
    *out = tex2DLayeredLod<float>(mixed, at.x, at.y, layer, 0.0f);
}
