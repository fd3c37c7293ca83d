//! Round trips and errors of the text form.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{PrintOptions, parse, parse_function, print};
use crate::function::SourceLoc;
use crate::signature::MNEMONICS;

/// Each operation, in canonical form, with each kind of modifier and operand.
const EVERYTHING: &str = r#"func @everything entry {
    bounds reqntid 256 1 1 maxntid 512 2 1 cluster 2 1 1 maxnreg 64 minnctapersm 2 explicit_cluster
    param "n" 4 +0
    param "odd \"name\"" 8 +8
    callee @helper device (b32, pred)
    callee @prototype.0 prototype (b32) -> (b64)
    callee @"f32.div rn" routine (f32, f32) -> (f32, b32)
    elsewhere @warp.shfl.bfly
    elsewhere @"odd kind"
    symbol @buf shared size 512 align 4 +0
    symbol @"with space" global size 4 align 4
    symbol @extern_buf shared size 0 align 16
    symbol @table const size 12 align 4 +16 = "0700ff"
    symbol @list global size 24 align 8 +8 = "" 8 @table +0 at 0 8 generic @"with space" -4 at 8 1 shift 8 @list +0 at 16
block0:
    v0 = const.pred 0x1
    v1 = const.b32 0xdeadbeef
    v2 = const.b64 0xffffffffffffffff
    v3 = undef.b16
    v4 = param.b64 +8
    v5 = symbol.b32 @buf
    v6 = symbol.b64 @"with space"
    v7 = sreg.b32 tid.x
    v8 = iadd.b32 v1, v7
    v9 = isub.b64 v2, v4
    v10 = ineg.b32 v1
    v11 = iabs.b32 v1
    v12 = imul.b16 v3, v3
    v13 = umulh.b32 v1, v7
    v14 = smulh.b32 v1, v7
    v15 = umul_wide.b16 v3, v3
    v16 = smul_wide.b32 v1, v7
    v17 = umad_wide.b32 v1, v7, v2
    v18 = smad_wide.b32 v1, v7, v2
    v19 = udiv.b32 v1, v7
    v20 = sdiv.b32 v1, v7
    v21 = urem.b32 v1, v7
    v22 = srem.b32 v1, v7
    v23 = smin.b32 v1, v7
    v24 = smax.b32 v1, v7
    v25 = umin.b32 v1, v7
    v26 = umax.b32 v1, v7
    v27, v28 = iadd_cout.b32 v1, v7
    v29 = iadd_cin.b32 v1, v7, v28
    v30, v31 = iadd_cinout.b32 v1, v7, v28
    v32, v33 = isub_cout.b32 v1, v7
    v34 = isub_cin.b32 v1, v7, v33
    v35, v36 = isub_cinout.b32 v1, v7, v33
    v37 = and.pred v28, v31
    v38 = or.b32 v1, v7
    v39 = xor.b64 v2, v4
    v40 = not.pred v37
    v41 = shl.b64 v2, v7
    v42 = shr.b32 v1, v7
    v43 = sar.b32 v1, v7
    v44 = popc.b64 v2
    v45 = clz.b32 v1
    v46 = brev.b32 v1
    v47 = prmt.index.b32 v1, v7, v46
    v147 = lop3.b32 0x96, v1, v7, v46
    v148 = bfind.b32.signed.shift v1
    v500 = ipair.smax.b32 v1, v7
    v501 = pack_saturated.u4.b32 v1, v7, v46
    v149 = bmsk.b32.wrap v1, v7
    v150 = szext.b32.signed v1, v7
    v151 = dp4a.b32.a_signed v1, v7, v46
    v152 = dp2a.b32.b_signed.high v1, v7, v46
    v153 = match.any.b32 v1, v7
    v154, v155 = match.all.b32 v1, v7
    v156 = redux.smin v1, v7
    v157, v158 = elect v7
    v600, v601, v602, v603 = matrix_load.shared.b128.v4.transposed [v5 + 16]
    matrix_store.shared.b128.v2 [v5], v600, v601
    v604 = matrix_transpose v602
    v605, v606 = matrix_product.m8n8k16.s32.u8.s8.satfinite v600, v601, v602, v603
    v607, v608 = matrix_product.m16n8k16.f16.f16.f16.sparse3 v600, v601, v602, v603, v604, v605, v606
    v609, v610 = lend.b32.x2 v600, v601
    v611 = lend.b32.x1 v602
    warpgroup_arrive
    v612, v613 = warpgroup_product.m64n8k32.f16.f16.f16.sparse1.add.negative_a.turned_b.b32 v2, v4, v609, v610, v0, v611
    warpgroup_commit
    warpgroup_wait 1
    return_registers 40
    v616 = try_registers 232
    v617, v618 = load_reduce.fadd.wide.global.relaxed.b32.v2.f16x2 [v4]
    v614, v615 = settle.b32.x2 v612, v613
    release.b32.x1 v611
    nanosleep v7
    pmevent 0x81
    breakpoint
    v48 = funnel_shl.wrap.b32 v1, v7, v46
    v49 = funnel_shr.clamp.b32 v1, v7, v46
    v50 = icmp.slt.b32 v1, v7
    v51 = const.f32 0x3f800000
    v52 = fcmp.geu.f32.ftz v51, v51
    v53 = select.f32 v52, v51, v51
    v54 = fadd.f32.rn v51, v53
    v55 = fsub.f32.rz.ftz v51, v53
    v56 = fmul.f32.rn.contract v51, v53
    v57 = ffma.f32.rp.ftz.sat v51, v53, v54
    v58 = fneg.f32 v51
    v59 = fabs.f32.ftz v51
    v60 = fmin.f32 v51, v58
    v61 = fmax.f32.ftz v51, v58
    v62 = fapprox.rcp.f32.ftz v51
    v63 = fdiv.f32.rz.ftz v51, v52
    v64 = fsqrt.f32.rp v51
    v65 = fdiv_approx.f32.full.ftz v51, v52
    v66 = fdiv_check.f32 v51, v52
    v67 = zext.b64 v1
    v68 = sext.b64 v1
    v69 = trunc.b16 v1
    v70 = bitcast.f32 v1
    v71 = sint_to_float.f32.rn v1
    v72 = uint_to_float.f64.rz v2
    v73 = float_to_sint.b32.rz.ftz v51
    v74 = float_to_uint.b64.rm v51
    v75 = float_to_float.f64.rn v51
    v76 = round.f32.rp v51
    v200 = float_to_half.bf16.rz.relu.finite v51
    v201 = floats_to_halves.f16x2.rn v51, v51
    v502 = float_to_tf32.b32.rz.relu v51
    v503 = floats_to_bytes.b32.e4m3.relu v51, v51
    v504 = halves_to_bytes.b32.e5m2 v201
    v505 = bytes_to_halves.f16x2.e4m3 v504
    v506 = ffma_oob.f16x2 v201, v201, v505
    v202, v203 = fcmp_pair.neu.f16x2.ftz v201, v201
    v204 = fset.lt.f16x2.ones v201, v201
    v205 = fmax.f16x2.nan.xorsign v201, v204
    v77 = pack.b64 v1, v7
    v78, v79 = unpack.b64 v77
    v80 = load.global.b32 [v4]
    v81, v82 = load.global.relaxed.gpu.cg.b32.v2.f32 [v4 + 8]
    v83 = load.shared.volatile.s8.b32 [v5 - 4]
    v84 = load.const.cta.b16 [v5]
    store.global.wt.b32.v2.f32 [v4 - 2147483648], v81, v82
    v85 = atomic.cas.global.acq_rel.b32 [v4], v1, v7
    v86 = atomic.add.shared.relaxed.cta.b32 [v5 + 4], v1
    red.umax.global.relaxed.gpu.b64 [v4], v2
    fence.sc.gpu
    v87 = to_generic.shared v5
    v400 = cache_policy v87
    v401 = cache_hint v87, v400
    v88 = from_generic.global v87
    v406 = is_space.shared v87
    v407, v408 = try_atomic.cas.generic.relaxed.gpu.b64 [v87 + 4], v2, v2
    v89 = vote.any v0, v1
    v90 = vote.ballot v0, v1
    v91, v92 = shfl.bfly v1, v7, v7, v90
    v93 = activemask
    warpsync v93
    bar.sync v1
    bar.arrive v1, v7
    v94 = bar.red.popc v1, v7, v0
    v95 = barrier.red.and.aligned v1, v0
    barrier.sync v1, v7
    barrier.arrive.packed v1
    v193 = barrier.red.popc.aligned.packed v1, v0
    v194, v195 = call.pure @"f32.div rn", v51, v51
    call @helper, v1, v0
    v196 = function @helper
    v197 = call_indirect @prototype.0, v196, v1
    v306, v307, v308, v309, v310 = texture.level.a2d.sampler.offset.compare v4, v4, v1, v1, v1, v1, v1, v1
    v311, v312, v313 = texture.gradient.1d.half v4, v1, v1, v1
    v314 = image_size.depth v4, v1
    v315, v316 = surface_load.3d.clamp.cs.b8 v4, v1, v1, v1
    surface_store.1d.trap.r2.guarded v4, v1, v1, v1, v0
    surface_red.umax.a1d.zero.b4.b32 v4, v1, v1, v1
    cluster_arrive.release
    cluster_wait.acquire
    grid_dependency.wait
    mbarrier_update.init.shared v5, v1
    v302 = mbarrier_arrive.count.shared.release.cta v5, v1
    mbarrier_arrive.expect_tx.shared_cluster.relaxed.cluster v5, v1
    v303 = mbarrier_state.test.acquire.cta v5, v302
    v304 = mbarrier_parity.try_for.relaxed.cluster v5, v1, v1
    v305 = mbarrier_pending v302
    async_copy.global.ca.b32 [v4 + 8], v5, v1
    async_fill.global.cg.b128.l2_128.zfill [v4], v5, v0
    async_arrive.noinc v5
    async_commit
    async_wait v1
    async_wait_all
    bulk_load v5, v4, v1, v5
    bulk_load.multicast v5, v4, v1, v5, v1
    bulk_red.smin.b64 v4, v5, v1
    bulk_red.fadd.bf16 v4, v5, v1
    bulk_share_red.inc.b32 v5, v5, v1, v5
    tensor_load.2d v5, v5, v4, v1, v1
    tensor_load.4d.im2col.multicast v5, v5, v4, v1, v1, v1, v1, v1, v1
    tensor_store.3d.im2col v5, v4, v1, v1, v1
    tensor_red.min.1d v5, v4, v1
    tensor_prefetch.5d.im2col v4, v1, v1, v1, v1, v1, v1
    bulk_store v4, v5, v1
    bulk_share v5, v5, v1, v5
    remote_store.b32 v5, v5, v1, v5
    remote_red.umin.b32 v5, v5, v1
    bulk_prefetch v4, v1
    bulk_commit
    bulk_wait.read v1
    proxy_fence.async_shared_cluster
    tensormap_acquire.gpu v4
    tensormap_prefetch v4
    cache_line.fetch_l2_last.global v4
    tensormap_release.sys
    mbarrier_inval v5
    bssy b3, block5
    break b3
    bsync b3
    brif.uni v0, block1(v1, v51), block2
block1(v96: b32, v97: f32):
    switch v96, block2, block3, block1(v96, v97)
block2:
    jump block3
block3:
    brif v0, block4, block5
block4:
    ret
block5:
    v98 = bsave b3
    brestore b3, v98
    brif v0, block6, block7
block6:
    warp_fence
    brtogether v1, block8, block7
block7:
    trap
block8:
    exit
}
"#;

#[test]
fn everything_is_a_fixed_point() {
    let func = parse_function(EVERYTHING).unwrap();
    assert_eq!(func.to_string(), EVERYTHING);
    let used: BTreeSet<&str> = func
        .layout
        .iter()
        .flat_map(|&b| &func.blocks[b].insts)
        .map(|&i| func.insts[i].op.mnemonic())
        .collect();
    let missing: Vec<_> = MNEMONICS.iter().filter(|name| !used.contains(**name)).collect();
    assert!(missing.is_empty(), "the text above lacks {missing:?}");
}

#[test]
fn numbers_survive_and_other_names_get_new_ones() {
    let text = "func @f device {\nblock7:\n  v9 = const.b32 1\n  sum = iadd.b32 v9, v9\n  jump done(sum)\n\
                done(x: b32):\n  ret\n}\n";
    let printed = parse_function(text).unwrap().to_string();
    let expected = "func @f device {\nblock7:\n    v9 = const.b32 0x1\n    v10 = iadd.b32 v9, v9\n    \
                    jump block8(v10)\nblock8(v11: b32):\n    ret\n}\n";
    assert_eq!(printed, expected);
}

#[test]
fn absurd_numbers_are_made_dense() {
    let text = "func @f device {\nblock4000000000:\n  v4000000000 = const.b32 1\n  ret\n}\n";
    let func = parse_function(text).unwrap();
    assert_eq!(func.num_values(), 1);
    assert_eq!(func.layout.len(), 1);
}

#[test]
fn locations_only_on_request() {
    let text = "func @f device {\nblock0:\n    v0 = const.b32 0x1 !17\n    ret\n}\n";
    let func = parse_function(text).unwrap();
    assert_eq!(func.insts.values().next().unwrap().loc, SourceLoc(17));
    assert_eq!(print(&func, PrintOptions { locations: true }), text);
    assert!(!func.to_string().contains('!'));
}

#[track_caller]
fn error_of(body: &str) -> Vec<(String, String)> {
    let text = format!("func @f entry {{\n{body}\n}}\n");
    let errors = parse(&text).expect_err("this text makes no sense");
    errors.into_iter().map(|error| (text[error.span].to_string(), error.message)).collect()
}

#[test]
fn errors_name_their_place() {
    let cases = [
        ("block0:\n v1 = iadd.b32 v0, v0\n exit", "v0", "`v0` is used and never defined"),
        ("block0:\n v0 = undef.b32\n v0 = undef.b32\n exit", "v0", "`v0` is defined twice"),
        ("block0:\n frob v0", "frob", "there is no operation `frob`"),
        ("block0:\n v1 = iadd v0, v0", "iadd", "`iadd` needs a type here"),
        ("block0:\n v1 = iadd.b32.rn v0, v0", "rn", "`iadd` does not accept `rn` here"),
        ("block0:\n exit\n v0 = const.b32 0x1g", "0x1g", "`0x1g` is not a number that fits into 64 bits"),
        ("block0:\n v0 = store.global.b32 [v1], v1", "store.global.b32", "`store` has 0 results, not 1"),
        ("block0:\n v0 = umul_wide.b128 v1, v1", "umul_wide.b128", "`umul_wide` can't have the type b128"),
        ("block0:\n jump block1 block2", "block2", "expected `,`, found a word"),
        ("v0 = undef.b32", "undef.b32", "an instruction before the first block"),
    ];
    for (body, span, message) in cases {
        assert_eq!(error_of(body)[0], (span.to_string(), message.to_string()), "in {body}");
    }
}

#[test]
fn each_bad_line_is_reported() {
    let errors = error_of("block0:\n one\n v0 = two\n v1 = undef.b32\n three v1");
    assert_eq!(errors.len(), 3);
}

#[test]
fn a_missing_brace_does_not_hide_the_next_function() {
    let errors = parse("func @f entry {\nblock0:\n exit\nfunc @g entry {\nblock0:\n bad\n}\n").unwrap_err();
    assert_eq!(errors.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A damaged text is read or refused. A text that is read prints and reads again to the same
    /// function.
    #[test]
    fn damage_never_panics(cut in 0..EVERYTHING.len(), length in 0usize..40, insert in "[ -~\n]{0,12}") {
        let end = (cut + length).min(EVERYTHING.len());
        let text = format!("{}{insert}{}", &EVERYTHING[..cut], &EVERYTHING[end..]);
        if let Ok(functions) = parse(&text) {
            let printed: String = functions.iter().map(|func| func.to_string()).collect();
            let again = parse(&printed).map_err(|errors| TestCaseError::fail(format!("{errors:?}\n{printed}")))?;
            let reprinted: String = again.iter().map(|func| func.to_string()).collect();
            prop_assert_eq!(printed, reprinted);
        }
    }

    #[test]
    fn noise_never_panics(text in "\\PC*") {
        let _ = parse(&text);
    }
}
