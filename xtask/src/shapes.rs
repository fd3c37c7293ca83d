//! Compares the shapes of instructions in the compiler's code with the list of witnesses, and that
//! list with NVIDIA's tools.

use ptxc_families::Oracle;
use ptxc_shapes::{Source, campaign, list, list_path, theirs};

/// The text before the list.
const HEAD: &str = "\
# Every shape of instruction in our code, with a witness that the architecture has it: what ptxas makes of a file, or an
# encoding that nvdisasm reads so. Made by `cargo xtask shapes --observe`; encodings are added by hand. See docs/tests.md.
";

/// The options of `xtask shapes`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Shapes {
    /// Compile everything with ptxas, and write a new list.
    #[arg(long)]
    observe: bool,
    /// Compile only one of this many witnesses with ptxas.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    stride: u32,
    /// Compile only one of this many pairs of a file and an architecture with ptxc.
    #[arg(long, default_value_t = 1, conflicts_with = "observe", value_parser = clap::value_parser!(u32).range(1..))]
    files: u32,
}

impl Shapes {
    /// The checks before a change lands: a third of the compiler's code, and a sample of the witnesses.
    pub(crate) fn sample() -> Shapes {
        Shapes { observe: false, stride: 64, files: 3 }
    }

    /// Compares; a shape without a witness and a wrong witness are errors.
    pub(crate) fn run(&self) -> Result<(), String> {
        let sources = Source::all();
        let old = list()?;
        let ours = campaign::ours(&sources, self.files as usize)?;
        let oracle = Oracle::find();
        let list = match &oracle {
            Some(oracle) if self.observe => {
                let list = campaign::observe(oracle, &sources, &ours, &old)?;
                let text = format!("{HEAD}{}", list.write());
                std::fs::write(list_path(), text).map_err(|error| error.to_string())?;
                list
            }
            _ => old,
        };
        let mut wrong = campaign::without_witness(&ours, &list);
        match &oracle {
            Some(oracle) => wrong.extend(theirs::check(oracle, &list, &sources, self.stride as usize)?),
            None => {
                println!("SKIPPED: the witnesses beside ptxas and nvdisasm; ORACLE names no folder with them")
            }
        }
        println!("shapes: {} in the code of {} files, {} wrong", ours.len(), sources.len(), wrong.len());
        wrong.iter().for_each(|what| println!("    {what}"));
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("{} shapes have no witness, or a wrong one", wrong.len()))
        }
    }
}
