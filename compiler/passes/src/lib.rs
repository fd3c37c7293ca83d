//! The passes of ptxc: pure functions over PTX syntax, SSA IR and machine IR
