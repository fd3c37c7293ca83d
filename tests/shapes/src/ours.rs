//! The shapes in this compiler's code.

use std::collections::BTreeSet;

use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Options, SourceFile};
use ptxc_machine::Arch;
use ptxc_sass::text::write_inst;

use crate::shape::shapes;

/// The shapes of a file's kernels that have code: kernels for newer architectures have none.
pub fn of(name: &str, text: &str, arch: Arch, opt: u8) -> BTreeSet<String> {
    let db = Database::default();
    let file = SourceFile::new(&db, name.to_string(), text.to_string());
    let options = Options::new(&db, Some(arch), opt, true, "balanced".to_string(), 255, false);
    let mut found = BTreeSet::new();
    for (_, code) in kernels(&db, file, options) {
        for coded in code.iter().flat_map(|code| &code.program.insts) {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write_inst(&mut text, &coded.inst, 0, &[], arch);
            found.extend(shapes(&text));
        }
    }
    found
}
