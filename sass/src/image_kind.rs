//! The kinds of numbers by which the driver knows textures, samplers and surfaces.

/// The kind of a number that the driver puts into a word of constant bank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImageKind {
    /// The number of a texture, in the low 20 bits.
    Texture,
    /// The number of a sampler, in the low 20 bits: from sm_90 on.
    Sampler,
    /// The number of a sampler, in the upper 12 bits: before sm_90.
    UpperSampler,
    /// The number of a surface, in the low 20 bits.
    Surface,
}

impl ImageKind {
    /// All kinds.
    pub const ALL: [ImageKind; 4] =
        [ImageKind::Texture, ImageKind::Sampler, ImageKind::UpperSampler, ImageKind::Surface];

    /// Its name in the text of a program.
    pub const fn name(self) -> &'static str {
        match self {
            ImageKind::Texture => "texture",
            ImageKind::Sampler => "sampler",
            ImageKind::UpperSampler => "upper_sampler",
            ImageKind::Surface => "surface",
        }
    }
}
