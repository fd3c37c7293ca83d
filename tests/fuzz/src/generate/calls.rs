//! Functions, and calls of them.

use super::{Flow, Generator};
use crate::program::calls::{
    Call, Callee, Form, Function, Kind, Select, Signature, TYPES, Type, has_calls, whole_cost, without_calls,
};
use crate::program::{Family, Node, POOLS, Piece, Together};
use crate::template::Role;

/// The approximate maximum of instructions that a thread executes.
const COST: u64 = 2500;
/// Bytes of a parameter that is accessed by its address.
const ARGUMENT_BYTES: u32 = 32;

/// The properties of functions that are chosen before their bodies.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Signature and kind of each.
    pub(super) functions: Vec<(usize, Kind)>,
    pub(super) signatures: Vec<Signature>,
    pub(super) in_registers: bool,
    /// The operation that functions with a beat execute together.
    pub(super) beat: Option<Together>,
}

impl Generator<'_> {
    /// Chooses the number of functions, their kinds and signatures.
    pub(super) fn plan(&mut self) -> Plan {
        if !self.family.has_functions() {
            return Plan::default();
        }
        let in_registers = self.family == Family::Calls && self.random.chance(10);
        let signatures: Vec<Signature> =
            (0..self.random.pick(&[1, 1, 2, 3])).map(|_| self.signature(in_registers)).collect();
        let beat = self.together(Flow::Thread);
        let count = match self.family {
            Family::Calls => self.random.pick(&[1, 2, 3, 4, 4, 5, 6]),
            _ => self.random.pick(&[1, 1, 2, 3]),
        };
        // There are few signatures, so that several functions share one.
        let kinds =
            [Kind::Alone, Kind::Alone, Kind::Group, Kind::Group, Kind::Group, Kind::Beat, Kind::Whole];
        let functions = (0..count)
            .map(|number| {
                let kind = self.random.pick(&kinds);
                // The last functions call only themselves, so any lanes may call them.
                let kind = if number + 1 == count && kind == Kind::Whole { Kind::Alone } else { kind };
                (self.random.below(signatures.len()), kind)
            })
            .collect();
        Plan { functions, signatures, in_registers, beat: Some(beat) }
    }

    fn signature(&mut self, in_registers: bool) -> Signature {
        if self.family == Family::Parameters {
            // The statements of functions access the first parameter by its address.
            let mut takes = vec![self.overlapping()];
            for _ in 0..self.random.below(3) {
                takes.push(if self.random.chance(50) { self.overlapping() } else { self.form(false) });
            }
            let gives = match self.random.below(4) {
                0 => Vec::new(),
                1 => vec![self.form(false)],
                _ => vec![self.overlapping()],
            };
            return Signature { takes, gives };
        }
        let takes = (0..self.random.below(5)).map(|_| self.form(in_registers)).collect();
        let count = if in_registers { self.random.below(4) } else { usize::from(self.random.chance(80)) };
        let gives = (0..count).map(|_| self.form(in_registers)).collect();
        Signature { takes, gives }
    }

    /// An array of bytes, all of which are written, some of them more than once; they are read in
    /// other parts than written.
    fn overlapping(&mut self) -> Form {
        let mut elements = Vec::new();
        let (scalar, bytes) = (self.random.pick(TYPES), ARGUMENT_BYTES);
        let scalar = if scalar.bytes < 4 { TYPES[0] } else { scalar };
        elements.extend((0..bytes / scalar.bytes).map(|index| (index * scalar.bytes, scalar)));
        let mut more = |count: usize| -> Vec<(u32, Type)> {
            let mut element = || {
                let ty = self.random.pick(TYPES);
                (self.random.below((bytes / ty.bytes) as usize) as u32 * ty.bytes, ty)
            };
            (0..count).map(|_| element()).collect()
        };
        elements.extend(more(4));
        let reads = more(5);
        elements.truncate((bytes / scalar.bytes) as usize + self.random.below(5));
        let reads = reads[..self.random.below(reads.len() + 1)].to_vec();
        Form { bytes: Some((16, bytes)), elements, reads }
    }

    fn form(&mut self, in_registers: bool) -> Form {
        if in_registers {
            let ty = loop {
                let ty = self.random.pick(TYPES);
                // ptxas passes only values of at least 32 bits in registers.
                if ty.bytes >= 4 {
                    break ty;
                }
            };
            return Form::scalar(ty);
        }
        if self.random.chance(65) {
            return Form::scalar(self.random.pick(TYPES));
        }
        let mut elements: Vec<(u32, Type)> = Vec::new();
        let mut end = 0;
        for _ in 0..=self.random.below(6) {
            let ty = self.random.pick(TYPES);
            let offset = u32::next_multiple_of(end, ty.bytes);
            elements.push((offset, ty));
            end = offset + ty.bytes + if self.random.chance(20) { 4 } else { 0 };
        }
        let least = elements.iter().map(|(_, ty)| ty.bytes).max().unwrap_or(1);
        let align = least.max(self.random.pick(&[1, 4, 8, 16]));
        Form { bytes: Some((align, end.next_multiple_of(align))), reads: elements.clone(), elements }
    }

    /// Generates the functions, the last ones first, because functions with lower numbers call
    /// them.
    pub(super) fn functions(&mut self) -> Vec<Function> {
        let plans = self.plan.functions.clone();
        let mut functions: Vec<Function> = plans
            .iter()
            .enumerate()
            .rev()
            .map(|(number, &(signature, kind))| self.function(number, signature, kind))
            .collect();
        functions.reverse();
        functions
    }

    fn function(&mut self, number: usize, signature: usize, kind: Kind) -> Function {
        let budget = std::mem::replace(&mut self.budget, self.random.pick(&[2, 4, 8, 14]));
        (self.loops, self.meets) = (0, 0);
        self.function = Some((number, kind));
        self.known = matches!(kind, Kind::Group | Kind::Whole);
        self.returns = kind != Kind::Whole;
        let starts =
            POOLS.iter().map(|&(prefix, ty, count)| (0..count).map(|_| self.start(prefix, ty)).collect());
        let starts = starts.collect();
        let flow = if kind == Kind::Whole { Flow::Cta } else { Flow::Thread };
        let (forms, results) = {
            let signature = &self.plan.signatures[signature];
            (signature.takes.clone(), signature.gives.clone())
        };
        let mut registers = |elements: Vec<&Vec<(u32, Type)>>| -> Vec<Vec<String>> {
            let all = |list: &Vec<(u32, Type)>| {
                list.iter().map(|(_, ty)| self.variable(ty.class, Flow::Thread)).collect()
            };
            elements.into_iter().map(all).collect()
        };
        let takes = registers(forms.iter().map(|form| &form.reads).collect());
        let gives = registers(results.iter().map(|form| &form.elements).collect());
        let body = self.block(flow, None, 0);
        let (beat, after) = match (kind, self.plan.beat) {
            (Kind::Beat, Some(what)) => {
                self.budget = self.random.pick(&[0, 2, 4, 8]);
                (Some(self.beat(what)), self.block(flow, None, 0))
            }
            _ => (None, Vec::new()),
        };
        let stirs = (self.family == Family::Parameters && self.random.chance(50))
            .then(|| (self.variable('r', Flow::Thread), self.variable('r', Flow::Thread)));
        self.function = None;
        self.budget = budget;
        Function {
            signature,
            kind,
            body,
            beat,
            after,
            starts,
            takes,
            gives,
            // With several returns, ptxas loads such a result after one of them only.
            one_return: self.random.chance(40) || stirs.is_some() && !self.disputed,
            stirs,
        }
    }

    pub(super) fn call(&mut self, flow: Flow) -> Option<Node> {
        let from = self.function.map(|(number, _)| number);
        let own = self.function.map(|(_, kind)| kind);
        let deeper = from.is_some() && !self.plan.in_registers && self.random.chance(35);
        let whole = flow == Flow::Cta && self.lanes.is_none() && own.is_none_or(|kind| kind == Kind::Whole);
        let allowed = |&number: &usize| {
            let kind = self.plan.functions[number].1;
            (deeper || from.is_none_or(|from| number > from))
                && match kind {
                    Kind::Alone => true,
                    Kind::Group => self.known,
                    Kind::Beat => self.known && !deeper,
                    Kind::Whole => whole && !deeper,
                }
        };
        let candidates: Vec<usize> = (0..self.plan.functions.len()).filter(allowed).collect();
        self.call_among(&candidates, deeper, flow)
    }

    /// A call of a function in which its lanes execute an operation together with lanes that do not
    /// call it.
    pub(super) fn call_for_beat(&mut self) -> Option<Node> {
        let from = self.function.map(|(number, _)| number);
        let functions = self.plan.functions.iter().enumerate();
        let allowed = functions
            .filter(|&(number, &(_, kind))| kind == Kind::Beat && from.is_none_or(|from| number > from));
        let candidates: Vec<usize> = allowed.map(|(number, _)| number).collect();
        self.call_among(&candidates, false, Flow::Thread)
    }

    /// A call of one of these functions; `deeper` takes fuel.
    fn call_among(&mut self, candidates: &[usize], deeper: bool, flow: Flow) -> Option<Node> {
        if candidates.is_empty() {
            return None;
        }
        let in_registers = self.plan.in_registers;
        let chosen = self.random.pick(candidates);
        let (signature, kind) = self.plan.functions[chosen];
        let alike: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|&number| self.plan.functions[number] == (signature, kind))
            .collect();
        let callee = if !in_registers && kind != Kind::Whole && self.random.chance(45) {
            let ways = self.random.pick(&[2, 2, 4]);
            let among = (0..ways).map(|_| self.random.pick(&alike)).collect();
            Callee::Indirect {
                among,
                index: self.register('r', flow),
                select: self.random.pick(&[
                    Select::Global,
                    Select::Constant,
                    Select::Chosen,
                    Select::Branches,
                ]),
                listed: self.random.chance(50),
            }
        } else {
            Callee::Direct(chosen)
        };
        let may_guard = matches!(kind, Kind::Alone | Kind::Group);
        let guard = (may_guard && self.random.chance(30)).then(|| self.condition(Flow::Thread));
        let Signature { takes, gives } = self.plan.signatures[signature].clone();
        let mut passed = Vec::new();
        for form in &takes {
            let piece = |(_, ty): &(u32, Type)| match ty.class {
                // A byte can only be stored from a register.
                'h' if ty.bytes == 1 => self.source(Role::Register, 'h', Flow::Thread),
                class => self.source(Role::Value, class, Flow::Thread),
            };
            passed.push(form.elements.iter().map(piece).collect::<Vec<Piece>>());
        }
        let mut written = Vec::new();
        let mut given = Vec::new();
        for form in &gives {
            let register = |(_, ty): &(u32, Type)| self.destination(ty.class, Flow::Thread, &mut written);
            given.push(form.reads.iter().map(register).collect::<Vec<String>>());
        }
        let uniform = matches!(callee, Callee::Direct(_)) && self.random.chance(50);
        Some(Node::Call(Box::new(Call {
            callee,
            guard,
            around: self.random.chance(60),
            deeper,
            near: {
                let list: &[&str] = match self.function {
                    Some(_) => &["%gown", "%gsh", "%glo", "%near"],
                    None => &["%gown", "%gsh", "%glo", "%glo"],
                };
                self.random.pick(list).to_string()
            },
            fuel: self.register('r', Flow::Thread),
            takes: passed,
            gives: given,
            uniform,
        })))
    }

    /// Removes calls until a thread does not execute too much. Returns the bits of the fuel.
    pub(super) fn thin(&mut self, body: &mut Vec<Node>, functions: &mut [Function]) -> u32 {
        if functions.is_empty() {
            return 0;
        }
        let mut fuel = self.random.pick(&[1, 3, 3]);
        while whole_cost(body, functions, fuel) > COST {
            if fuel > 0 {
                fuel /= 2;
                continue;
            }
            // The calls in the loops of the last function that has any.
            let mut calling = functions
                .iter_mut()
                .rev()
                .filter(|function| has_calls(&function.body) || has_calls(&function.after));
            match calling.next() {
                Some(function) => {
                    without_calls(&mut function.body, true);
                    without_calls(&mut function.after, true);
                }
                None => {
                    without_calls(body, false);
                    break;
                }
            }
        }
        fuel as u32
    }
}
