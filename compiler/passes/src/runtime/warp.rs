//! Routines in which lanes of a warp come together from different places of a kernel.
//!
//! Threads that execute a `shfl.sync` in one arm of a branch exchange with those that execute one in the other. So
//! both arms call the routine of the operation, which is one place for all:
//!
//! ```text
//! func @warp.shfl.bfly device -> (b32, pred) {
//! block0(v0: b32, v1: b32, v2: b32, v3: b32):
//!     warpsync v3                                 // waits for the lanes of the mask
//!     v4, v5 = shfl.bfly v0, v1, v2               // exchanges among those that are here
//!     ret v4, v5
//! }
//! ```
//!
//! In: an operation that waits for lanes. Out: the name of its routine, which says the operation, and the routine of
//! a name. The mask is the last parameter; barriers of the CTA and the cluster have none,
//! as they wait for all lanes. Numbers of CTA barriers that are known are part of the name, so that they count as known in the routine.
//!
//! From sm_90 on a routine is not called but copied to each place, between `WARPSYNC.COLLECTIVE` and
//! `ENDCOLLECTIVE`: see [`collectives`](crate::layout::inline_collectives).

use ptxc_ir::text::parse_function;
use ptxc_ir::{BarrierKind, Function, InstData, MatchMode, Op, ReduxOp, ShflMode, VoteMode};

/// What the name of every routine of this kind begins with.
const PREFIX: &str = "warp.";

/// The mask of a barrier's routine.
const ALL_LANES: &str = "    v19 = const.b32 0xffffffff\n";

/// Whether a function of that name is one of these routines.
pub fn is_warp_routine(name: &str) -> bool {
    name.starts_with(PREFIX) && routine(name).is_some()
}

/// Whether lanes come together for a mask that is the last parameter; all lanes do for a barrier.
pub fn takes_mask(name: &str) -> bool {
    !name.starts_with("warp.barrier.") && !name.starts_with("warp.cluster.")
}

/// The kind of an operation that waits for lanes: operations of one kind at different places may have to meet. `None` for any
/// other operation.
pub fn kind(data: &InstData) -> Option<String> {
    let operation = match data.op {
        Op::Shfl(mode) => format!("shfl.{}", mode.name()),
        Op::Vote(mode) => format!("vote.{}", mode.name()),
        Op::Match(mode) => format!("match.{}.{}", mode.name(), data.ty),
        Op::Redux(op) => format!("redux.{}", op.name()),
        Op::Elect => "elect".to_string(),
        Op::WarpSync => "sync".to_string(),
        Op::ClusterArrive(..) => "cluster.arrive".to_string(),
        Op::ClusterWait(..) => "cluster.wait".to_string(),
        Op::Barrier(kind, ..) => format!("barrier.{}", kind.name()),
        _ => return None,
    };
    Some(format!("{PREFIX}{operation}"))
}

/// The name of the routine for an operation that waits for lanes, given the constants that a CTA barrier names;
/// `None` for any other operation.
pub fn routine_name(data: &InstData, numbers: Option<&[u64]>) -> Option<String> {
    let mut name = kind(data)?;
    if let Op::Barrier(kind, _, packed) = data.op {
        match numbers {
            Some(numbers) => numbers.iter().for_each(|number| name += &format!(".{number}")),
            None if packed => name += ".packed",
            None if data.args.len() > 1 + usize::from(kind.is_reduction()) => name += ".name.count",
            None => name += ".name",
        }
    }
    Some(name)
}

/// The routine of that name, if it is one of these.
pub fn routine(name: &str) -> Option<Function> {
    let parts: Vec<&str> = name.strip_prefix(PREFIX)?.split('.').collect();
    let words = |count: usize| vec!["b32"; count];
    let exchange =
        |operation: String, params: Vec<&str>, results: &str| masked(name, &operation, params, results);
    let text = match parts[..] {
        ["shfl", mode] if mode.parse::<ShflMode>().is_ok() => {
            exchange(format!("shfl.{mode}"), words(3), "b32, pred")
        }
        ["vote", "ballot"] => exchange("vote.ballot".to_string(), vec!["pred"], "b32"),
        ["vote", mode] if mode.parse::<VoteMode>().is_ok() => {
            exchange(format!("vote.{mode}"), vec!["pred"], "pred")
        }
        ["match", mode, ty @ ("b32" | "b64")] => {
            let results = match mode.parse::<MatchMode>().ok()? {
                MatchMode::Any => "b32",
                MatchMode::All => "b32, pred",
            };
            exchange(format!("match.{mode}.{ty}"), vec![ty], results)
        }
        ["redux", op] if op.parse::<ReduxOp>().is_ok() => exchange(format!("redux.{op}"), words(1), "b32"),
        ["elect"] => exchange("elect".to_string(), vec![], "b32, pred"),
        ["sync"] => masked(name, "", vec![], ""),
        ["cluster", what @ ("arrive" | "wait")] => function(
            name,
            &[],
            "",
            &format!("{ALL_LANES}    warpsync v19\n"),
            &format!("cluster_{what}.relaxed"),
        ),
        ["barrier", "red", kind, ref numbers @ ..] => {
            barrier(name, format!("red.{kind}").parse().ok()?, numbers)?
        }
        ["barrier", kind, ref numbers @ ..] => barrier(name, kind.parse().ok()?, numbers)?,
        _ => return None,
    };
    parse_function(&text).ok()
}

/// A routine of an operation whose parameters are all its arguments, the mask last. Operations of which each thread
/// keeps its group's part take the mask, too.
fn masked(name: &str, operation: &str, mut params: Vec<&str>, results: &str) -> String {
    let mask = params.len();
    params.push("b32");
    let of_groups = ["vote", "match", "redux"].iter().any(|family| operation.starts_with(family));
    let args = list((0..if of_groups { mask + 1 } else { mask }).map(|n| format!("v{n}")));
    let operation = if operation.is_empty() { String::new() } else { format!("{operation} {args}") };
    function(name, &params, results, &format!("    warpsync v{mask}\n"), operation.trim_end())
}

/// A routine of a CTA barrier, whose name and count are parameters, or numbers in the routine's name. It is for all
/// lanes of the warp, and needs no mask.
fn barrier(name: &str, kind: BarrierKind, numbers: &[&str]) -> Option<String> {
    let mut constants = String::from(ALL_LANES);
    let mut params = Vec::new();
    let mut args: Vec<String> = Vec::new();
    match numbers {
        ["name"] | ["packed"] => params.push("b32"),
        ["name", "count"] => params.extend(["b32", "b32"]),
        [] => return None,
        _ if numbers.len() > 2 => return None,
        _ => {
            for (n, number) in numbers.iter().enumerate() {
                let number: u32 = number.parse().ok()?;
                constants += &format!("    v{} = const.b32 {number:#x}\n", 20 + n);
                args.push(format!("v{}", 20 + n));
            }
        }
    }
    if kind.is_reduction() {
        params.push("pred");
    }
    args.extend((0..params.len()).map(|n| format!("v{n}")));
    let results = match kind {
        BarrierKind::RedPopc => "b32",
        BarrierKind::RedAnd | BarrierKind::RedOr => "pred",
        BarrierKind::Sync | BarrierKind::Arrive => "",
    };
    let packed = if numbers == ["packed"] { ".packed" } else { "" };
    let operation = format!("barrier.{}{packed} {}", kind.name(), list(args.into_iter()));
    Some(function(name, &params, results, &format!("{constants}    warpsync v19\n"), &operation))
}

/// The text of a routine with that beginning and one operation, or none.
fn function(name: &str, params: &[&str], results: &str, begin: &str, operation: &str) -> String {
    let typed = params.iter().enumerate().map(|(n, ty)| format!("v{n}: {ty}"));
    let count = if results.is_empty() { 0 } else { results.split(", ").count() };
    let values = list((0..count).map(|n| format!("v{}", 10 + n)));
    let assigned = if count == 0 { String::new() } else { format!("{values} = ") };
    let returns = if count == 0 { String::new() } else { format!(" -> ({results})") };
    let operation = if operation.is_empty() { String::new() } else { format!("    {assigned}{operation}\n") };
    let params = if params.is_empty() { String::new() } else { format!("({})", list(typed)) };
    format!("func @{name} device{returns} {{\nblock0{params}:\n{begin}{operation}    ret {values}\n}}\n")
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use ptxc_ir::{Level, Order, Type, verify};

    use super::*;

    #[test]
    fn names_and_routines_belong_together() {
        let mut func = Function::new("f", ptxc_ir::FunctionKind::Device);
        let block = func.add_block();
        let word = func.add_block_param(block, Type::B32);
        let wide = func.add_block_param(block, Type::B64);
        let pred = func.add_block_param(block, Type::Pred);
        let cases = [
            (InstData::new(Op::Shfl(ShflMode::Up), Type::B32, &[word, word, word, word]), None),
            (InstData::new(Op::Vote(VoteMode::Ballot), Type::B32, &[pred, word]), None),
            (InstData::new(Op::Vote(VoteMode::Uni), Type::B32, &[pred, word]), None),
            (InstData::new(Op::Match(MatchMode::All), Type::B64, &[wide, word]), None),
            (InstData::new(Op::Redux(ReduxOp::Smin), Type::B32, &[word, word]), None),
            (InstData::new(Op::Elect, Type::B32, &[word]), None),
            (InstData::new(Op::WarpSync, Type::B32, &[word]), None),
            (InstData::new(Op::ClusterArrive(Order::Relaxed, false), Type::B32, &[]), None),
            (InstData::new(Op::ClusterWait(Order::Relaxed, false), Type::B32, &[]), None),
            (InstData::new(Op::Barrier(BarrierKind::Sync, false, false), Type::B32, &[word]), Some(&[3][..])),
            (InstData::new(Op::Barrier(BarrierKind::Arrive, false, false), Type::B32, &[word, word]), None),
            (InstData::new(Op::Barrier(BarrierKind::RedAnd, false, true), Type::B32, &[word, pred]), None),
            (
                InstData::new(
                    Op::Barrier(BarrierKind::RedPopc, false, false),
                    Type::B32,
                    &[word, word, pred],
                ),
                Some(&[3, 64][..]),
            ),
        ];
        for (data, numbers) in cases {
            let name = routine_name(&data, numbers).unwrap();
            let routine = routine(&name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(routine.name, name);
            assert_eq!(verify(&routine, Level::Built), Ok(()), "{name}");
            let params = &routine.blocks[routine.entry()].params;
            let constants = numbers.map_or(0, <[u64]>::len);
            assert_eq!(params.len(), data.args.len() - constants, "{name}");
        }
        for name in ["warp.shfl.sideways", "warp.barrier.sync", "warp.barrier.sync.1.2.3", "warp.", "shfl.up"]
        {
            assert!(routine(name).is_none(), "{name}");
        }
    }
}
