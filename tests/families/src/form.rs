//! A form: one instruction with its operands, and its place in a kernel.

use std::fmt;

/// The part of the instruction set that a form belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// `bar`, `barrier` and `bar.warp.sync`.
    Barrier,
    /// `membar`, `fence`, `barrier.cluster`, `griddepcontrol`.
    Fence,
    /// `mbarrier` and `cp.async.mbarrier.arrive`.
    Mbarrier,
    /// `red` and `atom` on one element.
    Atomic,
    /// `red` and `atom` on vectors.
    Vector,
    /// `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`.
    Warp,
}

impl Family {
    /// Every family, in the order of the tables.
    pub const ALL: [Family; 6] =
        [Family::Barrier, Family::Fence, Family::Mbarrier, Family::Atomic, Family::Vector, Family::Warp];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Barrier => "barrier",
            Family::Fence => "fence",
            Family::Mbarrier => "mbarrier",
            Family::Atomic => "atomic",
            Family::Vector => "vector",
            Family::Warp => "warp",
        }
    }
}

/// The place of an instruction in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// On the path of all threads.
    Converged,
    /// Under a condition that depends on the thread.
    Divergent,
    /// In both arms of a branch on such a condition.
    BothArms,
}

impl Setting {
    /// Every setting.
    pub const ALL: [Setting; 3] = [Setting::Converged, Setting::Divergent, Setting::BothArms];

    /// The suffix of a form's name for the setting.
    pub const fn suffix(self) -> &'static str {
        match self {
            Setting::Converged => "",
            Setting::Divergent => " @divergent",
            Setting::BothArms => " @arms",
        }
    }
}

/// One instruction with its operands, whose names [`kernel`](crate::kernel) defines, in one
/// setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Its family.
    pub family: Family,
    /// The instruction without its semicolon: `atom.global.add.u32 rw, [ga], w0`.
    pub text: String,
    /// Its setting.
    pub setting: Setting,
    /// The `.version` of its module.
    pub version: (u32, u32),
}

impl Form {
    /// The version for most forms.
    pub const VERSION: (u32, u32) = (9, 0);

    /// A form on the path of all threads.
    pub fn new(family: Family, text: impl Into<String>) -> Form {
        Form { family, text: text.into(), setting: Setting::Converged, version: Form::VERSION }
    }

    /// The same in another setting.
    pub fn at(&self, setting: Setting) -> Form {
        Form { setting, ..self.clone() }
    }

    /// The same in a module of another version.
    pub fn version(&self, version: (u32, u32)) -> Form {
        Form { version, ..self.clone() }
    }

    /// The opcode with its modifiers.
    pub fn opcode(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }
}

impl fmt::Display for Form {
    /// Its name: `barrier.sync 1 @divergent`, `elect.sync rw|rp, um @ptx7.8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, self.setting.suffix())?;
        match self.version {
            Form::VERSION => Ok(()),
            (major, minor) => write!(f, " @ptx{major}.{minor}"),
        }
    }
}
