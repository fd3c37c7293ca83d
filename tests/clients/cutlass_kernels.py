"""The instances of CUTLASS's templates that `with_cutlass.py` compiles: their C++ and what they compute.

A source defines the kernel, and a `main` that prints the launch for a small problem (`cutlass/launch.hpp`).
Buffer 0 is a, 1 is b, 2 is c, 3 is d, and 4 is the workspace.
"""

from dataclasses import dataclass

HALF, BF16, TF32 = "cutlass::half_t", "cutlass::bfloat16_t", "cutlass::tfloat32_t"
S8, S4, E4M3 = "int8_t", "cutlass::int4b_t", "cutlass::float_e4m3_t"
LAYOUTS = {"r": "cutlass::layout::RowMajor", "c": "cutlass::layout::ColumnMajor"}
BITS = {HALF: 16, BF16: 16, TF32: 32, "float": 32, "double": 64, S8: 8, S4: 4, E4M3: 8, "int32_t": 32}


@dataclass
class Instance:
    """A kernel and its problem."""

    name: str
    arch: str
    source: str
    # The types of the elements of a, b and d; c has the type of d.
    types: tuple
    # The sizes m, n and k of a product, or those of a convolution.
    sizes: tuple
    # The layouts of a and b, `r` or `c`; none for a convolution, whose tensors are NHWC.
    layouts: str = ""
    # The kind of convolution, or "".
    convolution: str = ""
    # The factors of the product and of c.
    scales: tuple = (1, 2)


def gemm_shape(sizes):
    return f"cutlass::gemm::GemmShape<{', '.join(map(str, sizes))}>"


def product(
    name,
    arch,
    types,
    layouts,
    sums,
    tiles,
    stages,
    sizes,
    how="Gemm",
    more="",
    unit="TensorOp",
    epilogue=None,
    swizzle=None,
):
    """A product of CUTLASS 2: `cutlass::gemm::device`."""
    a, b, d = types
    block, warp, inst = tiles
    lanes = 1 if unit == "Simt" else 128 // BITS[d]
    epilogue = epilogue or f"LinearCombination<{d}, {lanes}, {sums}, {sums}>"
    swizzle = swizzle or "GemmIdentityThreadblockSwizzle<>"
    m, n, k = sizes
    lead = {"r": (k, n), "c": (m, k)}
    lda, ldb = lead[layouts[0]][0], lead[layouts[1]][1]
    scale = "float" if "Clamp" in epilogue else sums
    if how == "GemmUniversal":
        kernel = "cutlass::Kernel2"
        params = f"""
  Gemm::Arguments arguments(cutlass::gemm::GemmUniversalMode::kGemm, size, 1, {{{scale}(1), {scale}(2)}}, buffer<{a}>(0), buffer<{b}>(1),
      buffer<{d}>(2), buffer<{d}>(3), int64_t({m}) * {k}, int64_t({n}) * {k}, int64_t({m}) * {n}, int64_t({m}) * {n}, {lda}, {ldb}, {n}, {n});
  Kernel::Params params(arguments, 3, 1);
  params.init_workspace(buffer<void>(4), nullptr);
  dim3 grid = params.get_grid_dims();"""
    else:
        kernel = "cutlass::Kernel"
        refs = f"{{buffer<{a}>(0), {lda}}}, {{buffer<{b}>(1), {ldb}}}, {{buffer<{d}>(2), {n}}}, {{buffer<{d}>(3), {n}}}"
        params = f"""
  Gemm::ThreadblockSwizzle swizzle;
  auto tiles = swizzle.get_tiled_shape(size, {{{block[0]}, {block[1]}, {block[2]}}}, 1);
  Kernel::Params params(size, tiles, {refs}, {{{scale}(1), {scale}(2)}}, nullptr);
  dim3 grid = swizzle.get_grid_shape(tiles);"""
    source = f"""#include "cutlass/cutlass.h"
#include "cutlass/gemm/device/gemm.h"
#include "cutlass/gemm/device/gemm_universal.h"
#include "launch.hpp"
using Gemm = cutlass::gemm::device::{how}<{a}, {LAYOUTS[layouts[0]]}, {b}, {LAYOUTS[layouts[1]]}, {d}, cutlass::layout::RowMajor, {sums},
    cutlass::arch::OpClass{unit}, cutlass::arch::Sm{arch}, {gemm_shape(block)}, {gemm_shape(warp)}, {gemm_shape(inst)},
    cutlass::epilogue::thread::{epilogue}, cutlass::gemm::threadblock::{swizzle}, {stages}{more}>;
using Kernel = Gemm::GemmKernel;
template __global__ void {kernel}<Kernel>(Kernel::Params);
int main() {{
  cutlass::gemm::GemmCoord size({m}, {n}, {k});{params}
  return print_launch(params, grid, dim3(Kernel::kThreadCount, 1, 1), sizeof(Kernel::SharedStorage));
}}
"""
    return Instance(name, arch, source, types, sizes, layouts)


def convolution(name, kind, algorithm, sizes):
    """A convolution of CUTLASS 2 on NHWC tensors of halves, with sums and result in single precision.
    The sizes are n, h, w, c of the input, k, r, s of the filters, the padding and the stride."""
    n, h, w, c, k, r, s, pad, stride = sizes
    p, q = (h + 2 * pad - r) // stride + 1, (w + 2 * pad - s) // stride + 1
    strided = kind == "Dgrad"
    swizzle = "StridedDgradIdentityThreadblockSwizzle<1>" if strided else "GemmIdentityThreadblockSwizzle<>"
    where = "conv" if strided else "gemm"
    more = ", cutlass::conv::StrideSupport::kStrided" if strided else ""
    tensors = {
        "Fprop": (f"{n}, {h}, {w}, {c}", f"{k}, {r}, {s}, {c}", f"{n}, {p}, {q}, {k}"),
        "Dgrad": (f"{n}, {p}, {q}, {k}", f"{k}, {r}, {s}, {c}", f"{n}, {h}, {w}, {c}"),
        "Wgrad": (f"{n}, {p}, {q}, {k}", f"{n}, {h}, {w}, {c}", f"{k}, {r}, {s}, {c}"),
    }[kind]
    layout = "cutlass::layout::TensorNHWC"
    refs = ", ".join(
        f"{{buffer<{t}>({i}), {layout}::packed({{{shape}}})}}"
        for i, (t, shape) in enumerate(zip([HALF, HALF, "float", "float"], [*tensors, tensors[2]]))
    )
    source = f"""#include "cutlass/cutlass.h"
#include "cutlass/conv/kernel/default_conv2d_{kind.lower()}.h"
#include "cutlass/conv/device/implicit_gemm_convolution.h"
#include "launch.hpp"
using Kernel = cutlass::conv::kernel::DefaultConv2d{kind}<{HALF}, {layout}, {HALF}, {layout}, float, {layout}, float,
    cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, {gemm_shape((128, 128, 32))}, {gemm_shape((64, 64, 32))}, {gemm_shape((16, 8, 16))},
    cutlass::epilogue::thread::LinearCombination<float, 4, float, float>, cutlass::{where}::threadblock::{swizzle}, 3,
    cutlass::arch::OpMultiplyAdd, cutlass::conv::IteratorAlgorithm::{algorithm}{more}>::Kernel;
template __global__ void cutlass::Kernel<Kernel>(Kernel::Params);
int main() {{
  cutlass::conv::Conv2dProblemSize size({{{n}, {h}, {w}, {c}}}, {{{k}, {r}, {s}, {c}}}, {{{pad}, {pad}, {pad}, {pad}}}, {{{stride}, {stride}}},
      {{1, 1}}, {{{n}, {p}, {q}, {k}}}, cutlass::conv::Mode::kCrossCorrelation, 1);
  Kernel::Arguments arguments(size, {refs}, {{1.0f, 2.0f}});
  Kernel::Params params(arguments, nullptr);
  Kernel::ThreadblockSwizzle swizzle;
  dim3 grid = swizzle.get_grid_shape(params.grid_tiled_shape);
  return print_launch(params, grid, dim3(Kernel::kThreadCount, 1, 1), sizeof(Kernel::SharedStorage));
}}
"""
    return Instance(name, "80", source, (HALF, HALF, "float"), sizes, convolution=kind)


def hopper(name, types, layouts, sums, tile, cluster, sizes, main, epilogue, scheduler="void"):
    """A product of CUTLASS 3 for Hopper, made by its collective builders."""
    a, b, d = types
    m, n, k = sizes
    shape = lambda sizes: f"cute::Shape<{', '.join(f'cute::_{size}' for size in sizes)}>"
    lanes = lambda element: 128 // BITS[element]
    source = f"""#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1
#include "launch.hpp"
#include "cute/tensor.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"
using Tile = {shape(tile)};
using Cluster = {shape(cluster)};
using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, {sums}, {sums}, {d}, cutlass::layout::RowMajor, {lanes(d)}, {d},
    cutlass::layout::RowMajor, {lanes(d)}, cutlass::epilogue::{epilogue}>::CollectiveOp;
using Main = cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, {a}, {LAYOUTS[layouts[0]]},
    {lanes(a)}, {b}, {LAYOUTS[layouts[1]]}, {lanes(b)}, {sums}, Tile, Cluster,
    cutlass::gemm::collective::StageCountAutoCarveout<int(sizeof(Epilogue::SharedStorage))>, cutlass::gemm::{main}>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Main, Epilogue, {scheduler}>;
template __global__ void cutlass::device_kernel<Kernel>(CUTLASS_GRID_CONSTANT Kernel::Params const);
template <class Stride> Stride packed(int rows, int columns) {{ return cutlass::make_cute_packed_stride(Stride{{}}, cute::make_shape(rows, columns, 1)); }}
int main() {{
  cutlass::KernelHardwareInfo hardware{{0, 4}};
  Kernel::Arguments arguments{{cutlass::gemm::GemmUniversalMode::kGemm, {{{m}, {n}, {k}, 1}},
      {{buffer<{a}>(0), packed<Kernel::StrideA>({m}, {k}), buffer<{b}>(1), packed<Kernel::StrideB>({n}, {k})}},
      {{{{1, 2}}, buffer<{d}>(2), packed<Kernel::StrideC>({m}, {n}), buffer<{d}>(3), packed<Kernel::StrideD>({m}, {n})}}, hardware}};
  auto params = Kernel::to_underlying_arguments(arguments, buffer<char>(4));
  return print_launch(params, Kernel::get_grid_shape(params), Kernel::get_block_shape(), Kernel::SharedStorageSize, dim3{cluster});
}}
"""
    return Instance(name, "90a", source, types, sizes, layouts)


def instances():
    """All instances."""
    tiles = lambda block, warp, inst: (block, warp, inst)
    wide = tiles((128, 128, 32), (64, 64, 32), (16, 8, 16))
    clamp = "LinearCombinationClamp<int8_t, 16, int32_t, float>"
    pingpong, cooperative = "KernelTmaWarpSpecializedPingpong", "KernelTmaWarpSpecializedCooperative"
    tma, tma_cooperative, none = "TmaWarpSpecialized", "TmaWarpSpecializedCooperative", "NoSmemWarpSpecialized"
    return [
        product(
            "f16_sm75",
            "75",
            (HALF, HALF, HALF),
            "rc",
            "float",
            tiles((128, 128, 32), (64, 64, 32), (16, 8, 8)),
            2,
            (136, 72, 96),
        ),
        product("f16_tn", "80", (HALF, HALF, HALF), "rc", "float", wide, 3, (160, 136, 96)),
        product(
            "f16_nt",
            "80",
            (HALF, HALF, HALF),
            "cr",
            HALF,
            tiles((128, 64, 32), (64, 32, 32), (16, 8, 16)),
            4,
            (136, 136, 160),
        ),
        product(
            "bf16_nn",
            "80",
            (BF16, BF16, "float"),
            "rr",
            "float",
            tiles((128, 256, 32), (64, 64, 32), (16, 8, 16)),
            3,
            (72, 264, 64),
        ),
        product(
            "tf32_tn",
            "80",
            (TF32, TF32, "float"),
            "rc",
            "float",
            tiles((128, 128, 16), (64, 64, 16), (16, 8, 8)),
            4,
            (132, 140, 84),
        ),
        product(
            "f32_of_tf32",
            "80",
            ("float", "float", "float"),
            "rc",
            "float",
            tiles((128, 64, 32), (64, 32, 32), (16, 8, 8)),
            3,
            (132, 68, 100),
            more=", 4, 4, false, cutlass::arch::OpMultiplyAddFastF32",
        ),
        product(
            "f64_tn",
            "80",
            ("double", "double", "double"),
            "rc",
            "double",
            tiles((64, 64, 16), (32, 32, 16), (8, 8, 4)),
            3,
            (70, 66, 50),
        ),
        product(
            "s8_tn",
            "80",
            (S8, S8, S8),
            "rc",
            "int32_t",
            tiles((128, 128, 64), (64, 64, 64), (16, 8, 32)),
            3,
            (144, 144, 160),
            epilogue=clamp,
        ),
        product(
            "s4_tn",
            "80",
            (S4, S4, "int32_t"),
            "rc",
            "int32_t",
            tiles((128, 128, 128), (64, 64, 128), (16, 8, 64)),
            3,
            (132, 136, 288),
        ),
        product(
            "simt_nt",
            "80",
            ("float", "float", "float"),
            "cr",
            "float",
            tiles((128, 128, 8), (32, 64, 8), (1, 1, 1)),
            4,
            (131, 133, 37),
            unit="Simt",
        ),
        product(
            "e4m3_tn",
            "89",
            (E4M3, E4M3, "float"),
            "rc",
            "float",
            tiles((128, 128, 64), (64, 64, 64), (16, 8, 32)),
            3,
            (144, 132, 160),
        ),
        product(
            "f16_streamk",
            "80",
            (HALF, HALF, HALF),
            "rc",
            "float",
            wide,
            4,
            (264, 136, 288),
            how="GemmUniversal",
            swizzle="ThreadblockSwizzleStreamK",
            more=", 8, 8",
        ),
        convolution("convolution_forward", "Fprop", "kOptimized", (2, 9, 7, 16, 24, 3, 3, 1, 1)),
        convolution("convolution_data", "Dgrad", "kOptimized", (1, 9, 8, 16, 24, 3, 3, 1, 2)),
        convolution("convolution_weights", "Wgrad", "kAnalytic", (2, 6, 5, 16, 24, 3, 3, 1, 1)),
        hopper(
            "f16_pingpong", (HALF, HALF, HALF), "rc", "float", (64, 128, 64), (2, 1, 1), (192, 264, 160), pingpong, tma
        ),
        hopper(
            "f16_cooperative",
            (HALF, HALF, HALF),
            "rc",
            "float",
            (128, 128, 64),
            (1, 2, 1),
            (136, 264, 160),
            cooperative,
            tma_cooperative,
        ),
        hopper(
            "f16_specialized",
            (HALF, HALF, "float"),
            "cr",
            "float",
            (64, 64, 64),
            (1, 1, 1),
            (72, 136, 96),
            "KernelTmaWarpSpecialized",
            none,
        ),
        hopper(
            "bf16_streamk",
            (BF16, BF16, "float"),
            "rc",
            "float",
            (128, 128, 64),
            (2, 1, 1),
            (264, 136, 256),
            cooperative,
            tma_cooperative,
            "cutlass::gemm::StreamKScheduler",
        ),
        hopper(
            "tf32_cooperative",
            (TF32, TF32, "float"),
            "rc",
            "float",
            (128, 128, 32),
            (1, 1, 1),
            (132, 136, 68),
            cooperative,
            tma_cooperative,
        ),
        hopper(
            "s8_cooperative",
            (S8, S8, S8),
            "rc",
            "int32_t",
            (128, 128, 128),
            (1, 1, 1),
            (144, 144, 160),
            cooperative,
            tma_cooperative,
        ),
        hopper(
            "e4m3_fast",
            (E4M3, E4M3, HALF),
            "rc",
            "float",
            (128, 128, 128),
            (1, 1, 1),
            (144, 136, 160),
            cooperative + "FP8FastAccum",
            tma_cooperative,
        ),
        hopper(
            "e4m3_pingpong",
            (E4M3, E4M3, HALF),
            "rc",
            "float",
            (64, 128, 128),
            (1, 1, 1),
            (144, 136, 160),
            pingpong,
            tma,
        ),
        hopper(
            "f16_copies",
            (HALF, HALF, HALF),
            "rc",
            "float",
            (128, 128, 64),
            (1, 1, 1),
            (136, 136, 96),
            "KernelCpAsyncWarpSpecializedCooperative",
            none,
        ),
        hopper(
            "s8_by_f16",
            (S8, HALF, "float"),
            "rc",
            "float",
            (128, 128, 64),
            (1, 1, 1),
            (144, 136, 96),
            cooperative,
            tma_cooperative,
        ),
    ]
