//! Listings of whole kernels are read, and the hazard check finds nothing in code that NVIDIA's assembler made.

use std::path::PathBuf;

use ptxc_sass::Arch;
use ptxc_sass::text::{ErrorCode, ReadOptions, parse_programs};
use ptxc_sass::verify::{HazardKind, Order, check_with};

use crate::tools::{Oracle, oracle};
use crate::{FOLDERS, is_usual};

/// Checks kernels for an architecture; how many had no hazard. Those with instructions or forms that the table lacks are listed.
fn check(oracle: &Oracle, arch: Arch, kernels: &[PathBuf]) -> usize {
    let mut clean = 0;
    let options = ReadOptions { arch: Some(arch), ..ReadOptions::default() };
    for path in kernels {
        let listing = oracle.listing(path, arch);
        match parse_programs(&listing, &options) {
            Ok(read) => {
                for kernel in read {
                    let mut found = check_with(&kernel.program, Order::InOrder).err().unwrap_or_default();
                    // It knows what its functions leave under way; only our convention has them settle.
                    found.retain(|hazard| hazard.kind != HazardKind::Boundary);
                    assert_eq!(found, [], "{} of {} for {arch}", kernel.program.name, path.display());
                    clean += 1;
                }
            }
            Err(errors) => {
                for error in errors {
                    let is_missing = matches!(error.code, ErrorCode::Mnemonic | ErrorCode::Form);
                    assert!(is_missing, "{}: {error}", path.display());
                    eprintln!("{}: {}", path.display(), error.message);
                }
            }
        }
    }
    clean
}

#[test]
fn some_kernels_have_no_hazard() {
    let Some(oracle) = oracle() else { return };
    for arch in Arch::ALL {
        let clean = check(&oracle, arch, &oracle.kernels(&["t1"], arch, is_usual));
        // The scaled addresses that ptxas gives older architectures are forms that the table lacks.
        let least = if arch == Arch::Sm90 { 5 } else { 1 };
        assert!(clean >= least, "only {clean} kernels for {arch}");
    }
}

#[test]
#[ignore = "compiles the whole corpus for five architectures, which takes minutes"]
fn the_corpus_has_no_hazard() {
    let Some(oracle) = oracle() else { return };
    for arch in Arch::ALL {
        let clean = check(&oracle, arch, &oracle.kernels(FOLDERS, arch, |_| true));
        assert!(clean >= 20, "only {clean} kernels for {arch}");
    }
}
