//! The tests that need the whole compiler. They are one program, because linking takes longer than most of
//! them run, and because a program runs its tests side by side.

mod any_input;
mod atomics;
mod calls;
mod check_oracle;
mod copies_in_time;
mod directives_oracle;
mod families;
mod forms;
mod guides;
mod hazards;
mod intrinsics;
mod invented_architecture;
mod legalize_rules;
mod linking;
mod lowering;
mod mutation;
mod negated_sums;
mod numerics;
mod one_feature_set;
mod order;
mod rooms;
mod sass_text;
mod special_registers;
mod split_vectors;
mod status;
mod timing;
