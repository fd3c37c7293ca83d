//! Listings of whole kernels are read, and the hazard check finds nothing in code that NVIDIA's assembler made.

use std::path::PathBuf;

use ptxc_sass::text::{ErrorCode, ReadOptions, parse_programs};
use ptxc_sass::verify::{Order, check_with};

use crate::is_usual;
use crate::tools::{Oracle, oracle};

/// Checks kernels; how many had no hazard. Those with instructions that the table lacks are listed.
fn check(oracle: &Oracle, kernels: &[PathBuf]) -> usize {
    let mut clean = 0;
    for path in kernels {
        let listing = oracle.listing(path);
        match parse_programs(&listing, &ReadOptions::default()) {
            Ok(read) => {
                for kernel in read {
                    let found = check_with(&kernel.program, Order::InOrder);
                    assert_eq!(found, Ok(()), "{} of {}", kernel.program.name, path.display());
                    clean += 1;
                }
            }
            Err(errors) => {
                for error in errors {
                    assert_eq!(error.code, ErrorCode::Mnemonic, "{}: {error}", path.display());
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
    let clean = check(&oracle, &oracle.kernels(is_usual));
    assert!(clean >= 5, "only {clean} kernels");
}

#[test]
#[ignore = "compiles the whole corpus, which takes half a minute"]
fn the_corpus_has_no_hazard() {
    let Some(oracle) = oracle() else { return };
    let clean = check(&oracle, &oracle.kernels(|_| true));
    assert!(clean >= 36, "only {clean} kernels");
}
