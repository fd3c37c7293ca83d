//! Prints the syntax tree as PTX text.
//!
//! Every part of the tree implements [`Display`](std::fmt::Display) in one canonical layout: a line
//! for each statement and each parameter, four spaces for each scope. Printing, parsing and
//! printing again changes nothing, and the resulting tree equals the printed one, provided that it
//! came from text without an error.
//! ```
//! let parsed = ptxc_syntax::parse_module(".version 9.0 .entry k(){@%p1 bra L;L:ret ;}");
//! assert_eq!(
//!     ptxc_syntax::print_module(&parsed.value),
//!     ".version 9.0\n\n.entry k()\n{\n    @%p1 bra L;\nL:\n    ret;\n}\n",
//! );
//! ```
//!
//! Linear in the size of the tree.

mod declaration;
mod expression;
mod function;
mod operand;
mod statement;

use std::fmt;

use crate::ast::{Alias, Item, Module, Pragma};

/// The text of a whole file.
pub fn print_module(module: &Module) -> String {
    module.to_string()
}

/// The text of one function, with a line break at its end.
pub fn print_function(function: &crate::ast::Function) -> String {
    function.to_string()
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&Item> = None;
        for item in &self.items {
            let apart = matches!(item, Item::Function(_) | Item::Section(_))
                || matches!(before, Some(Item::Function(_)))
                || (matches!(item, Item::Declaration(_)) && !matches!(before, Some(Item::Declaration(_))));
            if before.is_some() && apart {
                writeln!(f)?;
            }
            write!(f, "{item}")?;
            before = Some(item);
        }
        Ok(())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Version(version) => writeln!(f, ".version {}.{}", version.major, version.minor),
            Item::Target(target) => {
                f.write_str(".target ")?;
                list(f, &target.names, |f, name| f.write_str(&name.name))?;
                writeln!(f)
            }
            Item::AddressSize(size) => writeln!(f, ".address_size {}", size.bits),
            Item::File(file) => writeln!(f, "{file}"),
            Item::Section(section) => writeln!(f, "{section}"),
            Item::Pragma(pragma) => writeln!(f, "{pragma}"),
            Item::Declaration(declaration) => writeln!(f, "{declaration}"),
            Item::Function(function) => write!(f, "{function}"),
            Item::Alias(alias) => writeln!(f, "{alias}"),
        }
    }
}

impl fmt::Display for Pragma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(".pragma ")?;
        list(f, &self.strings, |f, string| write!(f, "\"{string}\""))?;
        f.write_str(";")
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".alias {}, {};", self.name.name, self.aliasee.name)
    }
}

/// Writes `items` with `, ` between them.
fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}
