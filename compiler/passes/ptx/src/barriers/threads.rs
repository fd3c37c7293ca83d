//! Which threads of a CTA take a branch, if only their numbers decide.
//!
//! In: the condition of a branch. Out: its value for each thread of the largest CTA that the kernel
//! may be launched with, or `None` if it depends on anything except constants, `tid`, `laneid` and
//! lane masks. The instructions that compute it are evaluated once for each thread, by the same
//! functions that fold constants.
//!
//! If the kernel does not fix the shape of its CTAs, `tid.x` is taken to count threads along x
//! alone, as it does in every one-dimensional CTA. At most [`MOST`] instructions are evaluated for
//! a branch, and an [`Allowance`] limits the evaluations for all branches of a function; beyond
//! these limits the result is unknown.

use ptxc_ir::op::SpecialReg;
use ptxc_ir::{Function, FunctionKind, Op, Type, Value};
use ptxc_ssa::simplify::evaluate::evaluate;
use rustc_hash::FxHashMap;

/// The most instructions that compute a condition.
const MOST: usize = 48;

/// The most threads of a CTA.
const CTA_THREADS: u32 = 1024;

/// The number of threads in a warp.
const WARP: usize = 32;

/// The number of evaluations that are left.
pub(super) struct Allowance(usize);

impl Allowance {
    /// The allowance for a function: enough for some hundred branches.
    pub(super) const fn new() -> Allowance {
        Allowance(1 << 21)
    }

    /// Takes a number of evaluations off the allowance, if that many are left.
    fn take(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.checked_sub(count)?;
        Some(())
    }
}

/// The value of a condition for each thread.
pub(super) struct Outcomes(Vec<bool>);

impl Outcomes {
    /// Evaluates a condition; `None` if it is not a function of the thread's number.
    pub(super) fn of(func: &Function, condition: Value, allowance: &mut Allowance) -> Option<Outcomes> {
        if func.kind == FunctionKind::Device {
            // The caller decides which threads are here.
            return None;
        }
        let cone = cone(func, condition)?;
        let bounds = &func.bounds;
        let shape = bounds.required_threads;
        let count = |shape: [u32; 3]| shape.iter().fold(1u32, |all, &n| all.saturating_mul(n.max(1)));
        let threads = shape.or(bounds.max_threads).map_or(CTA_THREADS, count).min(CTA_THREADS);
        let mut known: FxHashMap<Value, u64> = FxHashMap::default();
        (0..threads)
            .map(|thread| {
                allowance.take(cone.len())?;
                for &value in &cone {
                    let bits = value_of(func, value, thread, shape, &known)?;
                    known.insert(value, bits);
                }
                known.get(&condition).map(|&bits| bits != 0)
            })
            .collect::<Option<Vec<bool>>>()
            .map(Outcomes)
    }

    /// The numbers of two threads of one warp: the first takes the branch, and the second does not.
    pub(super) fn apart_in_warp(&self) -> Option<(usize, usize)> {
        self.0.chunks(WARP).enumerate().find_map(|(warp, lanes)| {
            let place = |taken: bool| lanes.iter().position(|&lane| lane == taken);
            Some((warp * WARP + place(true)?, warp * WARP + place(false)?))
        })
    }

    /// Whether all threads go the same way.
    pub(super) fn agree(&self) -> bool {
        self.0.iter().all(|&taken| taken == self.0[0])
    }
}

/// The values that a value is computed from, each after its own arguments.
fn cone(func: &Function, root: Value) -> Option<Vec<Value>> {
    let mut order = Vec::new();
    // The second part of a pair says that the arguments have been handled already.
    let mut stack = vec![(root, false)];
    while let Some((value, ready)) = stack.pop() {
        if order.contains(&value) {
            continue;
        }
        if ready {
            order.push(value);
            continue;
        }
        if stack.len() + order.len() > 2 * MOST {
            return None;
        }
        let data = func.def_inst(value)?;
        stack.push((value, true));
        stack.extend(data.args.iter().map(|&arg| (arg, false)));
    }
    (order.len() <= MOST).then_some(order)
}

/// The bits of a value for a thread, given those of its arguments.
fn value_of(
    func: &Function,
    value: Value,
    thread: u32,
    shape: Option<[u32; 3]>,
    known: &FxHashMap<Value, u64>,
) -> Option<u64> {
    let data = func.def_inst(value)?;
    match data.op {
        Op::Const(bits) => Some(bits),
        Op::SpecialReg(reg) if data.ty == Type::B32 => special(reg, thread, shape).map(u64::from),
        _ => {
            let args: Option<Vec<(Type, u64)>> =
                data.args.iter().map(|arg| Some((func.ty(*arg), *known.get(arg)?))).collect();
            evaluate(&data.op, data.ty, &args?)
        }
    }
}

fn special(reg: SpecialReg, thread: u32, shape: Option<[u32; 3]>) -> Option<u32> {
    let lane = thread % WARP as u32;
    let bit = 1u32 << lane;
    Some(match (reg, shape) {
        (SpecialReg::TidX, Some([x, ..])) => thread % x.max(1),
        (SpecialReg::TidY, Some([x, y, _])) => thread / x.max(1) % y.max(1),
        (SpecialReg::TidZ, Some([x, y, _])) => thread / x.max(1) / y.max(1),
        (SpecialReg::NtidX, Some([x, ..])) => x,
        (SpecialReg::NtidY, Some([_, y, _])) => y,
        (SpecialReg::NtidZ, Some([.., z])) => z,
        (SpecialReg::TidX, None) => thread,
        (SpecialReg::LaneId, _) => lane,
        (SpecialReg::LanemaskEq, _) => bit,
        (SpecialReg::LanemaskLt, _) => bit - 1,
        (SpecialReg::LanemaskLe, _) => bit | (bit - 1),
        (SpecialReg::LanemaskGt, _) => !(bit | (bit - 1)),
        (SpecialReg::LanemaskGe, _) => !(bit - 1),
        _ => return None,
    })
}
