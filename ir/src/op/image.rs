//! Textures and surfaces.

macro_rules! image_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: b64 [, …]: b32) -> b32 × words, pred`: reads the texture with the handle `a`. The
        /// last result is whether the texture has no memory there. The
        /// [operands](crate::image::SamplingParts) depend on the payload. Stores to the memory of
        /// a texture while the kernel runs may or may not be seen.
        Texture(sampling: Sampling) = "texture" [sampling] [] NONE (B64)
            -> [Results::Flagged(Type::B32, sampling.words())] { reads };
        /// `(a: b64, level: b32) -> b32`: a size of the texture or surface with the handle `a`.
        ImageSize(dimension: Dimension) = "image_size" [dimension] [] NONE (B64, B32) -> (B32) {};
        /// `(a: b64, …: b32) -> b32 × words`: loads from the surface with the handle `a`. A word
        /// has fewer bytes than 4 in its low bits; the others are zero.
        SurfaceLoad(surface: SurfaceAccess) = "surface_load" [surface] [] NONE (B64)
            -> [Results::Many(Type::B32, surface.words())] { reads, ordered };
        /// `(a: b64, …: b32)`: stores to the surface with the handle `a`.
        SurfaceStore(surface: SurfaceAccess) = "surface_store" [surface] [] NONE (B64)
            -> () { writes, ordered };
        /// `(a: b64, …: b32, b: T)`: atomic update of the surface with the handle `a`. If it is of
        /// a texel, the format of the surface decides whether `umin` and `umax` are signed.
        SurfaceRed {
            /// The update.
            op: AtomicOp,
            /// The access.
            surface: SurfaceAccess,
        } = "surface_red" [op surface T] [] WORDS (B64) -> () { writes, ordered };
    } } };
}
