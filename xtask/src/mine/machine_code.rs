//! Machine code that other compilers made: the functions of every cubin in a file.

use std::path::Path;

use ptxc_container::Found;
use ptxc_machine::Arch;
use ptxc_object::cubin;
use ptxc_sass::Program;

/// Calls a function with each function of an architecture in a file, and its place in the file. What cannot be read is
/// named on the error stream.
pub(super) fn programs(path: &Path, arch: Arch, each: &mut dyn FnMut(&str, &Program)) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let wrong = |place: &str, why: &dyn std::fmt::Display| eprintln!("{}: {place}: {why}", path.display());
    ptxc_container::visit(&bytes, &mut |place, found| {
        let place = place.to_string();
        match found {
            Found::Image(image) if image.arch == Some(arch) => match cubin::read(image.cubin) {
                Ok(cubin) => {
                    for function in &cubin.functions {
                        match cubin::program(&cubin, &function.name) {
                            Ok(program) => each(&place, &program),
                            Err(why) => wrong(&place, &why),
                        }
                    }
                }
                Err(why) => wrong(&place, &why),
            },
            _ => {}
        }
    });
    Ok(())
}
