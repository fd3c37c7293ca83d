// Prints how the host would launch a kernel of CUTLASS, as JSON. No GPU takes part: device memory has made-up
// addresses, and tensor maps are marks whose descriptions are printed.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// The made-up address of a buffer. No other number of a structure is that large.
template <class T>
T* buffer(int number) {
  return reinterpret_cast<T*>(0x5a0000000000 + 0x100000000 * uint64_t(number));
}

inline std::vector<std::string>& maps() {
  static std::vector<std::string> all;
  return all;
}

template <class T>
std::string list(char const* name, T const* values, int count) {
  std::string text = std::string(",\"") + name + "\":[";
  for (int i = 0; i < count; i++) text += (i ? "," : "") + std::to_string(values[i]);
  return text + "]";
}

// CUTLASS calls the driver's function directly (CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL). This one stands in for it.
extern "C" CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                           cuuint64_t const* sizes, cuuint64_t const* strides, cuuint32_t const* box,
                                           cuuint32_t const* steps, CUtensorMapInterleave interleave,
                                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill fill) {
  maps().push_back("{\"type\":" + std::to_string(type) + ",\"address\":" + std::to_string(uint64_t(address)) +
                   ",\"interleave\":" + std::to_string(interleave) + ",\"swizzle\":" + std::to_string(swizzle) +
                   ",\"fill\":" + std::to_string(fill) + list("sizes", sizes, rank) + list("strides", strides, rank - 1) +
                   list("box", box, rank) + list("element_strides", steps, rank) + "}");
  uint64_t const mark[2] = {0x5041544d41505443, maps().size() - 1};
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, mark, sizeof mark);
  return CUDA_SUCCESS;
}

template <class Params>
int print_launch(Params const& params, dim3 grid, dim3 block, size_t shared, dim3 cluster = dim3(1, 1, 1)) {
  std::printf("{\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],\"cluster\":[%u,%u,%u],\"shared\":%zu,\"hex\":\"", grid.x, grid.y,
              grid.z, block.x, block.y, block.z, cluster.x, cluster.y, cluster.z, shared);
  auto bytes = reinterpret_cast<unsigned char const*>(&params);
  for (size_t i = 0; i < sizeof params; i++) std::printf("%02x", bytes[i]);
  std::printf("\",\"maps\":[");
  for (size_t i = 0; i < maps().size(); i++) std::printf("%s%s", i ? "," : "", maps()[i].c_str());
  std::printf("]}\n");
  return 0;
}
