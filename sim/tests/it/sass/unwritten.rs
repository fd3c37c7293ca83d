//! Reads of registers that nothing has written.

use ptxc_sim::{Options, SimError, run_sass};

use crate::assemble::{case, program};

#[test]
fn registers_that_nobody_wrote_are_found_on_request() {
    let case = case(1, 4, vec![]);
    let text = "
        S2R R1, SR_LANEID
        ISETP.EQ.AND P0, PT, R1, 0x2, PT
        @!P0 MOV R2, 0x1
        @!P0 IADD3 R3, R2, 0x1, RZ
        IADD3 R3, R2, 0x1, RZ
        EXIT
    ";
    let program = program(text, &case);
    run_sass(&case, &program, &Options::default()).unwrap();
    let options = Options { check_uninitialised: true, ..Options::default() };
    let error = run_sass(&case, &program, &options).unwrap_err();
    let SimError::Fault { thread, at, what } = &error else { panic!("{error}") };
    assert_eq!(thread.tid, [2, 0, 0]);
    assert!(at.starts_with("/*0040*/") && what.contains("R2"), "{error}");
}

#[test]
fn a_choice_copies_a_word_that_nobody_wrote() {
    let case = case(1, 4, vec![]);
    let options = Options { check_uninitialised: true, ..Options::default() };
    // Lanes 0 and 1 choose R2, which they have not written, over the word that R3 has.
    let start = "
        S2R R1, SR_LANEID
        ISETP.GT.AND P0, PT, R1, 0x1, PT
        MOV R3, 0x1
        SEL R3, R1, R2, P0
    ";
    for (end, at) in [
        ("EXIT", None),
        ("@P0 ISETP.EQ.AND P1, PT, R3, RZ, PT", None),
        ("ISETP.EQ.AND P1, PT, R3, RZ, PT", Some("/*0040*/")),
        ("IADD3 R4, R3, R1, RZ\n@P0 ISETP.EQ.AND P1, PT, R4, RZ, PT", None),
        ("IADD3 R4, R3, R1, RZ\nISETP.EQ.AND P1, PT, R4, RZ, PT", Some("/*0050*/")),
        ("SHFL.IDX PT, R4, R3, RZ, 0x1f", Some("/*0040*/")),
        ("IADD3 R4, R2, R1, RZ", Some("/*0040*/")),
    ] {
        let result = run_sass(&case, &program(&format!("{start}{end}\nEXIT"), &case), &options);
        match (result, at) {
            (Ok(_), None) => {}
            (Err(SimError::Fault { thread, at: found, .. }), Some(at)) => {
                assert_eq!(thread.tid, [0, 0, 0], "{end}");
                assert!(found.starts_with(at), "{end}: {found}");
            }
            (result, _) => panic!("{end}: {result:?}"),
        }
    }
}
