//! The addresses of a function's variables in their windows.
//!
//! Shared memory holds the static variables, first those with a given offset, then the others in
//! order. After them comes the aligned dynamic array, which all variables of size 0 name. Local
//! variables are laid out in the same way. The [module](crate::module) places constant and global
//! variables.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Function, Op, Space, SpecialReg, Symbol, SymbolData};

/// The addresses of the variables and the memory that they need.
pub(super) struct Layout {
    addresses: SecondaryMap<Symbol, Option<u64>>,
    /// The end of the static shared variables that the function names.
    shared_end: u32,
    /// Bytes of local memory per thread: what functions that it calls find on the stack, and above that
    /// its variables.
    pub local_bytes: u32,
}

/// Places the variables of a kernel that is launched with `dynamic` bytes of dynamic shared memory,
/// and of the functions that it calls; all of them see the same dynamic array. Also returns the
/// bytes of shared memory per CTA.
pub(super) fn lay_out(
    functions: &[&Function],
    dynamic_smem: u32,
    module: &BTreeMap<String, u64>,
) -> (Vec<Layout>, u32) {
    let mut layouts: Vec<Layout> = functions.iter().map(|func| Layout::new(func, module)).collect();
    let static_end = layouts.iter().map(|layout| layout.shared_end).max().unwrap_or(0);
    let is_dynamic = |data: &SymbolData| data.space == Space::Shared && data.size == 0;
    let dynamic = functions.iter().flat_map(|func| func.symbols.values()).filter(|data| is_dynamic(data));
    let align = dynamic.map(|data| data.align).max().unwrap_or(1).max(1);
    for (layout, func) in layouts.iter_mut().zip(functions) {
        for (symbol, data) in func.symbols.iter().filter(|(_, data)| is_dynamic(data)) {
            let start = data.offset.unwrap_or_else(|| static_end.next_multiple_of(data.align.max(1)));
            layout.addresses[symbol] = Some(start.into());
        }
    }
    (layouts, static_end.next_multiple_of(align) + dynamic_smem)
}

impl Layout {
    fn new(func: &Function, module: &BTreeMap<String, u64>) -> Layout {
        let mut addresses: SecondaryMap<Symbol, Option<u64>> = SecondaryMap::new();
        let end_of = |space: Space, addresses: &mut SecondaryMap<Symbol, Option<u64>>| {
            let inside = || func.symbols.iter().filter(move |(_, data)| data.space == space && data.size > 0);
            let placed = |data: &ptxc_ir::SymbolData| data.offset.map(|offset| data.end_from(offset));
            let mut end = inside().filter_map(|(_, data)| placed(data)).max().unwrap_or(0);
            for (symbol, data) in inside() {
                let address = data.offset.unwrap_or_else(|| {
                    let address = end.next_multiple_of(data.align.max(1));
                    end = data.end_from(address);
                    address
                });
                addresses[symbol] = Some(address.into());
            }
            end
        };
        let shared_end = end_of(Space::Shared, &mut addresses);
        let local_end = end_of(Space::Local, &mut addresses);
        let outgoing = func.outgoing_bytes();
        for (symbol, _) in func.symbols.iter().filter(|(_, data)| data.space == Space::Local) {
            addresses[symbol] = addresses[symbol].map(|address| address + u64::from(outgoing));
        }
        let of_module = |space: Space| matches!(space, Space::Const | Space::Global) || space.is_image();
        for (symbol, data) in func.symbols.iter().filter(|(_, data)| of_module(data.space)) {
            addresses[symbol] = module.get(&data.name).copied();
        }
        Layout { addresses, shared_end, local_bytes: local_end.next_multiple_of(16).saturating_add(outgoing) }
    }

    /// The address of a variable in its space, if it has one.
    pub fn address(&self, symbol: Symbol) -> Option<u64> {
        self.addresses[symbol]
    }
}

/// Whether a function takes local memory below its part as it runs.
pub(super) fn has_open_stack(func: &Function) -> bool {
    func.insts.values().any(|inst| inst.op == Op::SpecialReg(SpecialReg::LocalBottom))
}
