//! Calls and addresses of functions.

macro_rules! call_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(parameters of the callee) -> results of the callee`: a call. Runtime routines in which
        /// lanes of a warp meet are not `pure`.
        Call {
            /// The function.
            callee: FuncRef,
            /// Whether the callee only computes results from its arguments.
            pure: bool,
        } = "call" [(pure)] [callee] NONE ()
            -> [Results::OfCallee(callee)] { reads: !pure, writes: !pure, convergent: !pure, ordered: !pure } slow;
        /// `(target: b64, parameters of the prototype) -> results of the prototype`: a call of the
        /// device function at an address. That function has exactly those parameters and results.
        CallIndirect(prototype: FuncRef) = "call_indirect" [] [prototype] NONE ()
            -> [Results::OfCallee(prototype)] { reads, writes, convergent, ordered } slow;
        /// `() -> b64`: the address of a device function.
        FuncAddr(callee: FuncRef) = "function" [] [callee] NONE () -> (B64) {};
    } } };
}
