//! Routines in which lanes of a warp come together from different places of a kernel.
//!
//! Threads that execute a `shfl.sync` in one arm of a branch exchange values with those that
//! execute one in the other arm. So both arms call the routine of the operation, which is one place
//! for all lanes:
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
//! In: an operation that waits for lanes. Out: the name of its routine, which contains the
//! operation, and the routine for a name. The mask is the last parameter; barriers of the CTA and
//! the cluster have no mask, because they wait for all lanes. Known numbers of CTA barriers are
//! part of the name, so they are also known in the routine.
//!
//! From sm_90 on a routine is not called. Its code is copied to each place, between
//! `WARPSYNC.COLLECTIVE` and `ENDCOLLECTIVE`: see `layout::inline_collectives` of codegen.

use ptxc_ir::text::parse_function;
use ptxc_ir::{BarrierKind, Function, InstData, MatchMode, Op, ReduxOp, ShflMode, Type, VoteMode};
use smallvec::SmallVec;

/// The prefix of the names of all routines of this kind.
const PREFIX: &str = "warp.";

/// Whether a function of that name is one of these routines.
pub fn is_warp_routine(name: &str) -> bool {
    Parts::of(name).is_some()
}

/// Whether lanes come together for a mask in the last parameter; for a barrier, all lanes do.
pub fn takes_mask(name: &str) -> bool {
    !name.starts_with("warp.barrier.") && !name.starts_with("warp.cluster.")
}

/// Whether the second result of a function of that name tells whether the lane is the elected one.
pub fn elects(name: &str) -> bool {
    name.strip_prefix(PREFIX) == Some("elect")
}

/// The kind of an operation that waits for lanes: operations of one kind at different places may
/// have to meet. `None` for other operations.
pub fn kind(data: &InstData) -> Option<String> {
    let operation = match data.op {
        Op::Shfl(mode) => format!("shfl.{}", mode.name()),
        Op::Vote(mode) => format!("vote.{}", mode.name()),
        Op::Match(mode) => format!("match.{}.{}", mode.name(), data.ty),
        Op::Redux(op) => format!("redux.{}", op.name()),
        Op::Elect => "elect".to_string(),
        Op::WarpSync => "sync".to_string(),
        Op::ClusterArrive { .. } => "cluster.arrive".to_string(),
        Op::ClusterWait { .. } => "cluster.wait".to_string(),
        Op::Barrier { kind, .. } => format!("barrier.{}", kind.name()),
        _ => return None,
    };
    Some(format!("{PREFIX}{operation}"))
}

/// The name of the routine for an operation that waits for lanes, given the constant numbers of a
/// CTA barrier; `None` for other operations.
pub fn routine_name(data: &InstData, numbers: Option<&[u64]>) -> Option<String> {
    let mut name = kind(data)?;
    if let Op::Barrier { kind, packed, .. } = data.op {
        match numbers {
            Some(numbers) => numbers.iter().for_each(|number| name += &format!(".{number}")),
            None if packed => name += ".packed",
            None if data.args.len() > 1 + usize::from(kind.is_reduction()) => name += ".name.count",
            None => name += ".name",
        }
    }
    Some(name)
}

/// The types of a routine's parameters and results.
pub fn signature(name: &str) -> Option<(Vec<Type>, Vec<Type>)> {
    let parts = Parts::of(name)?;
    Some((parts.params(), parts.results.to_vec()))
}

/// The routine of that name, if it is one of these.
pub fn routine(name: &str) -> Option<Function> {
    let parts = Parts::of(name)?;
    parse_function(&parts.text(name)).ok()
}

/// The parts of a routine's name.
struct Parts<'a> {
    /// The operation as the IR writes it, without values; empty if lanes only meet.
    operation: &'a str,
    /// The types of the exchanged values.
    exchanged: &'static [Type],
    results: &'static [Type],
    lanes: Lanes,
}

/// The lanes that meet in a routine.
enum Lanes {
    /// The lanes of a mask.
    OfMask {
        /// Whether the operation takes the mask, too: each thread keeps its group's part of the
        /// result.
        is_argument: bool,
    },
    /// All lanes, for an operation with these constants before its other arguments.
    All(SmallVec<[u32; 2]>),
}

impl<'a> Parts<'a> {
    /// `None` if no routine has that name.
    fn of(name: &'a str) -> Option<Parts<'a>> {
        use Type::{B32, B64, Pred};
        let operation = name.strip_prefix(PREFIX)?;
        let words: SmallVec<[&str; 6]> = operation.split('.').collect();
        let exchange = |is_argument: bool, exchanged: &'static [Type], results: &'static [Type]| {
            Some(Parts { operation, exchanged, results, lanes: Lanes::OfMask { is_argument } })
        };
        match words[..] {
            ["shfl", mode] if mode.parse::<ShflMode>().is_ok() => {
                exchange(false, &[B32, B32, B32], &[B32, Pred])
            }
            ["vote", "ballot"] => exchange(true, &[Pred], &[B32]),
            ["vote", mode] if mode.parse::<VoteMode>().is_ok() => exchange(true, &[Pred], &[Pred]),
            ["match", mode, ty @ ("b32" | "b64")] => {
                let results: &[Type] = match mode.parse::<MatchMode>().ok()? {
                    MatchMode::Any => &[B32],
                    MatchMode::All => &[B32, Pred],
                };
                exchange(true, if ty == "b64" { &[B64] } else { &[B32] }, results)
            }
            ["redux", op] if op.parse::<ReduxOp>().is_ok() => exchange(true, &[B32], &[B32]),
            ["elect"] => exchange(false, &[], &[B32, Pred]),
            ["sync"] => Some(Parts { operation: "", ..exchange(false, &[], &[])? }),
            ["cluster", "arrive"] => Some(Parts::of_all("cluster_arrive.relaxed", &[], &[])),
            ["cluster", "wait"] => Some(Parts::of_all("cluster_wait.relaxed", &[], &[])),
            ["barrier", "red", _, ref numbers @ ..] | ["barrier", _, ref numbers @ ..] => {
                Parts::of_barrier(operation, numbers)
            }
            _ => None,
        }
    }

    fn of_all(operation: &'a str, exchanged: &'static [Type], results: &'static [Type]) -> Parts<'a> {
        Parts { operation, exchanged, results, lanes: Lanes::All(SmallVec::new()) }
    }

    /// The routine of a CTA barrier. The number and the count of threads are parameters, or they
    /// are numbers in the last words of the routine's name.
    fn of_barrier(operation: &'a str, numbers: &[&str]) -> Option<Parts<'a>> {
        use Type::{B32, Pred};
        let is_packed = numbers == ["packed"];
        let words = numbers.iter().map(|number| number.len() + 1).sum::<usize>();
        let kind = &operation["barrier.".len()..operation.len() - words];
        let kind: BarrierKind = kind.parse().ok()?;
        let (count, constants): (usize, SmallVec<[u32; 2]>) = match numbers {
            ["name"] | ["packed"] => (1, SmallVec::new()),
            ["name", "count"] => (2, SmallVec::new()),
            [_] | [_, _] => (0, numbers.iter().map(|number| number.parse().ok()).collect::<Option<_>>()?),
            _ => return None,
        };
        let exchanged: &[Type] = match (count, kind.is_reduction()) {
            (0, false) => &[],
            (0, true) => &[Pred],
            (1, false) => &[B32],
            (1, true) => &[B32, Pred],
            (_, false) => &[B32, B32],
            (_, true) => &[B32, B32, Pred],
        };
        let results: &[Type] = match kind {
            BarrierKind::RedPopc => &[B32],
            BarrierKind::RedAnd | BarrierKind::RedOr => &[Pred],
            BarrierKind::Sync | BarrierKind::Arrive => &[],
        };
        let operation = if is_packed { operation } else { &operation[..operation.len() - words] };
        Some(Parts { lanes: Lanes::All(constants), ..Parts::of_all(operation, exchanged, results) })
    }

    /// The types of the parameters: the exchanged values, then the mask.
    fn params(&self) -> Vec<Type> {
        let mask = matches!(self.lanes, Lanes::OfMask { .. }).then_some(Type::B32);
        self.exchanged.iter().copied().chain(mask).collect()
    }

    /// The text of the routine. Results start at v10, the mask of all lanes is v19, and constants
    /// start at v20.
    fn text(&self, name: &str) -> String {
        let exchanged = self.exchanged.len();
        let values = |first: usize, count: usize| (first..first + count).map(|n| format!("v{n}"));
        let (meeting, args) = match &self.lanes {
            Lanes::OfMask { is_argument } => {
                let args = exchanged + usize::from(*is_argument);
                (format!("    warpsync v{exchanged}\n"), list(values(0, args)))
            }
            Lanes::All(numbers) => {
                let constant = |(n, number)| format!("    v{} = const.b32 {number:#x}\n", 20 + n);
                let constants: String = numbers.iter().enumerate().map(constant).collect();
                let meeting = format!("    v19 = const.b32 0xffffffff\n{constants}    warpsync v19\n");
                (meeting, list(values(20, numbers.len()).chain(values(0, exchanged))))
            }
        };
        let results = list(values(10, self.results.len()));
        let assigned = if results.is_empty() { String::new() } else { format!("{results} = ") };
        let operation = match self.operation {
            "" => String::new(),
            operation => format!("    {}\n", format!("{assigned}{operation} {args}").trim_end()),
        };
        let types = list(self.results.iter().map(Type::to_string));
        let returns = if types.is_empty() { String::new() } else { format!(" -> ({types})") };
        let params = list(self.params().iter().enumerate().map(|(n, ty)| format!("v{n}: {ty}")));
        let params = if params.is_empty() { String::new() } else { format!("({params})") };
        format!(
            "func @{name} device{returns} {{\nblock0{params}:\n{meeting}{operation}    ret {results}\n}}\n"
        )
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use ptxc_ir::{Level, Order, verify};

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
            (
                InstData::new(Op::ClusterArrive { order: Order::Relaxed, aligned: false }, Type::B32, &[]),
                None,
            ),
            (InstData::new(Op::ClusterWait { order: Order::Relaxed, aligned: false }, Type::B32, &[]), None),
            (
                InstData::new(
                    Op::Barrier { kind: BarrierKind::Sync, aligned: false, packed: false },
                    Type::B32,
                    &[word],
                ),
                Some(&[3][..]),
            ),
            (
                InstData::new(
                    Op::Barrier { kind: BarrierKind::Arrive, aligned: false, packed: false },
                    Type::B32,
                    &[word, word],
                ),
                None,
            ),
            (
                InstData::new(
                    Op::Barrier { kind: BarrierKind::RedAnd, aligned: false, packed: true },
                    Type::B32,
                    &[word, pred],
                ),
                None,
            ),
            (
                InstData::new(
                    Op::Barrier { kind: BarrierKind::RedPopc, aligned: false, packed: false },
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
            let params = params.iter().map(|&param| routine.ty(param)).collect();
            assert_eq!(signature(&name), Some((params, routine.returns.clone())), "{name}");
        }
        for name in ["warp.shfl.sideways", "warp.barrier.sync", "warp.barrier.sync.1.2.3", "warp.", "shfl.up"]
        {
            assert!(routine(name).is_none(), "{name}");
        }
    }
}
