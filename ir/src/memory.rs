//! The properties of a memory operation: space, element, order, scope, caching.

use crate::types::Type;

/// An enumeration whose variants have one spelling each in the text form.
pub trait Spelled: Copy + 'static {
    /// Every variant, in the order of the enumeration.
    const ALL: &'static [Self];

    /// The spelling in the text form.
    fn name(self) -> &'static str;
}

/// Declares an enumeration whose variants have one spelling each in the text form.
macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every variant, in the order of the enumeration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The spelling in the text form.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl $crate::memory::Spelled for $name {
            const ALL: &'static [$name] = $name::ALL;

            fn name(self) -> &'static str {
                $name::name(self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();
            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($text => Ok($name::$variant),)* _ => Err(()) }
            }
        }
    };
}
pub(crate) use spelled;

spelled! {
    /// A state space. An address is 64 bits wide in `Generic` and `Global`, and a 32-bit offset into
    /// its window in the others.
    Space {
        /// Any of the other spaces except constant and parameter; the address tells which.
        Generic = "generic",
        /// Device memory.
        Global = "global",
        /// The memory that a CTA shares.
        Shared = "shared",
        /// The shared memory of any CTA of the cluster.
        SharedCluster = "shared_cluster",
        /// The memory of one thread.
        Local = "local",
        /// Read-only memory of the module.
        Const = "const",
        /// Kernel parameters.
        Param = "param",
        /// Textures that have names; no access has this space, or the next two.
        Texture = "texture",
        /// Samplers that have names.
        Sampler = "sampler",
        /// Surfaces that have names.
        Surface = "surface",
    }
}

impl Space {
    /// The type of an address in this space.
    pub const fn address_type(self) -> Type {
        match self {
            Space::Generic | Space::Global => Type::B64,
            _ if self.is_image() => Type::B64,
            _ => Type::B32,
        }
    }

    /// The bit in the upper half of an address that tells that it is one of a texture, sampler or
    /// surface; 0 for other spaces.
    pub const fn image_bit(self) -> u32 {
        match self {
            Space::Texture => 0x2000_0000,
            Space::Sampler => 0x4000_0000,
            Space::Surface => 0x8000_0000,
            _ => 0,
        }
    }

    /// Whether its variables are textures, samplers or surfaces.
    pub const fn is_image(self) -> bool {
        matches!(self, Space::Texture | Space::Sampler | Space::Surface)
    }
}

spelled! {
    /// The element of a memory access, and how it is converted to a register value: an element
    /// narrower than its value is extended by its sign (`S8`, `S16`) or with zeros (`B8`, `B16`).
    MemType {
        /// 8 bits, extended with zeros.
        B8 = "b8",
        /// 8 bits, extended by the sign.
        S8 = "s8",
        /// 16 bits, extended with zeros.
        B16 = "b16",
        /// 16 bits, extended by the sign.
        S16 = "s16",
        /// 32 bits.
        B32 = "b32",
        /// 64 bits.
        B64 = "b64",
        /// 128 bits.
        B128 = "b128",
    }
}

impl MemType {
    /// Size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            MemType::B8 | MemType::S8 => 1,
            MemType::B16 | MemType::S16 => 2,
            MemType::B32 => 4,
            MemType::B64 => 8,
            MemType::B128 => 16,
        }
    }
}

spelled! {
    /// The strength of an access or fence.
    Order {
        /// No synchronization: a data race with it is undefined.
        Weak = "weak",
        /// Neither moved nor merged; eventually visible to the system.
        Volatile = "volatile",
        /// Atomic at its scope, without ordering other accesses.
        Relaxed = "relaxed",
        /// As relaxed at the scope of the system, for registers of devices: every access happens, with
        /// its size.
        Mmio = "mmio",
        /// Later accesses stay after it.
        Acquire = "acquire",
        /// Earlier accesses stay before it.
        Release = "release",
        /// Both acquire and release.
        AcqRel = "acq_rel",
        /// Both acquire and release, in one total order.
        SeqCst = "sc",
    }
}

spelled! {
    /// The threads that observe an access or fence in order.
    Scope {
        /// The thread's CTA.
        Cta = "cta",
        /// The CTA's cluster.
        Cluster = "cluster",
        /// The device.
        Gpu = "gpu",
        /// The system.
        Sys = "sys",
    }
}

spelled! {
    /// The cache operator: a hint that never changes a value.
    CacheOp {
        /// None given.
        Default = "default",
        /// Cache at all levels.
        Ca = "ca",
        /// Cache at the second level only.
        Cg = "cg",
        /// Streaming: evict first.
        Cs = "cs",
        /// Last use.
        Lu = "lu",
        /// Don't cache, fetch again.
        Cv = "cv",
        /// Write back.
        Wb = "wb",
        /// Write through.
        Wt = "wt",
        /// The read-only path (`ld.global.nc`): no store aliases the location while the kernel runs.
        Nc = "nc",
    }
}

spelled! {
    /// How many bytes around an element an access or an asynchronous copy brings into the
    /// second-level cache: a hint.
    Prefetch {
        /// The bytes that it needs.
        Needed = "needed",
        /// 64 bytes.
        L64 = "l2_64",
        /// 128 bytes.
        L128 = "l2_128",
        /// 256 bytes.
        L256 = "l2_256",
    }
}

spelled! {
    /// How a line of the first-level cache leaves it: a hint.
    Eviction {
        /// As usual.
        Normal = "evict_normal",
        /// In the order before the access.
        Unchanged = "evict_unchanged",
        /// Before others.
        First = "evict_first",
        /// After others.
        Last = "evict_last",
        /// The line does not enter the cache.
        NoAllocate = "no_allocate",
    }
}

spelled! {
    /// What happens to a line of the caches.
    LineAction {
        /// It is brought into the first-level cache.
        FetchL1 = "fetch_l1",
        /// It is brought into the second-level cache.
        FetchL2 = "fetch_l2",
        /// It is brought into the second-level cache, and leaves after others.
        FetchL2Last = "fetch_l2_last",
        /// It leaves the second-level cache as usual from now on.
        Demote = "demote",
        /// Its content need not be kept: a later load may return anything.
        Discard = "discard",
    }
}

spelled! {
    /// The update that an atomic operation makes.
    AtomicOp {
        /// Integer addition.
        Add = "add",
        /// Float addition, rounded to nearest even. For `f32`, the atomic units of global memory
        /// flush subnormal operands and sums.
        Fadd = "fadd",
        /// Addition of `f32`, rounded to nearest even, that keeps subnormals in every memory.
        FaddNoftz = "fadd_noftz",
        /// The lesser float; a number wins against a NaN.
        Fmin = "fmin",
        /// The greater float; a number wins against a NaN.
        Fmax = "fmax",
        /// Signed minimum.
        Smin = "smin",
        /// Signed maximum.
        Smax = "smax",
        /// Unsigned minimum.
        Umin = "umin",
        /// Unsigned maximum.
        Umax = "umax",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// `old >= limit ? 0 : old + 1`.
        Inc = "inc",
        /// `old == 0 || old > limit ? limit : old - 1`.
        Dec = "dec",
        /// Exchange.
        Exch = "exch",
        /// Compare and swap: the arguments are the expected and the new value.
        Cas = "cas",
        /// Compare and store: like compare and swap, but the result is 1 if the store was done,
        /// else 0.
        Cast = "cast",
    }
}

/// A memory access without its address and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The state space.
    pub space: Space,
    /// The element in memory.
    pub elem: MemType,
    /// Number of consecutive elements: 1, 2, 4 or 8.
    pub lanes: u8,
    /// The order.
    pub order: Order,
    /// The scope; meaningless for weak accesses.
    pub scope: Scope,
    /// The cache operator.
    pub cache: CacheOp,
    /// How its line leaves the first-level cache.
    pub eviction: Eviction,
    /// How much is brought into the second-level cache.
    pub prefetch: Prefetch,
    /// The offset added to the address, in bytes.
    pub offset: i32,
}

impl Access {
    /// A weak access of one element.
    pub const fn weak(space: Space, elem: MemType) -> Access {
        Access {
            space,
            elem,
            lanes: 1,
            order: Order::Weak,
            scope: Scope::Sys,
            cache: CacheOp::Default,
            eviction: Eviction::Normal,
            prefetch: Prefetch::Needed,
            offset: 0,
        }
    }

    /// Whether a load by this access may see stores of the running grid.
    pub const fn reads_mutable(&self) -> bool {
        !matches!(self.space, Space::Const | Space::Param)
    }

    /// Whether the access is not weak.
    pub const fn is_strong(&self) -> bool {
        !matches!(self.order, Order::Weak)
    }

    /// Bytes that the access touches.
    pub const fn bytes(&self) -> u32 {
        self.elem.bytes() * self.lanes as u32
    }
}
