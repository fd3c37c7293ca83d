//! The kernels of the benchmarks.
//!
//! Each is a loop, run by eight warps in two CTAs.
//!
//! | kernel | what it does |
//! |---|---|
//! | kernel | content |
//! | float | additions, multiplications, multiply-adds, minima, comparisons in binary32 |
//! | memory | of ten instructions six load or store: global and shared, contiguous, words and vectors |
//! | scattered | the same with lanes 136 bytes apart |
//! | divergent | both arms of a branch in each iteration, with BSSY and BSYNC |

#[path = "../../tests/it/assemble.rs"]
mod assemble;

use assemble::{buffer, case, program};
use ptxc_sass::Program;
use ptxc_sim::Case;

/// Iterations of each loop.
const TRIPS: u32 = 2000;
/// Words of the buffer: each of 256 threads has 512 bytes.
const WORDS: usize = 256 * 128;

/// The start of a kernel. R0 is the thread of the grid, R2 the thread of the CTA, R4:R5 the address
/// of the thread's part of the buffer (`stride` bytes per thread), R6 a shared address, R7 the
/// number of iterations left.
fn prologue(stride: u32) -> String {
    format!(
        "
        S2R R2, SR_TID.X
        S2R R3, SR_CTAID.X
        IMAD R0, R3, 0x80, R2
        LDC.64 R4, c[0x0][0x210]
        ULDC.64 UR4, c[0x0][0x208]
        IMAD.WIDE.U32 R4, R0, {stride:#x}, R4
        IMAD R6, R2, {stride:#x}, RZ
        IADD3 R6, R6, 0x400, RZ
        MOV R7, {TRIPS:#x}
        MOV R8, R0
        MOV R9, 0x9e3779b9
        I2FP.F32.U32 R20, R0
        MOV R21, 0x3f8ccccd
        MOV R22, RZ
        "
    )
}

const EPILOGUE: &str = "
        IADD3 R7, R7, -0x1, RZ
        ISETP.NE.AND P6, PT, R7, RZ, PT
        @P6 BRA `(.L_x_0)
        STG.E desc[UR4][R4.64], R8
        EXIT
";

const INTEGER: &str = "
        IADD3 R8, R8, R9, R0
        LOP3.LUT R10, R8, R9, R0, 0x96, !PT
        SHF.R.U32.HI R11, RZ, 0x7, R10
        IMAD R8, R10, 0x19660d, R11
        ISETP.LT.U32.AND P0, PT, R8, R11, PT
        SEL R12, R8, R10, P0
        LEA R9, R12, R8, 0x2
        VIMNMX.U32 R13, R9, R8, PT
        SHF.L.U32 R14, R13, 0x3, RZ
        PRMT R15, R14, 0x3210, R13
        IADD3 R8, R15, -R9, RZ
        @P0 LOP3.LUT R8, R8, 0xff, RZ, 0x3c, !PT
        IMAD.WIDE.U32 R16, R8, R9, R14
        IADD3 R8, P1, R16, R8, RZ
        IADD3.X R9, R17, R9, RZ, P1, !PT
        IMAD.IADD R8, R8, 0x1, R9
";

const FLOAT: &str = "
        FADD R23, R20, R21
        FFMA R22, R23, R21, R22
        FMUL R24, R22, 0.0009765625
        FMNMX R25, R24, R23, PT
        FSETP.GT.AND P0, PT, R25, R20, PT
        FSEL R26, R25, R24, P0
        FFMA R20, R26, 0.5, R20
        FADD R20, R20, -R21
";

const MEMORY: &str = "
        LDG.E R10, desc[UR4][R4.64]
        STS [R6], R10
        IADD3 R11, R10, R8, RZ
        LDS R12, [R6]
        STG.E desc[UR4][R4.64], R11
        IADD3 R8, R8, R12, RZ
        LDG.E.64 R14, desc[UR4][R4.64+0x10000]
        IADD3 R8, R8, R14, RZ
        STS.64 [R6+0x2000], R14
";

const DIVERGENT: &str = "
        LOP3.LUT R10, R0, 0x1, RZ, 0xc0, !PT
        ISETP.NE.AND P0, PT, R10, RZ, PT
        BSSY B0, `(.L_x_2)
        @P0 BRA `(.L_x_1)
        IADD3 R8, R8, 0x3, RZ
        IMAD R8, R8, 0x5, R0
        BSYNC B0
.L_x_1:
        IADD3 R8, R8, R9, RZ
        LOP3.LUT R8, R8, R0, RZ, 0x3c, !PT
        BSYNC B0
.L_x_2:
";

/// The launch of every kernel.
pub fn launch() -> Case {
    case(2, 128, vec![buffer("out", &vec![0; WORDS], &vec![0; WORDS])])
}

/// The kernels by name.
pub fn programs() -> Vec<(&'static str, Program)> {
    let kernels = [
        ("integer", 4, INTEGER),
        ("float", 4, FLOAT),
        ("memory", 16, MEMORY),
        ("scattered", 136, MEMORY),
        ("divergent", 4, DIVERGENT),
    ];
    let case = launch();
    let assembled = kernels.into_iter().map(|(name, stride, body)| {
        (name, program(&format!("{}\n.L_x_0:\n{body}{EPILOGUE}", prologue(stride)), &case))
    });
    assembled.collect()
}
