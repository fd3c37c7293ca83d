// Cubes, and layers of cubes with levels.
extern "C" __global__ void texture_cube(cudaTextureObject_t cube, cudaTextureObject_t cube_nearest,
                                        cudaTextureObject_t layered, cudaTextureObject_t octants, const float4 *in,
                                        const int *layers, float *out)
{
    int t = threadIdx.x;
    float4 way = in[2 * t], edge = in[2 * t + 1];
    out += 4 * t;
    *out++ = texCubemap<float>(cube, way.x, way.y, way.z);
    *out++ = texCubemap<float>(cube_nearest, way.x, way.y, way.z);
    *out++ = texCubemapLayeredLod<float>(layered, way.x, way.y, way.z, layers[t], way.w);
    *out = texCubemap<float>(octants, edge.x, edge.y, edge.z);
}
