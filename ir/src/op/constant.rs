//! Constants and values that are fixed at launch.

macro_rules! constant_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `() -> T`: a constant. Bits above the width of `T` are zero. There are no `b128`
        /// constants.
        Const(bits: u64) = "const" [T] [bits] CONST () -> (T) {};
        /// `() -> T`: an arbitrary value, for a PTX register that is read before it is written.
        Undef = "undef" [T] [] ANY () -> (T) {};
        /// `() -> T`: the parameter at this byte offset of the kernel's parameter block.
        Param {
            /// The offset in bytes.
            offset: u32,
        } = "param" [T] [offset] MEMORY () -> (T) {};
        /// `() -> T`: the address of a variable in its space.
        SymbolAddr(symbol: Symbol) = "symbol" [T] [symbol] ADDRESS () -> (T) {};
        /// `() -> T`: a special register. All have 32 bits, and the clocks also 64.
        SpecialReg(register: SpecialReg) = "sreg" [T] [register] WORDS ()
            -> (T) { ordered: register.is_volatile() };
    } } };
}
