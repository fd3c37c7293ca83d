//! A case for each family of rules, written as the expression that the instruction becomes.

use ptxc_ir::text::print_inst;
use ptxc_ir::{Function, Inst, Level, Op, Type, Value, ValueDef, verify};

use super::{Target, fold};
use crate::analyses::Analyses;
use crate::simplify::dce;
use crate::simplify::testing::{check, check_unchanged, function};

/// Unknown values: `v0` and `v1` are `b32`, `v2` and `v3` `b64`, `v4` and `v5` predicates.
const HEAD: &str = "block0:\n v0 = param.b32 +0\n v1 = param.b32 +4\n v2 = param.b64 +0\n v3 = param.b64 +8\n \
                    v4 = icmp.slt.b32 v0, v1\n v5 = icmp.eq.b64 v2, v3\n";

/// The definition of a value, as an expression over the unknown values.
fn expression(func: &Function, value: Value) -> String {
    match func.def(value) {
        _ if value.as_u32() <= 5 => value.to_string(),
        ValueDef::Param(..) => value.to_string(),
        ValueDef::Result(inst, _) => match func.insts[inst].op {
            Op::Const(bits) => format!("{bits:#x}"),
            _ => operation(func, inst),
        },
    }
}

fn operation(func: &Function, inst: Inst) -> String {
    let text = print_inst(func, inst);
    let words = text.split(' ').find(|word| word.contains('.')).unwrap_or(&text);
    let args: Vec<String> = func.insts[inst].args.iter().map(|&arg| expression(func, arg)).collect();
    format!("({words} {})", args.join(" "))
}

/// The value `r` of a computation folds to an expression.
#[track_caller]
fn folds(computation: &str, expected: &str) {
    let mut func = function(
        &format!("{HEAD}{computation}\n store.global.b32 [v2], v0\n jump block1(r, v4, v4)\nblock1(p: TYPE, q: pred, s: pred):\n exit")
            .replace("TYPE", result_type(computation)),
    );
    let jump = *func.blocks[func.entry()].insts.last().unwrap();
    assert!(fold(&mut func, &mut Analyses::default(), Target::Any), "nothing folds");
    assert_eq!(verify(&func, Level::Built), Ok(()), "in {func}");
    assert_eq!(expression(&func, func.insts[jump].targets[0].args[0]), expected, "in {func}");
}

/// The type of `r`, from its definition.
fn result_type(computation: &str) -> &'static str {
    let definition = computation.rsplit("r = ").next().unwrap_or_default();
    let words = definition.split(' ').next().unwrap_or_default();
    if words.contains("cmp.") {
        return "pred";
    }
    let named = |ty: &&Type| words.split('.').any(|word| word == ty.name());
    Type::ALL.iter().find(named).map_or("b64", |ty| ty.name())
}

#[test]
fn constants() {
    folds("a = const.b32 6\n b = const.b32 7\n r = imul.b32 a, b", "0x2a");
    folds("a = const.b32 0xffffffff\n r = sext.b64 a", "0xffffffffffffffff");
}

#[test]
fn sums_and_products() {
    folds("a = const.b32 4\n b = iadd.b32 v0, a\n r = iadd.b32 b, a", "(iadd.b32 v0 0x8)");
    folds("a = const.b32 4\n r = isub.b32 v0, a", "(iadd.b32 v0 0xfffffffc)");
    folds("a = const.b64 8\n r = imul.b64 a, v2", "(shl.b64 v2 0x3)");
    folds("a = sext.b64 v0\n b = const.b32 2\n r = shl.b64 a, b", "(smul_wide.b32 v0 0x4)");
    folds(
        "a = sext.b64 v0\n b = zext.b64 v1\n c = iadd.b64 a, b\n d = const.b32 3\n r = shl.b64 c, d",
        "(iadd.b64 (smul_wide.b32 v0 0x8) (umul_wide.b32 v1 0x8))",
    );
    folds("a = ineg.b32 v1\n r = iadd.b32 v0, a", "(isub.b32 v0 v1)");
    folds("a = isub.b32 v0, v1\n r = iadd.b32 v1, a", "v0");
    folds("a = const.b32 16\n r = urem.b32 v0, a", "(and.b32 v0 0xf)");
    folds("a = const.b32 8\n b = shl.b32 v0, a\n r = shr.b32 b, a", "(and.b32 v0 0xffffff)");
    folds("a = const.b32 40\n r = shl.b32 v0, a", "0x0");
    folds("a = const.b32 40\n r = sar.b32 v0, a", "(sar.b32 v0 0x1f)");
    folds("a = const.b32 20\n b = sar.b32 v0, a\n r = sar.b32 b, a", "(sar.b32 v0 0x1f)");
}

#[test]
fn masks() {
    folds(
        "a = const.b32 0xff\n b = and.b32 v0, a\n c = const.b32 0xfff\n r = and.b32 b, c",
        "(and.b32 v0 0xff)",
    );
    folds("a = const.b32 8\n b = shl.b32 v0, a\n c = const.b32 0xff\n r = and.b32 b, c", "0x0");
    folds("a = load.global.b8.b32 [v2]\n c = const.b32 0xff\n r = and.b32 a, c", "(load.global.b8.b32 v2)");
}

#[test]
fn booleans() {
    folds("f = const.pred 0\n r = xor.pred v4, f", "v4");
    folds("t = const.pred 1\n r = xor.pred v4, t", "(not.pred v4)");
    folds(
        "one = const.b32 1\n zero = const.b32 0\n a = select.b32 v4, one, zero\n b = and.b32 a, one\n \
         r = icmp.eq.b32 b, one",
        "v4",
    );
    folds(
        "z = const.b32 0\n n = const.b32 5\n a = select.b32 v4, z, n\n r = icmp.ne.b32 a, z",
        "(not.pred v4)",
    );
    folds("a = icmp.slt.b32 v1, v0\n r = not.pred a", "(icmp.sge.b32 v1 v0)");
    folds(
        "a = bitcast.f32 v0\n c = fcmp.lt.f32 a, a\n r = not.pred c",
        "(fcmp.geu.f32 (bitcast.f32 v0) (bitcast.f32 v0))",
    );
    folds("t = const.pred 1\n r = select.pred v4, t, v5", "(or.pred v4 v5)");
    folds("n = not.pred v4\n r = select.b32 n, v0, v1", "(select.b32 v4 v1 v0)");
    folds("n = not.pred v4\n r = and.pred n, v4", "0x0");
}

#[test]
fn comparisons() {
    folds("a = const.b32 1\n b = and.b32 v0, a\n r = icmp.eq.b32 b, a", "(icmp.ne.b32 (and.b32 v0 0x1) 0x0)");
    folds("a = zext.b64 v0\n b = const.b64 9\n r = icmp.slt.b64 a, b", "(icmp.ult.b32 v0 0x9)");
    folds(
        "a = sext.b64 v0\n b = const.b64 0xffffffffffffffff\n r = icmp.sgt.b64 a, b",
        "(icmp.sgt.b32 v0 0xffffffff)",
    );
    folds("a = isub.b32 v0, v1\n z = const.b32 0\n r = icmp.ne.b32 a, z", "(icmp.ne.b32 v0 v1)");
    folds("a = const.b32 3\n b = iadd.b32 v0, a\n r = icmp.eq.b32 b, a", "(icmp.eq.b32 v0 0x0)");
    folds("z = const.b32 0\n r = icmp.uge.b32 v0, z", "0x1");
    folds("z = const.b32 7\n r = icmp.sgt.b32 z, v0", "(icmp.slt.b32 v0 0x7)");
}

/// If a loop needs a sum anyway, the comparison uses the sum: comparing the operand would keep both
/// alive.
#[test]
fn a_shared_sum_stays_compared() {
    check_unchanged(
        |func, known| fold(func, known, Target::Any),
        "block0:\n v0 = param.b32 +0\n v1 = const.b32 0x1\n v2 = const.b32 0x9\n jump block1(v0)\n\
         block1(v3: b32):\n v4 = iadd.b32 v3, v1\n v5 = icmp.eq.b32 v4, v2\n brif v5, block2, block1(v4)\n\
         block2:\n exit",
    );
}

#[test]
fn conversions() {
    folds("a = zext.b64 v0\n r = trunc.b32 a", "v0");
    folds("a = trunc.b16 v0\n r = zext.b32 a", "(and.b32 v0 0xffff)");
    folds(
        "m = const.b32 0xff\n a = and.b32 v0, m\n b = trunc.b16 a\n r = zext.b64 b",
        "(zext.b64 (and.b32 v0 0xff))",
    );
    folds("a = zext.b64 v0\n b = trunc.b16 a\n r = sext.b32 b", "(sext.b32 (trunc.b16 v0))");
    folds("a = sreg.b32 tid.x\n r = sext.b64 a", "(zext.b64 (sreg.b32 ))");
    folds("a = from_generic.global v2\n r = to_generic.global a", "v2");
    folds("a, b = unpack.b64 v2\n r = pack.b64 a, b", "v2");
    folds("a = pack.b64 v0, v1\n b, c = unpack.b64 a\n r = isub.b32 b, c", "(isub.b32 v0 v1)");
    folds("a = bitcast.f32 v0\n r = bitcast.b32 a", "v0");
    folds(
        "a = symbol.b32 @s\n b = to_generic.shared a\n r = load.generic.b32 [b + 4]",
        "(load.shared.b32 (symbol.b32 ))",
    );
}

#[test]
fn branches_turn_and_collapse() {
    check(
        |func, known| fold(func, known, Target::Any) | dce(func, known),
        "block0:\n v0 = undef.pred\n v1 = not.pred v0\n brif v1, block1, block2\n\
         block1:\n v2 = const.b32 5\n switch v2, block2, block3, block4\n\
         block2:\n v3 = const.pred 0\n brif v3, block3, block4\nblock3:\n exit\nblock4:\n exit",
        "block0:\n v0 = undef.pred\n brif v0, block2, block1\nblock1:\n jump block4\n\
         block2:\n jump block4\nblock4:\n exit",
    );
}

#[test]
fn legal_code_stays_legal() {
    check_unchanged(
        |func, known| fold(func, known, Target::Legal),
        "block0:\n v0 = param.b64 +0\n v1 = const.b64 0x8\n v2 = imul.b64 v0, v1\n\
         v3 = isub.b64 v0, v1\n store.global.b64 [v2], v3\n exit",
    );
}
