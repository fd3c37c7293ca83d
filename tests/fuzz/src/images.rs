//! The textures and surfaces of a launch.
//!
//! The texels are random. Floats are finite, so that filters compare numbers. Every surface has a
//! part for each thread, as `templates/surfaces.txt` describes.

use ptxc_semantics::image::{Address, Channel, Image, Kind, Sampler, TexelFormat};
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::images::Texels;

use crate::random::Random;

/// The arguments for the handles, in the order of the parameters; `all` is the number of threads.
pub(crate) fn arguments(all: u32, random: &mut Random) -> Vec<Argument> {
    let image =
        |kind: Kind, size: [u32; 3], layers: Option<u32>, levels: u32| Image { kind, size, layers, levels };
    let levels = random.pick(&[1, 2, 3]);
    let textures = [
        ("t1", image(Kind::Line, [13, 1, 1], None, 1)),
        ("t2", image(Kind::Plane, [11, 6, 1], None, levels)),
        ("u2", image(Kind::Plane, [8, 8, 1], None, 1)),
        ("t3", image(Kind::Volume, [5, 4, 6], None, 1)),
        ("tl", image(Kind::Line, [9, 1, 1], Some(3), 1)),
        ("ta", image(Kind::Plane, [7, 4, 1], Some(3), 1)),
        ("tc", image(Kind::Cube, [4, 4, 1], None, 1)),
    ];
    let mut arguments = Vec::new();
    for (name, image) in textures {
        let format = random.pick(FLOATS);
        let sampler = sampler(true, random);
        arguments.push(argument(name, Texels { image, format, sampler: Some(sampler) }, random));
    }
    let format = TexelFormat { count: random.pick(&[1, 2, 4]), ..random.pick(INTEGERS) };
    let plane = image(Kind::Plane, [9, 5, 1], None, 1);
    let sampler = sampler(false, random);
    arguments.push(argument("ti", Texels { image: plane, format, sampler: Some(sampler) }, random));
    let surfaces = [
        ("s1", image(Kind::Line, [4 * all, 1, 1], None, 1)),
        ("s2", image(Kind::Plane, [8, all, 1], None, 1)),
        ("s3", image(Kind::Volume, [4, 2, all], None, 1)),
        ("sl", image(Kind::Line, [8, 1, 1], Some(all), 1)),
        ("sa", image(Kind::Plane, [8, 2, 1], Some(all), 1)),
    ];
    for (name, image) in surfaces {
        let format = random.pick(WORDS);
        arguments.push(argument(name, Texels { image, format, sampler: None }, random));
    }
    arguments
}

const fn format(channel: Channel, count: u8, normalized: bool) -> TexelFormat {
    TexelFormat { channel, count, normalized }
}

/// Formats that are read as floats.
const FLOATS: &[TexelFormat] = &[
    format(Channel::Single, 1, false),
    format(Channel::Single, 4, false),
    format(Channel::Single, 2, false),
    format(Channel::Half, 4, false),
    format(Channel::Unsigned(8), 4, true),
    format(Channel::Signed(8), 2, true),
    format(Channel::Signed(16), 1, true),
];

/// Formats that are read as integers.
const INTEGERS: &[TexelFormat] = &[
    format(Channel::Signed(32), 1, false),
    format(Channel::Unsigned(32), 1, false),
    format(Channel::Unsigned(8), 1, false),
    format(Channel::Signed(16), 1, false),
];

/// Formats with texels of four bytes.
const WORDS: &[TexelFormat] = &[
    format(Channel::Unsigned(32), 1, false),
    format(Channel::Signed(32), 1, false),
    format(Channel::Single, 1, false),
    format(Channel::Half, 2, false),
    format(Channel::Signed(16), 2, false),
    format(Channel::Unsigned(8), 4, false),
    format(Channel::Unsigned(8), 4, true),
];

fn sampler(is_float: bool, random: &mut Random) -> Sampler {
    let modes = [Address::Wrap, Address::Clamp, Address::Mirror, Address::Border];
    let linear = is_float && random.chance(50);
    Sampler {
        address: std::array::from_fn(|_| random.pick(&modes)),
        linear,
        mixes_levels: linear && random.chance(50),
        normalized: random.chance(30),
        levels: [0, 32 * 256],
    }
}

fn argument(name: &str, texels: Texels, random: &mut Random) -> Argument {
    // The sizes are small, so there is a number of bytes.
    let bytes = texels.bytes().unwrap_or(0) as usize;
    let mut init: Vec<u8> = (0..bytes).map(|_| random.bits() as u8).collect();
    match texels.format.channel {
        Channel::Single => {
            let number = |random: &mut Random| (random.bits() % 2001) as f32 / 8.0 - 125.0;
            init.chunks_exact_mut(4).for_each(|texel| texel.copy_from_slice(&number(random).to_le_bytes()));
        }
        // Without the highest bit of the exponent.
        Channel::Half => init.iter_mut().skip(1).step_by(2).for_each(|byte| *byte &= 0xbf),
        _ => {}
    }
    let name = name.to_string();
    let buffer = Buffer { name, elem: Elem::U8, init, expect: None, tolerance: Tolerance::Exact };
    Argument::Image(buffer, texels)
}
