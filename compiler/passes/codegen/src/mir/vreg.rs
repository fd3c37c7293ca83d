//! Virtual registers: a number, a component and a file, in 32 bits.
//!
//! An instruction has room for eight operands, each with room for an address of three registers,
//! and the passes walk over all instructions about twenty times. Passes over large functions are
//! limited by memory traffic, so registers are kept small.

use std::fmt;
use std::num::NonZeroU32;

use cranelift_entity::{EntityRef, entity_impl};
use ptxc_sass::{RegFile, Register};

/// The number of a virtual register in its [`Mir`](super::Mir), below [`VReg::MOST`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VRegId(u32);
entity_impl!(VRegId, "%");

/// The file and width of a virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VRegData {
    /// The file.
    pub file: RegFile,
    /// Number of components; tuples of general and uniform registers are aligned to the next power
    /// of two, at most 4.
    pub width: u8,
    /// Whether all lanes of the warp share its value, and it is defined in a block that the warp executes
    /// together: a parameter, or the result of a shuffle or a load.
    pub agrees: bool,
}

/// One component of a virtual register, or the first of several, with its file, so that an operand
/// tells its file without the function.
// One more than the number in the upper 24 bits, so that it is never zero. The lower eight are a
// component of a general register, below 128, or 32 components of each of the other files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VReg(NonZeroU32);

impl VReg {
    /// The greatest number of virtual registers in a function.
    pub const MOST: usize = (1 << 24) - 1;

    const COMPONENTS: u32 = 128;
    const OTHER_COMPONENTS: u32 = 32;

    /// A component of a virtual register: below 128 of a general one, below 32 of another.
    ///
    /// # Panics
    /// If there are more components or registers than that.
    #[inline]
    pub fn new(id: VRegId, component: u8, file: RegFile) -> VReg {
        let component = u32::from(component);
        let (first, components) = match file {
            RegFile::Gpr => (0, VReg::COMPONENTS),
            other => (VReg::COMPONENTS + VReg::OTHER_COMPONENTS * (other as u32 - 1), VReg::OTHER_COMPONENTS),
        };
        assert!(component < components && id.index() < VReg::MOST, "{id}.{component} does not exist");
        match NonZeroU32::new(((id.as_u32() + 1) << 8) | (first + component)) {
            Some(bits) => VReg(bits),
            None => unreachable!("the number is not the last one"),
        }
    }

    /// The virtual register.
    #[inline]
    pub fn id(self) -> VRegId {
        VRegId((self.0.get() >> 8) - 1)
    }

    /// The component, from 0.
    #[inline]
    pub fn component(self) -> u8 {
        let low = self.0.get() as u8;
        if u32::from(low) < VReg::COMPONENTS { low } else { low % VReg::OTHER_COMPONENTS as u8 }
    }

    /// The file.
    #[inline]
    pub fn file(self) -> RegFile {
        match self.0.get() as u8 / VReg::OTHER_COMPONENTS as u8 {
            0..4 => RegFile::Gpr,
            4 => RegFile::Pred,
            5 => RegFile::Ugpr,
            _ => RegFile::Upred,
        }
    }

    /// The component `n` places later.
    ///
    /// # Panics
    /// If no register has so many components.
    #[inline]
    pub fn offset(self, n: u8) -> VReg {
        let bits = self.0.get();
        let components = if bits & VReg::COMPONENTS == 0 { VReg::COMPONENTS } else { VReg::OTHER_COMPONENTS };
        match self.0.checked_add(n.into()) {
            Some(moved) if (moved.get() ^ bits) < components => VReg(moved),
            _ => panic!("{self} has no component {n} places on"),
        }
    }

    /// Another component of the same virtual register.
    ///
    /// # Panics
    /// If no register has so many components.
    #[inline]
    pub fn with_component(self, component: u8) -> VReg {
        VReg::new(self.id(), component, self.file())
    }

    /// The same component of another virtual register of the same file.
    #[inline]
    pub fn with_id(self, id: VRegId) -> VReg {
        VReg::new(id, self.component(), self.file())
    }
}

impl Register for VReg {
    #[inline]
    fn file(self) -> RegFile {
        VReg::file(self)
    }

    fn parse(name: &str) -> Option<VReg> {
        let name = name.strip_prefix('%')?;
        let digits = name.find(|c: char| c.is_ascii_digit())?;
        let file = RegFile::ALL.into_iter().find(|&file| prefix(file).get(1..) == Some(&name[..digits]))?;
        let (number, component) = match name[digits..].split_once('#') {
            Some((number, component)) => (number, component.parse().ok().filter(|&n: &u8| n > 0)?),
            None => (&name[digits..], 0),
        };
        let number: u32 = number.parse().ok()?;
        let components = if file == RegFile::Gpr { VReg::COMPONENTS } else { VReg::OTHER_COMPONENTS };
        let exists = (number as usize) < VReg::MOST && u32::from(component) < components;
        exists.then(|| VReg::new(VRegId::from_u32(number), component, file))
    }
}

/// The letters before the number of a register of a file.
fn prefix(file: RegFile) -> &'static str {
    match file {
        RegFile::Gpr => "%r",
        RegFile::Pred => "%p",
        RegFile::Ugpr => "%ur",
        RegFile::Upred => "%up",
    }
}

/// `%r9` for the first component and `%r9#1` for the second: `.64` after a register of an address
/// has a meaning of its own.
impl fmt::Display for VReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", prefix(self.file()), self.id().as_u32())?;
        match self.component() {
            0 => Ok(()),
            component => write!(f, "#{component}"),
        }
    }
}

impl fmt::Debug for VReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_says_what_it_was_made_of() {
        for number in [0, 1, 255, 256, VReg::MOST as u32 - 1] {
            for file in RegFile::ALL {
                let components = if file == RegFile::Gpr { 128 } else { 32 };
                for component in [0, 1, components - 1] {
                    let id = VRegId::from_u32(number);
                    let reg = VReg::new(id, component, file);
                    assert_eq!((reg.id(), reg.component(), reg.file()), (id, component, file));
                    assert_eq!(VReg::new(id, 0, file).offset(component), reg);
                    assert_eq!(VReg::parse(&reg.to_string()), Some(reg));
                    assert_eq!(reg.with_component(0).offset(component), reg);
                    let other = VRegId::from_u32(7);
                    assert_eq!(reg.with_id(other), VReg::new(other, component, file));
                    let beyond = std::panic::catch_unwind(|| reg.offset(components - component));
                    assert!(beyond.is_err(), "{reg} has no component {components}");
                }
            }
        }
        assert_eq!(size_of::<Option<VReg>>(), 4);
    }

    #[test]
    fn registers_are_ordered_by_number_and_component() {
        let reg = |number, component| VReg::new(VRegId::from_u32(number), component, RegFile::Gpr);
        assert!(reg(1, 127) < reg(2, 0) && reg(2, 0) < reg(2, 1));
        assert_eq!(format!("{} {}", reg(3, 0), reg(3, 2)), "%r3 %r3#2");
    }
}
