//! For each rule, a function that breaks that rule and no other.

use super::{Level, Rule, verify};
use crate::entities::{Block, Value};
use crate::function::{Function, InstData};
use crate::op::Op;
use crate::text::parse_function;
use crate::types::Type;

fn function(body: &str) -> Function {
    let text =
        format!("func @f entry {{\n param \"n\" 4 +0\n symbol @s shared size 4 align 4 +0\n{body}\n}}\n");
    parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?} in {text}"))
}

fn rules(func: &Function, level: Level) -> Vec<Rule> {
    match verify(func, level) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.rule).collect(),
    }
}

#[test]
fn each_rule_catches_its_case() {
    use Rule::*;
    let cases: &[(&str, &[Rule])] = &[
        ("block0:\n exit", &[]),
        ("block0:\n v0 = param.b32 +0\n exit", &[]),
        ("", &[Layout]),
        ("block0:\n jump block0", &[Entry]),
        ("block0(v0: b32):\n exit", &[Entry]),
        ("block0:\n v0 = undef.b32", &[Terminator]),
        ("block0:\n exit\n exit", &[Terminator]),
        ("block0:\n", &[Terminator]),
        ("block0:\n jump", &[Targets]),
        ("block0:\n v0 = undef.pred\n brif v0, block1\nblock1:\n exit", &[Targets]),
        ("block0:\n exit block1\nblock1:\n exit", &[Targets]),
        ("block0:\n jump block1\nblock1(v0: b32):\n exit", &[Edge]),
        ("block0:\n v1 = undef.f32\n jump block1(v1)\nblock1(v0: b32):\n exit", &[Edge]),
        ("block0:\n v0 = undef.f32\n v1 = iadd.f32 v0, v0\n exit", &[Type]),
        ("block0:\n v0 = undef.f32\n v1 = iadd.b32 v0, v0\n exit", &[Type, Type]),
        ("block0:\n v0 = undef.b32\n v1 = iadd.b32 v0\n exit", &[Type]),
        ("block0:\n v0 = undef.b32\n v1 = zext.b16 v0\n exit", &[Type]),
        ("block0:\n v0 = undef.b32\n v1 = bitcast.b64 v0\n exit", &[Type]),
        ("block0:\n v0 = undef.b32\n bar.arrive v0\n exit", &[Type]),
        ("block0:\n v0 = undef.b32\n bar.sync v0, v0, v0\n exit", &[Type]),
        ("block0:\n v0 = undef.b32\n v1 = load.global.b32 [v0]\n exit", &[Address]),
        ("block0:\n v0 = undef.b64\n v1 = load.shared.b32 [v0]\n exit", &[Address]),
        ("block0:\n v0 = undef.b64\n v1 = load.global.b64.b32 [v0]\n exit", &[Access]),
        ("block0:\n v0 = undef.b64\n v1 = load.global.release.gpu.b32 [v0]\n exit", &[Access]),
        ("block0:\n v0 = undef.b32\n store.const.b32 [v0], v0\n exit", &[Access]),
        ("block0:\n v0 = undef.b32\n red.add.shared.b32 [v0], v0\n exit", &[Access]),
        ("block0:\n fence.weak.gpu\n exit", &[Access]),
        ("block0:\n v0 = undef.b64\n v1 = matrix_load.global.b128 [v0]\n exit", &[Access]),
        ("block0:\n v0 = undef.b32\n v1 = matrix_load.shared.b32 [v0]\n exit", &[Access]),
        (
            "block0:\n v0 = undef.b32\n v1, v2 = matrix_product.m8n8k16.s32.u8.f16 v0, v0, v0, v0, v0\n exit",
            &[Access],
        ),
        (
            "block0:\n v0 = undef.b32\n v1, v2 = matrix_product.m8n8k16.s32.u8.u8.xor v0, v0, v0, v0\n exit",
            &[Access],
        ),
        ("block0:\n v0 = undef.b32\n v1, v2 = matrix_product.m8n8k16.s32.u8.u8 v0, v0, v0\n exit", &[Type]),
        ("block0:\n v0 = const.b16 0x10000\n exit", &[Constant]),
        ("block0:\n v0 = const.pred 2\n exit", &[Constant]),
        ("block0:\n v0 = const.b64 0xffffffffffffffff\n exit", &[]),
        ("block0:\n v1 = ineg.b32 v0\n v0 = undef.b32\n exit", &[Dominance]),
        (
            "block0:\n v0 = undef.pred\n brif v0, block1, block2\nblock1:\n v1 = undef.b32\n jump block2\n\
             block2:\n v2 = ineg.b32 v1\n exit",
            &[Dominance],
        ),
        ("block0:\n exit\nblock1:\n v1 = ineg.b32 v1\n exit", &[]),
        ("block0:\n v0 = symbol.b64 @s\n exit", &[Symbol]),
        ("block0:\n v0 = param.b64 +0\n exit", &[Symbol]),
        ("block0:\n bssy b0, block1\n jump block1\nblock1:\n exit", &[Level]),
        ("callee @f routine (b32) -> (b32)\nblock0:\n v0 = undef.b32\n v1 = call.pure @f, v0\n exit", &[]),
        ("callee @f routine (b32) -> (b32)\nblock0:\n v0 = undef.b32\n v1 = call @f, v0\n exit", &[]),
        ("callee @f device (b32) -> (b32)\nblock0:\n v0 = undef.b32\n v1 = call.pure @f, v0\n exit", &[Call]),
        ("callee @f device (b32) -> (b32)\nblock0:\n v0 = undef.f32\n v1 = call @f, v0\n exit", &[Call]),
        ("callee @f device (b32) -> ()\nblock0:\n call @f\n exit", &[Call]),
        ("callee @p prototype () -> ()\nblock0:\n call @p\n exit", &[Call]),
        ("callee @p prototype () -> ()\nblock0:\n v0 = function @p\n exit", &[Call]),
        ("callee @p prototype () -> ()\nblock0:\n v0 = undef.b32\n call_indirect @p, v0\n exit", &[Call]),
        ("callee @f device () -> ()\nblock0:\n v0 = function @f\n call_indirect @f, v0\n exit", &[Call]),
        (
            "callee @f device () -> ()\ncallee @p prototype (b32) -> ()\n\
             block0:\n v0 = function @f\n v1 = undef.b32\n call_indirect @p, v0, v1\n exit",
            &[],
        ),
        ("block0:\n v0 = undef.b32\n ret v0", &[Call]),
    ];
    for (body, expected) in cases {
        assert_eq!(rules(&function(body), super::Level::Built), *expected, "in\n{body}");
    }
    let contents = [
        ("\"0102\"", vec![]),
        ("\"0102030405\"", vec![Symbol]),
        ("\"\" 8 @g +0 at 0", vec![Symbol]),
        ("\"\" 4 @nobody +0 at 0", vec![Symbol]),
    ];
    for (content, expected) in contents {
        let line =
            format!("func @f entry {{\n symbol @g global size 4 align 4 = {content}\nblock0:\n exit\n}}");
        let func = crate::text::parse(&line).unwrap().remove(0);
        assert_eq!(rules(&func, super::Level::Built), expected, "in\n{line}");
    }
    let bar = function("block0:\n v0 = undef.b32\n bar.sync v0\n exit");
    assert_eq!(rules(&bar, super::Level::Built), []);
    assert_eq!(rules(&bar, super::Level::Legal), [Level]);
}

#[test]
fn a_device_function_has_parameters_and_results() {
    let of = |body: &str| parse_function(&format!("func @d device -> (b32, pred) {{\n{body}\n}}\n")).unwrap();
    let sound = of("block0(v0: b32):\n v1 = undef.pred\n ret v0, v1");
    assert_eq!(rules(&sound, Level::Built), []);
    assert_eq!(rules(&of("block0(v0: b32):\n ret v0"), Level::Built), [Rule::Call]);
    assert_eq!(rules(&of("block0(v0: b32):\n ret v0, v0"), Level::Built), [Rule::Call]);
}

#[test]
fn broken_ownership_is_found() {
    let mut func = function("block0:\n v0 = undef.b32\n exit");
    let inst = func.blocks[Block::from_u32(0)].insts[0];
    func.blocks[Block::from_u32(0)].insts.insert(0, inst);
    assert_eq!(rules(&func, Level::Built), [Rule::Layout]);

    let mut func = function("block0:\n v0 = undef.b32\n exit");
    let add = func.make_inst(InstData::new(Op::Ineg, Type::B32, &[Value::from_u32(77)]));
    func.blocks[Block::from_u32(0)].insts.insert(0, add);
    assert_eq!(rules(&func, Level::Built), [Rule::Definition]);

    let mut func = function("block0:\n v0 = undef.b32\n v1 = ineg.b32 v0\n exit");
    func.replace(
        func.blocks[Block::from_u32(0)].insts[1],
        Op::Icmp(crate::IntCond::Eq),
        Type::B32,
        &[Value::from_u32(0), Value::from_u32(0)],
    );
    assert_eq!(rules(&func, Level::Built), [Rule::Type]);
}

/// Each of the replacements breaks only rules of convergence in a sound function.
fn breaks_convergence(sound: &str, replacements: &[(&str, &str)]) {
    assert_eq!(rules(&function(sound), Level::Converged), []);
    for (from, to) in replacements {
        let body = sound.replacen(from, to, 1);
        let found = rules(&function(&body), Level::Converged);
        assert!(
            !found.is_empty() && found.iter().all(|&rule| rule == Rule::Convergence),
            "{found:?} in\n{body}"
        );
    }
}

#[test]
fn convergence_brackets() {
    let sound = "block0:\n v0 = undef.pred\n bssy b0, block3\n brif v0, block1, block2\n\
                 block1:\n jump block2\nblock2:\n bsync b0\n jump block3\nblock3:\n exit";
    let broken = [
        ("bssy b0, block3\n", ""),
        ("bsync b0\n jump", "bsync b1\n jump"),
        // The threads would continue at a block other than the jump's target.
        ("bssy b0, block3", "bssy b0, block1"),
        ("bssy b0", "bssy b16"),
        // Block 2 is reached both with b1 open and without.
        ("block1:\n jump", "block1:\n bssy b1, block2\n jump"),
        ("block1:\n jump", "block1:\n bssy b0, block2\n jump"),
    ];
    breaks_convergence(sound, &broken);
    let exits = sound.replace("bsync b0\n", "");
    assert_eq!(rules(&function(&exits), Level::Converged), [], "an exit may leave barriers open");
    let early = sound.replace("block1:\n jump block2", "block1:\n break b0\n exit");
    assert_eq!(rules(&function(&early), Level::Converged), []);
    let early = sound.replace("block1:\n jump block2", "block1:\n break b1\n exit");
    assert_eq!(rules(&function(&early), Level::Converged), [Rule::Convergence]);
}

#[test]
fn a_region_may_open_a_barrier_that_another_one_has_saved() {
    let sound = "block0:\n v0 = undef.pred\n bssy b0, block6\n brif v0, block1, block5\n\
                 block1:\n v1 = bsave b0\n bssy b0, block4\n brif v0, block2, block3\n\
                 block2:\n jump block3\nblock3:\n bsync b0\n jump block4\n\
                 block4:\n brestore b0, v1\n jump block5\nblock5:\n bsync b0\n jump block6\nblock6:\n exit";
    let broken = [
        (" brestore b0, v1\n", ""),
        ("block4:\n brestore b0, v1", "block4:\n v2 = undef.b32\n brestore b0, v2"),
        ("block2:\n jump", "block2:\n brestore b0, v1\n jump"),
        ("brestore b0, v1\n", "brestore b0, v1\n brestore b0, v1\n"),
        ("bsave b0\n", "bsave b0\n break b0\n"),
        ("bsave b0", "bsave b1"),
    ];
    breaks_convergence(sound, &broken);
}

#[test]
fn sums_that_keep_subnormals_are_of_singles() {
    let sum = |ty: &str| {
        format!(
            "block0:\n v0 = undef.b64\n v1 = undef.{ty}\n \
             red.fadd_noftz.global.relaxed.gpu.b32.{ty} [v0], v1\n exit"
        )
    };
    assert_eq!(rules(&function(&sum("f32")), Level::Built), []);
    for other in ["f16x2", "bf16x2"] {
        assert_eq!(rules(&function(&sum(other)), Level::Built), [Rule::Access], "{other}");
    }
}

/// A product of m64n8k16 with lent sums `v10` to `v13`, in the middle of `before` and `after`.
fn with_product(before: &str, after: &str) -> Vec<Rule> {
    let body = format!(
        "block0:\n v0 = undef.b64\n v1 = const.pred 1\n v2 = undef.f32\n{before}\n \
         v10, v11, v12, v13 = warpgroup_product.m64n8k16.f32.f16.f16.add.f32 v0, v0, v3, v4, v5, v6, v1\n{after}"
    );
    rules(&function(&body), Level::Built)
}

#[test]
fn values_in_flight_are_only_for_products() {
    let lend = " v3, v4, v5, v6 = lend.f32.x4 v2, v2, v2, v2\n";
    let before = format!("{lend} warpgroup_arrive");
    let wait =
        " warpgroup_commit\n warpgroup_wait 0\n v20, v21, v22, v23 = settle.f32.x4 v10, v11, v12, v13\n";
    let good = format!("{wait} v30 = fneg.f32 v20\n exit");
    assert_eq!(with_product(&before, &good), [], "it is right");
    let cases = [
        // Sums are read although a wait has passed: the settled values are others.
        (before.clone(), format!("{wait} v30 = fneg.f32 v10\n exit")),
        // A copy, a reader before the wait.
        (before.clone(), format!(" v30 = fneg.f32 v10\n{wait} exit")),
        // No wait, no commit, or a wait that leaves the group.
        (before.clone(), " warpgroup_commit\n v20, v21, v22, v23 = settle.f32.x4 v10, v11, v12, v13\n exit".into()),
        (
            before.clone(),
            " warpgroup_wait 0\n v20, v21, v22, v23 = settle.f32.x4 v10, v11, v12, v13\n exit".into(),
        ),
        (
            before.clone(),
            " warpgroup_commit\n warpgroup_wait 1\n v20, v21, v22, v23 = settle.f32.x4 v10, v11, v12, v13\n exit"
                .into(),
        ),
        // Ordinary values are settled.
        (before.clone(), format!("{wait} v24 = settle.f32.x1 v20\n exit")),
        // No arrival, or one that is too early.
        (lend.to_string(), good.clone()),
        (format!(" warpgroup_arrive\n{lend}"), good.clone()),
        // The function ends with the product under way.
        (before.clone(), " exit".into()),
        (before.clone(), " warpgroup_commit\n exit".into()),
    ];
    for (before, after) in &cases {
        assert_eq!(with_product(before, after).first(), Some(&Rule::Flight), "{before}\n…\n{after}");
    }
    let ordinary = " v3 = undef.f32\n v4 = undef.f32\n v5 = undef.f32\n v6 = undef.f32\n warpgroup_arrive";
    assert_eq!(with_product(ordinary, &good), [Rule::Flight; 4], "the sums are not lent");
}

#[test]
fn values_in_flight_pass_through_parameters_in_a_loop() {
    let loop_of = |arg: &str, wait: &str| {
        rules(
            &function(&format!(
                "block0:\n v0 = undef.b64\n v1 = const.pred 1\n v2 = undef.f32\n \
                 v3, v4, v5, v6 = lend.f32.x4 v2, v2, v2, v2\n warpgroup_arrive\n \
                 jump block1({arg}, v4, v5, v6)\n\
                 block1(v13: f32, v14: f32, v15: f32, v16: f32):\n warpgroup_arrive\n \
                 v20, v21, v22, v23 = warpgroup_product.m64n8k16.f32.f16.f16.add.f32 v0, v0, v13, v14, v15, v16, v1\n \
                 warpgroup_commit\n warpgroup_wait {wait}\n brif v1, block1(v20, v21, v22, v23), block2\n\
                 block2:\n warpgroup_wait 0\n v30, v31, v32, v33 = settle.f32.x4 v20, v21, v22, v23\n exit"
            )),
            Level::Built,
        )
    };
    assert_eq!(loop_of("v3", "1"), []);
    assert_eq!(loop_of("v3", "0"), []);
    // An ordinary value for a parameter that is lent.
    assert_eq!(loop_of("v2", "1"), [Rule::Flight]);
}
