//! The steps of directed chains: short pieces of PTX that take one value and make the next.

/// The kind of value that a step takes or makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// 32 bits, one value per thread.
    Word,
    /// 64 bits, one value per thread.
    Double,
    /// A predicate.
    Predicate,
    /// 32 bits that depend only on parameters, so that the assembler may keep them in a uniform
    /// register.
    UniformWord,
    /// 64 bits that depend only on parameters.
    UniformDouble,
    /// A predicate that depends only on parameters.
    UniformPredicate,
}

impl Kind {
    /// Whether the value is the same in all threads.
    pub(super) fn is_uniform(self) -> bool {
        matches!(self, Kind::UniformWord | Kind::UniformDouble | Kind::UniformPredicate)
    }

    /// Whether a value of this kind may be given to a step that takes `wanted`.
    pub(super) fn serves(self, wanted: Kind) -> bool {
        let as_vector = match self {
            Kind::UniformWord => Kind::Word,
            Kind::UniformDouble => Kind::Double,
            Kind::UniformPredicate => Kind::Predicate,
            vector => vector,
        };
        self == wanted || as_vector == wanted
    }
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// The number of the first architecture that has it.
    pub(super) since: u32,
    pub(super) takes: Kind,
    pub(super) makes: Kind,
    /// PTX with `$y` for the value that it takes (`$x` for a copy of it that the step overwrites),
    /// `$z` for the value that it makes, and `$t $s` (32 bits), `$l $m` (64 bits), `$p $q`
    /// (predicates), `$h` (16 bits) for its own registers, and `$_` for 32 bits that nothing reads. `%a %b %c` hold loaded words, `%la %lb`
    /// loaded 64-bit values, `%pa %pb` predicates of them, `%ua %ub %uc`, `%ul` parameters, `%A` a
    /// global address; `%k` is a shared array.
    pub(super) text: &'static str,
}

impl Form {
    /// Whether it is a product of matrices.
    pub(super) fn is_product(&self) -> bool {
        self.text.starts_with("mma.")
    }

    /// Whether it is one of a few forms that represent their pipes: one instruction that takes a
    /// word and makes one.
    pub(super) fn is_plain(&self) -> bool {
        const PLAIN: [&str; 12] = [
            "add.u32 $z,$y,%b;",
            "shf.l.wrap.b32 $z,$y,%b,%c;",
            "mad.lo.u32 $z,$y,%b,%c;",
            "fma.rn.f32 $z,%b,%c,$y;",
            "mul.hi.u32 $z,$y,%b;",
            "fma.rn.f16x2 $z,%b,%c,$y;",
            "min.f16x2 $z,$y,%b;",
            "fma.rn.bf16x2 $z,$y,%b,%c;",
            "ex2.approx.ftz.f32 $z,$y;",
            "popc.b32 $z,$y;",
            "ld.shared.u32 $z,[$y];",
            "shfl.sync.bfly.b32 $z,$y,1,31,-1;",
        ];
        PLAIN.contains(&self.text)
    }
}

use Kind::{
    Double as D, Predicate as P, UniformDouble as UD, UniformPredicate as UP, UniformWord as UW, Word as W,
};

macro_rules! forms {
    ($($since:literal $takes:ident $makes:ident $text:literal)*) => {
        /// Every step.
        pub(super) const FORMS: &[Form] =
            &[$(Form { since: $since, takes: $takes, makes: $makes, text: $text },)*];
    };
}

forms! {
    // Integers and bits.
    75 W W "add.u32 $z,$y,%b;"
    75 W W "add.u32 $t,$y,%b; add.u32 $z,$t,%c;"
    75 W W "sub.u32 $z,%b,$y;"
    75 W W "lop3.b32 $z,$y,%b,%c,0x96;"
    75 W W "lop3.b32 $z,%b,%c,$y,0xe8;"
    75 W W "shf.l.wrap.b32 $z,$y,%b,%c;"
    75 W W "shf.r.wrap.b32 $z,%b,%c,$y;"
    75 W W "shr.s32 $z,$y,%b;"
    75 W W "shl.b32 $z,$y,%c;"
    75 W W "prmt.b32 $z,$y,%b,%c;"
    75 W W "prmt.b32 $z,%b,%c,$y;"
    75 W W "selp.b32 $z,$y,%b,%pa;"
    75 W W "min.s32 $z,$y,%b;"
    75 W W "max.u32 $z,$y,%c;"
    75 W W "abs.s32 $z,$y;"
    75 W W "shl.b32 $t,$y,3; add.u32 $z,$t,%b;"
    75 W W "bfe.s32 $z,$y,3,9;"
    75 W W "bmsk.clamp.b32 $z,$y,%b;"
    75 W W "szext.wrap.s32 $z,$y,%b;"
    75 W W "sad.s32 $z,$y,%b,%c;"
    75 W W "max.s32 $t,$y,%b; max.s32 $z,$t,%c;"
    75 W W "add.s32 $t,$y,%b; max.s32 $z,$t,%c;"
    75 W W "add.cc.u32 $t,$y,%b; addc.u32 $s,%a,%c; xor.b32 $z,$t,$s;"
    75 W W "add.cc.u32 $t,$y,%b; addc.u32 $z,%a,%c;"
    75 W W "popc.b32 $z,$y;"
    75 W W "bfind.u32 $z,$y;"
    75 W W "brev.b32 $z,$y;"
    75 W W "cvt.s32.s8 $z,$y;"
    // Multiply-add, single precision.
    75 W W "mad.lo.u32 $z,$y,%b,%c;"
    75 W W "mad.lo.u32 $z,%b,%c,$y;"
    75 W W "mul.lo.u32 $z,$y,%b;"
    75 W W "mul.hi.u32 $z,$y,%b;"
    75 W W "mad.hi.s32 $z,%b,%c,$y;"
    75 W W "dp4a.s32.s32 $z,$y,%b,%c;"
    75 W W "dp2a.lo.s32.s32 $z,%b,%c,$y;"
    75 W W "dp2a.hi.s32.s32 $z,$y,%b,%c;"
    75 W W "add.f32 $z,$y,%b;"
    75 W W "mul.f32 $z,$y,%b;"
    75 W W "fma.rn.f32 $z,$y,%b,%c;"
    75 W W "fma.rn.f32 $z,%b,%c,$y;"
    75 W W "min.f32 $z,$y,%b;"
    75 W W "selp.f32 $z,%b,$y,%pb;"
    75 W W "set.lt.f32.f32 $z,$y,%b;"
    75 W W "neg.f32 $t,$y; add.sat.f32 $z,$t,%c;"
    // Halves.
    75 W W "add.rn.f16x2 $z,$y,%b;"
    75 W W "mul.rn.f16x2 $z,$y,%b;"
    75 W W "fma.rn.f16x2 $z,$y,%b,%c;"
    75 W W "fma.rn.f16x2 $z,%b,%c,$y;"
    80 W W "min.f16x2 $z,$y,%b;"
    75 W W "set.lt.f16x2.f16x2 $z,$y,%b;"
    80 W W "fma.rn.bf16x2 $z,$y,%b,%c;"
    80 W W "fma.rn.relu.f16x2 $z,$y,%b,%c;"
    80 W W "max.bf16x2 $z,$y,%b;"
    80 W W "cvt.rn.f16x2.f32 $z,$y,%b;"
    75 W W "cvt.rn.f16.f32 $h,$y; mov.b32 $z,{$h,$h};"
    75 W W "mov.b32 {$h,_},$y; cvt.f32.f16 $z,$h;"
    75 W W "mov.b32 {_,$h},$y; cvt.f32.f16 $z,$h;"
    90 W W "add.rn.bf16x2 $z,$y,%b;"
    90 W W "mul.rn.bf16x2 $z,$y,%b;"
    90 W P "setp.lt.bf16x2 $z|$q,$y,%b;"
    80 W W "cvt.rn.bf16x2.f32 $z,$y,%b;"
    75 W W "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; add.rn.f16x2 $z,%a,$t;"
    75 W W "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; mul.rn.f16x2 $z,%a,$t;"
    75 W W "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; fma.rn.f16x2 $z,%a,$t,%b;"
    80 W W "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; min.f16x2 $z,%a,$t;"
    80 W W "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; fma.rn.bf16x2 $z,%a,$t,%b;"
    80 W W "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; max.bf16x2 $z,%a,$t;"
    75 W P "mov.b32 {$h,_},$y; mov.b32 $t,{$h,$h}; setp.lt.f16x2 $z|$q,%a,$t;"
    75 W D "mov.b64 $l,{$y,$y}; add.f64 $z,%la,$l;"
    75 W D "mul.wide.u32 $z,%b,$y;"
    75 W D "mad.wide.u32 $z,%b,$y,%la;"
    // Conversions and approximations.
    75 W W "cvt.rn.f32.s32 $z,$y;"
    75 W W "cvt.rn.f32.u8 $z,$y;"
    75 W W "cvt.rn.f32.u32 $z,$y;"
    75 W W "cvt.rzi.s32.f32 $z,$y;"
    75 W W "cvt.rni.f32.f32 $z,$y;"
    75 W W "ex2.approx.ftz.f32 $z,$y;"
    75 W W "rcp.approx.ftz.f32 $z,$y;"
    75 W D "cvt.f64.f32 $z,$y;"
    75 W D "cvt.rn.f64.s32 $z,$y;"
    75 D W "cvt.rn.f32.f64 $z,$y;"
    75 D W "cvt.rzi.s32.f64 $z,$y;"
    75 D D "cvt.rni.f64.f64 $z,$y;"
    75 D W "cvt.rn.f32.s64 $z,$y;"
    // Wide integers.
    75 W D "mul.wide.u32 $z,$y,%b;"
    75 W D "mul.wide.s32 $z,%b,$y;"
    75 W D "mad.wide.u32 $z,$y,%b,%la;"
    75 D D "mad.wide.u32 $z,%a,%b,$y;"
    75 D D "mad.wide.s32 $z,%b,%c,$y;"
    75 D W "mov.b64 {$z,_},$y;"
    75 D W "mov.b64 {_,$z},$y;"
    75 W D "mov.b64 $z,{$y,%b};"
    75 W D "mov.b64 $z,{%b,$y};"
    75 D D "add.u64 $z,$y,%la;"
    75 D D "shl.b64 $z,$y,7;"
    75 D D "shr.s64 $z,$y,5;"
    75 D D "xor.b64 $z,$y,%lb;"
    75 D D "mul.lo.u64 $z,$y,%la;"
    // Double precision.
    75 D D "add.f64 $z,$y,%lb;"
    75 D D "mul.f64 $z,$y,%lb;"
    75 D D "fma.rn.f64 $z,$y,%la,%lb;"
    75 D D "fma.rn.f64 $z,%la,%lb,$y;"
    75 D D "min.f64 $z,$y,%lb;"
    75 D P "setp.lt.f64 $z,$y,%lb;"
    // Predicates.
    75 W P "setp.lt.s32 $z,$y,%b;"
    75 W P "setp.lt.f32 $z,$y,%b;"
    75 W P "and.b32 $t,$y,%b; setp.eq.u32 $z,$t,0;"
    75 W P "setp.lt.f16x2 $z|$q,$y,%b;"
    75 D P "setp.lt.s64 $z,$y,%lb;"
    75 P P "and.pred $z,$y,%pb;"
    75 P P "setp.lt.and.s32 $z,%a,%b,$y;"
    75 P P "setp.lt.or.f32 $z,%a,%b,$y;"
    75 P P "setp.lt.and.f64 $z,%la,%lb,$y;"
    75 P P "setp.lt.and.f16x2 $z|$q,%a,%b,$y;"
    75 P P "xor.pred $p,$y,%pa; or.pred $z,$p,%pb;"
    75 P P "vote.sync.any.pred $z,$y,-1;"
    75 P W "vote.sync.ballot.b32 $z,$y,-1;"
    75 P W "selp.b32 $z,%a,%b,$y;"
    75 P W "selp.f32 $z,%b,%c,$y;"
    75 P W "selp.u32 $z,1,2,$y;"
    75 P D "selp.b64 $z,%la,%lb,$y;"
    75 P W "mov.b32 $z,%a; @$y add.u32 $z,$z,%b;"
    75 P W "mov.b32 $z,%a; @$y mad.lo.u32 $z,%a,%b,%c;"
    75 P W "mov.b32 $z,%b; @!$y fma.rn.f32 $z,%a,%b,%c;"
    75 P W "mov.b32 $z,%b; @$y fma.rn.f16x2 $z,%a,%b,%c;"
    80 P W "mov.b32 $z,%b; @$y min.f16x2 $z,%a,%b;"
    75 P W "mov.b32 $z,%b; @$y ex2.approx.ftz.f32 $z,%a;"
    75 P W "mov.b32 $z,%b; @$y ld.shared.u32 $z,[%a];"
    75 P W "mov.b32 $z,%b; @$y ld.global.u32 $z,[%A+64];"
    75 P P "@$y st.global.u32 [%A+72],%b; mov.pred $z,$y;"
    75 P P "@$y st.shared.u32 [%b],%a; mov.pred $z,$y;"
    75 P P "@!$y red.global.add.u32 [%A+88],%b; mov.pred $z,$y;"
    75 P W "mov.b32 $z,%c; @$y mul.hi.u32 $z,%a,%b;"
    75 P D "mov.b64 $z,%la; @$y mul.wide.u32 $z,%a,%b;"
    75 P D "mov.b64 $z,%la; @$y fma.rn.f64 $z,%la,%lb,%la;"
    75 P W "mov.b32 $z,%c; @$y shfl.sync.idx.b32 $z,%b,3,31,-1;"
    75 P W "bar.red.popc.u32 $z,0,$y;"
    75 P P "bar.red.and.pred $z,1,64,$y;"
    75 P P "@$y bar.arrive 2,64; mov.pred $z,$y;"
    75 P P "@$y bra $L; st.global.u32 [%A+80],%c; bar.sync 3; $L: mov.pred $z,$y;"
    75 P P "@$y exit; mov.pred $z,%pa;"
    75 P W "mov.b32 $z,%a; @$y mov.u32 $z,%clock;"
    // Memory.
    75 W W "ld.shared.u32 $z,[$y];"
    75 W D "ld.shared.u64 $z,[$y];"
    75 W W "st.shared.u32 [%b],$y; mov.b32 $z,$y;"
    75 W W "st.shared.u32 [$y],%b; mov.b32 $z,$y;"
    75 W W "st.global.u32 [%A+32],$y; mov.b32 $z,$y;"
    75 D D "st.global.u64 [%A+40],$y; mov.b64 $z,$y;"
    75 D W "ld.global.u32 $z,[$y];"
    75 D D "ld.global.u64 $z,[$y];"
    75 D D "st.global.u32 [$y],%b; mov.b64 $z,$y;"
    75 D W "ld.u32 $z,[$y];"
    75 W W "atom.shared.max.s32 $z,[%k+16],$y;"
    75 W W "atom.global.add.u32 $z,[%A+48],$y;"
    75 D D "atom.global.add.u64 $z,[%A+48],$y;"
    75 W W "red.global.max.s32 [%A+52],$y; mov.b32 $z,$y;"
    75 W W "shfl.sync.bfly.b32 $z,$y,1,31,-1;"
    75 W W "shfl.sync.idx.b32 $z,%b,$y,31,-1;"
    75 W W "match.any.sync.b32 $z,$y,-1;"
    75 D W "match.any.sync.b64 $z,$y,-1;"
    75 W W "match.all.sync.b32 $z|$p,$y,-1;"
    75 D W "isspacep.shared $p,$y; selp.b32 $z,%a,%b,$p;"
    75 D W "isspacep.local $p,$y; selp.b32 $z,%a,%b,$p;"
    75 W W "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {$z,$_,$_,$_,$_,$_,$_,$_},{$y,%b},{%b,%c},{%a,%b,%c,%a,%b,%c,%a,%b};"
    75 W W "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {$z,$_,$_,$_,$_,$_,$_,$_},{%a,%b},{$y,%c},{%a,%b,%c,%a,%b,%c,%a,%b};"
    75 W W "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {$z,$_,$_,$_},{%a,%b},{%b,%c},{$y,%b,%c,%a};"
    80 W W "redux.sync.add.u32 $z,$y,-1;"
    75 W W "mov.u32 $t,cc; add.u32 $s,$t,$y; ld.const.u32 $z,[$s];"
    75 W W "bar.sync $y,64; mov.b32 $z,$y;"
    75 W W "bar.sync 5,$y; mov.b32 $z,$y;"
    75 W W "nanosleep.u32 $y; mov.b32 $z,$y;"
    80 D W "ld.global.L2::cache_hint.u32 $z,[%A+56],$y;"
    80 W W "mov.b64 $l,{$y,%c}; st.global.L2::cache_hint.u32 [%A+60],%b,$l; mov.b32 $z,$y;"
    80 W W "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$z,_,_,_},{$y,%b,%c,%a},{%b,%c},{%a,%b,%c,%a};"
    80 W W "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$z,_,_,_},{%a,%b,%c,%a},{%b,%c},{$y,%b,%c,%a};"
    80 W W "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {$z,_,_,_},{$y,%b},{%b},{%b,%a,%c,%b};"
    80 W W "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {$z,_,_,_},{%a,%b},{$y},{%b,%a,%c,%b};"
    80 W W "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {$z,_,_,_},{%a,%b},{%b},{$y,%a,%c,%b};"
    80 W W "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$z,_},{%a,%b,%c,%a},{$y,%c},{%b,%a};"
    80 W W "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$z,_},{%a,%b,%c,%a},{%b,%c},{$y,%a};"
    80 W W "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$z,_,_,_},{%a,%b,%c,%a},{%b,%c},{$y,%a,%c,%b};"
    80 W W "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {$z,_,_,_},{%a,%b},{%b},{$y,%a,%c,%b};"
    80 W W "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {$z,_,_,_},{%a,%b,%c,%a},{$y,%c},{%b,%a,%c,%b};"
    80 W W "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {$z,_},{$y},{%b},{%b,%a};"
    80 W W "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {$z,_},{%a},{$y},{%b,%a};"
    80 W W "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {$z,_},{%a},{%b},{$y,%a};"
    // Special registers.
    75 W W "mov.u32 $t,%clock; xor.b32 $z,$t,$y;"
    75 W D "mov.u64 $l,%clock64; mov.b64 $m,{$y,%b}; xor.b64 $z,$l,$m;"
    75 D D "mov.u64 $l,%clock64; fma.rn.f64 $z,$l,$y,%la;"
    75 W W "mov.u64 $l,%clock64; st.global.u64 [%A+96],$l; mov.b32 $z,$y;"
    75 W W "mov.u32 $t,%ctaid.y; mad.lo.u32 $z,$t,$y,%b;"
    // Results that are overwritten before they are read, if a predicate holds.
    75 W W "mov.b32 $z,$y; @%pa add.u32 $z,%b,%c;"
    75 W W "mov.b32 $z,$y; @%pa fma.rn.f32 $z,%b,%c,%a;"
    75 W W "mov.b32 $z,$y; @%pa mul.hi.u32 $z,%b,%c;"
    75 W W "mov.b32 $z,$y; @%pa fma.rn.f16x2 $z,%b,%c,%a;"
    80 W W "mov.b32 $z,$y; @%pa min.f16x2 $z,%b,%c;"
    75 W W "mov.b32 $z,$y; @%pa ld.shared.u32 $z,[%b];"
    75 W W "mov.b32 $z,$y; @%pa ld.global.u32 $z,[%A+68];"
    75 W W "mov.b32 $z,$y; @%pa rcp.approx.ftz.f32 $z,%b;"
    75 W W "mov.b32 $z,$y; @%pa mov.u32 $z,%clock;"
    75 W W "mov.b32 $z,$y; @%pa cvt.rn.f32.f64 $z,%la;"
    75 D D "mov.b64 $z,$y; @%pa fma.rn.f64 $z,%la,%lb,%lb;"
    75 D D "mov.b64 $z,$y; @%pa mul.wide.u32 $z,%a,%b;"
    75 D D "mov.b64 $z,$y; @%pa ld.global.u64 $z,[%A+104];"
    75 P P "mov.pred $z,$y; @%pa setp.lt.s32 $z,%a,%b;"
    75 P P "mov.pred $z,$y; @%pa setp.lt.f64 $z,%la,%lb;"
    75 P P "mov.pred $z,$y; @%pa setp.lt.f16x2 $z|$q,%a,%b;"
    // Values that are overwritten after they are read, if a predicate holds.
    75 W W "add.u32 $t,$x,%b; @%pa mad.lo.u32 $x,%a,%b,%c; xor.b32 $z,$t,$x;"
    75 W W "fma.rn.f32 $t,$x,%b,%c; @%pa add.u32 $x,%a,%b; xor.b32 $z,$t,$x;"
    75 W W "mul.hi.u32 $t,$x,%b; @%pa min.u32 $x,%a,%b; xor.b32 $z,$t,$x;"
    75 W W "fma.rn.f16x2 $t,$x,%b,%c; @%pa fma.rn.f32 $x,%a,%b,%c; xor.b32 $z,$t,$x;"
    80 W W "min.f16x2 $t,$x,%b; @%pa fma.rn.f16x2 $x,%a,%b,%c; xor.b32 $z,$t,$x;"
    75 W W "add.u32 $t,$x,%b; @%pa fma.rn.f16x2 $x,%a,%b,%c; xor.b32 $z,$t,$x;"
    75 W W "add.u32 $t,$x,%b; @%pa ld.shared.u32 $x,[%a]; xor.b32 $z,$t,$x;"
    75 W W "fma.rn.f32 $t,$x,%b,%c; @%pa ld.global.u32 $x,[%A+76]; xor.b32 $z,$t,$x;"
    75 W W "mad.lo.u32 $t,$x,%b,%c; @%pa ex2.approx.ftz.f32 $x,%a; xor.b32 $z,$t,$x;"
    75 W W "fma.rn.f16x2 $t,$x,%b,%c; @%pa ld.shared.u32 $x,[%b]; xor.b32 $z,$t,$x;"
    75 D D "fma.rn.f64 $l,$x,%la,%lb; @%pa mul.wide.u32 $x,%a,%b; xor.b64 $z,$l,$x;"
    75 D D "add.f64 $l,$x,%la; @%pa ld.global.u64 $x,[%A+112]; xor.b64 $z,$l,$x;"
    75 D D "mad.wide.u32 $l,%a,%b,$x; @%pa add.f64 $x,%la,%lb; xor.b64 $z,$l,$x;"
    75 P P "selp.b32 $t,%a,%b,$y; st.global.u32 [%A+36],$t; setp.lt.s32 $z,%b,%c;"
    75 P P "@$y st.global.u32 [%A+44],%b; setp.lt.f32 $z,%b,%c;"
    // The uniform datapath.
    75 UW UW "add.u32 $z,$y,%ub;"
    75 UW UW "add.u32 $t,$y,%ub; add.u32 $z,$t,%uc;"
    75 UW UW "mad.lo.u32 $z,$y,%ub,%uc;"
    75 UW UW "mul.lo.u32 $z,$y,%uc;"
    75 UW UW "lop3.b32 $z,$y,%ub,%uc,0x96;"
    75 UW UW "shl.b32 $z,$y,5;"
    75 UW UW "shr.u32 $z,$y,3;"
    75 UW UW "shl.b32 $t,$y,2; add.u32 $z,$t,%ub;"
    75 UW UW "prmt.b32 $z,$y,%ub,0x2165;"
    75 UW UW "min.s32 $z,$y,%uc;"
    75 UW UW "popc.b32 $z,$y;"
    75 UW UW "bfind.u32 $z,$y;"
    75 UW UW "mul.hi.u32 $z,$y,%ub;"
    75 UW UW "mov.u32 $t,%ctaid.x; add.u32 $z,$t,$y;"
    75 UW UW "mov.u32 $t,%ctaid.z; mad.lo.u32 $z,$t,$y,%ub;"
    75 UW UD "mul.wide.u32 $z,$y,%ub;"
    75 UW UD "mov.b64 $z,{$y,%ub};"
    75 UW UD "cvt.u64.u32 $z,$y;"
    75 UD UD "add.u64 $z,$y,%ul;"
    75 UD UD "shl.b64 $z,$y,3;"
    75 UD UD "shr.u64 $z,$y,9;"
    75 UD UW "mov.b64 {$z,_},$y;"
    75 UD UW "mov.b64 {_,$z},$y;"
    75 UW UP "setp.lt.s32 $z,$y,%ub;"
    75 UW UP "setp.eq.u32 $z,$y,%uc;"
    75 UD UP "setp.lt.u64 $z,$y,%ul;"
    75 UP UW "selp.b32 $z,%ua,%ub,$y;"
    75 UP UP "setp.lt.and.s32 $z,%ua,%ub,$y;"
    75 UP UP "setp.lt.u32 $p,%ua,%uc; and.pred $z,$p,$y;"
    75 UP UW "mov.b32 $z,%ua; @$y add.u32 $z,$z,%uc;"
    75 UP UW "mov.b32 $z,%ua; @$y shl.b32 $z,%ub,3;"
    75 UP UW "mov.b32 $z,%ua; @$y ld.const.u32 $z,[cc+20];"
    75 UP UW "mov.b32 $z,%ua; @$y mul.lo.u32 $z,%ub,%uc;"
    75 UP UW "mov.b32 $z,%ua; @$y mov.u32 $z,%ctaid.y;"
    75 UP UP "@$y bra.uni $L; st.global.u32 [%A+84],%c; bar.sync 4; $L: mov.pred $z,$y;"
    75 UD W "ld.global.u32 $z,[$y];"
    75 UD UD "ld.const.u64 $l,[cc+24]; add.u64 $z,$l,$y;"
    75 UW UW "ld.const.u32 $t,[cc+16]; xor.b32 $z,$t,$y;"
    75 UW UW "and.b32 $t,$y,252; mov.u32 $s,cc; add.u32 $s,$s,$t; ld.const.u32 $z,[$s];"
    75 UW UD "and.b32 $t,$y,504; mov.u32 $s,cc; add.u32 $s,$s,$t; ld.const.u64 $z,[$s];"
    75 UW W "ld.shared.u32 $z,[$y];"
    75 UW W "and.b32 $t,$y,252; add.u32 $s,%k,$t; ld.shared.u32 $z,[$s];"
    75 UW W "and.b32 $t,$y,252; add.u32 $s,%k,$t; st.shared.u32 [$s],%b; mov.b32 $z,%a;"
    75 UW W "mov.u32 $t,cc; add.u32 $s,$t,$y; ld.const.u32 $z,[$s];"
    75 UW UW "st.shared.u32 [$y],%b; mov.b32 $z,$y;"
    75 UD UD "st.global.u32 [$y],%b; mov.b64 $z,$y;"
    75 UD UD "red.global.add.u32 [$y],%b; mov.b64 $z,$y;"
    75 UP W "vote.sync.ballot.b32 $z,$y,-1;"
    75 P UW "vote.sync.ballot.b32 $t,$y,-1; popc.b32 $z,$t;"
    75 P UW "vote.sync.ballot.b32 $t,$y,-1; add.u32 $z,$t,%ub;"
    75 UW UP "vote.sync.any.pred $z,%pa,-1; @$z st.global.u32 [%A+92],$y;"
    75 W UW "shfl.sync.idx.b32 $t,$y,0,31,-1; add.u32 $z,$t,%uc;"
}
