//! Where a function's variables lie in their windows.
//!
//! Shared memory: static variables first, those that have an offset there, the others behind them in order;
//! then, aligned, the dynamic array, which all variables of size 0 name. Local variables likewise. Constant
//! and global variables lie where the [module](crate::module) put them.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Function, Space, Symbol};

/// The addresses of the variables and what they take.
pub(super) struct Layout {
    addresses: SecondaryMap<Symbol, Option<u64>>,
    /// Bytes of shared memory a CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
}

impl Layout {
    /// Places the variables of a function that is launched with that much dynamic shared memory.
    pub fn new(func: &Function, dynamic_smem: u32, module: &BTreeMap<String, u64>) -> Layout {
        let mut addresses: SecondaryMap<Symbol, Option<u64>> = SecondaryMap::new();
        let end_of = |space: Space, addresses: &mut SecondaryMap<Symbol, Option<u64>>| {
            let inside = || func.symbols.iter().filter(move |(_, data)| data.space == space && data.size > 0);
            let placed = |data: &ptxc_ir::SymbolData| data.offset.map(|offset| offset + data.size);
            let mut end = inside().filter_map(|(_, data)| placed(data)).max().unwrap_or(0);
            for (symbol, data) in inside() {
                let address = data.offset.unwrap_or_else(|| {
                    let address = end.next_multiple_of(data.align.max(1));
                    end = address + data.size;
                    address
                });
                addresses[symbol] = Some(address.into());
            }
            end
        };
        let static_end = end_of(Space::Shared, &mut addresses);
        let local_end = end_of(Space::Local, &mut addresses);
        let dynamic =
            || func.symbols.iter().filter(|(_, data)| data.space == Space::Shared && data.size == 0);
        let align = dynamic().map(|(_, data)| data.align).max().unwrap_or(1).max(1);
        let dynamic_start = static_end.next_multiple_of(align);
        for (symbol, data) in dynamic() {
            addresses[symbol] = Some(data.offset.unwrap_or(dynamic_start).into());
        }
        let of_module = |space: Space| matches!(space, Space::Const | Space::Global);
        for (symbol, data) in func.symbols.iter().filter(|(_, data)| of_module(data.space)) {
            addresses[symbol] = module.get(&data.name).copied();
        }
        Layout {
            addresses,
            shared_bytes: dynamic_start + dynamic_smem,
            local_bytes: local_end.next_multiple_of(16),
        }
    }

    /// The address of a variable in its space, if it has one.
    pub fn address(&self, symbol: Symbol) -> Option<u64> {
        self.addresses[symbol]
    }
}
