//! Filtered reads of textures.

use super::place::{Address, Image, Place, Sampler};

/// A filtered read.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The face, among all faces of all layers.
    pub face: u32,
    /// The coordinates in the face.
    pub place: [f64; 3],
    /// Offsets in texels.
    pub offset: [i32; 3],
    /// The level.
    pub level: f32,
}

/// A fraction of a coordinate, in 256ths, from 0 to 256.
fn fraction(number: f64) -> u32 {
    ((number - number.floor()) * 256.0).round() as u32
}

/// A level in 256ths, within the limits of the sampler and the texture.
fn level_of(image: &Image, sampler: &Sampler, level: f32) -> u32 {
    let last = (image.levels.max(1) - 1) * 256;
    let [least, greatest] = sampler.levels;
    let level = if level.is_nan() { 0.0 } else { f64::from(level) };
    // A cast saturates.
    let level = (level * 256.0).round() as u32;
    level.max(least).min(greatest.max(least)).min(last)
}

/// The level of a read whose coordinates change by these numbers to the next columns and rows.
pub fn gradient_level(image: &Image, sampler: &Sampler, gradient: &[[f32; 2]]) -> f32 {
    let size = image.size_of(0);
    let mut square = 0.0f64;
    for direction in 0..2 {
        let mut sum = 0.0;
        for (number, parts) in gradient.iter().take(image.kind.dimensions()).enumerate() {
            let scale = if sampler.normalized { f64::from(size[number]) } else { 1.0 };
            let change = f64::from(parts[direction]) * scale;
            sum += change * change;
        }
        square = square.max(sum);
    }
    half_of_logarithm(square)
}

/// Half the logarithm of a number to the base 2, in 256ths, rounded down: the integer part from the
/// exponent, then a bit for each squaring. Unlike a library's logarithm it is the same everywhere.
fn half_of_logarithm(number: f64) -> f32 {
    if !(number > 0.0 && number.is_finite()) {
        return if number > 0.0 { 127.0 } else { -127.0 };
    }
    let exponent = (number.to_bits() >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(number.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    let mut all = exponent;
    for _ in 0..7 {
        mantissa *= mantissa;
        let bit = mantissa >= 2.0;
        all = 2 * all + i64::from(bit);
        mantissa = if bit { mantissa / 2.0 } else { mantissa };
    }
    // All counts 128ths of the logarithm.
    all as f32 / 256.0
}

/// The texels between which a filter mixes in a coordinate, and the weight of the second, in
/// 256ths.
#[derive(Clone, Copy)]
struct Axis {
    texels: [Option<u32>; 2],
    weight: u32,
}

/// The places of a request on each axis.
fn axes(image: &Image, sampler: &Sampler, request: &Request, level: u32, linear: bool) -> [Axis; 3] {
    let size = image.size_of(level);
    std::array::from_fn(|axis| {
        if axis >= image.kind.dimensions() {
            return Axis { texels: [Some(0); 2], weight: 0 };
        }
        let place = request.place[axis];
        let place = if place.is_nan() { 0.0 } else { place };
        let scale = if sampler.normalized { f64::from(size[axis]) } else { 1.0 };
        let address = if image.kind.faces() == 6 { Address::Clamp } else { sampler.address(axis) };
        let (number, weight) = if linear {
            let place = place * scale - 0.5;
            (place.floor(), fraction(place))
        } else {
            ((place * scale).floor(), 0)
        };
        // Beyond this all texels are outside; a larger integer could not be added to.
        let number = number.clamp(-1e15, 1e15) as i64 + i64::from(request.offset[axis]);
        Axis { texels: [0, 1].map(|next| address.texel(number + next, size[axis])), weight }
    })
}

/// Reads a texel, or zeros for the border.
fn texel<E>(
    read: &mut impl FnMut(Place) -> Result<[u32; 4], E>,
    level: u32,
    face: u32,
    axes: &[Axis; 3],
    sides: [usize; 3],
) -> Result<[u32; 4], E> {
    let number = |axis: usize| axes[axis].texels[sides[axis]];
    match (number(0), number(1), number(2)) {
        (Some(x), Some(y), Some(z)) => read(Place { level, face, texel: [x, y, z] }),
        _ => Ok([0; 4]),
    }
}

/// Reads a texture through a sampler. A linear filter needs texels of binary32.
pub fn sample<E>(
    image: &Image,
    sampler: &Sampler,
    request: &Request,
    read: &mut impl FnMut(Place) -> Result<[u32; 4], E>,
) -> Result<[u32; 4], E> {
    let level = level_of(image, sampler, request.level);
    if !sampler.mixes_levels {
        // The nearest level.
        return of_level(image, sampler, request, (level + 128) / 256, read).map(|exact| exact.words);
    }
    let first = of_level(image, sampler, request, level / 256, read)?;
    if level.is_multiple_of(256) {
        return Ok(first.words);
    }
    let second = of_level(image, sampler, request, level / 256 + 1, read)?;
    let weight = f64::from(level % 256) / 256.0;
    let mixed = |n: usize| first.exact[n] * (1.0 - weight) + second.exact[n] * weight;
    Ok(std::array::from_fn(|n| (mixed(n) as f32).to_bits()))
}

/// A texel, as words and as numbers before they are rounded.
struct Mixed {
    words: [u32; 4],
    exact: [f64; 4],
}

fn of_level<E>(
    image: &Image,
    sampler: &Sampler,
    request: &Request,
    level: u32,
    read: &mut impl FnMut(Place) -> Result<[u32; 4], E>,
) -> Result<Mixed, E> {
    let axes = axes(image, sampler, request, level, sampler.linear);
    if !sampler.linear {
        let words = texel(read, level, request.face, &axes, [0; 3])?;
        return Ok(Mixed { words, exact: words.map(|word| f64::from(f32::from_bits(word))) });
    }
    let mut exact = [0.0; 4];
    for corner in 0..1usize << image.kind.dimensions() {
        let sides = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
        let weight: f64 = (0..3)
            .map(|axis| {
                let second = f64::from(axes[axis].weight) / 256.0;
                if sides[axis] == 1 { second } else { 1.0 - second }
            })
            .product();
        // A texel without a share is not read: an infinity would make a NaN of it.
        if weight == 0.0 {
            continue;
        }
        let words = texel(read, level, request.face, &axes, sides)?;
        for (sum, word) in exact.iter_mut().zip(words) {
            *sum += weight * f64::from(f32::from_bits(word));
        }
    }
    Ok(Mixed { words: exact.map(|number| (number as f32).to_bits()), exact })
}

/// One component of the four texels that a linear filter would mix at level 0, counter-clockwise
/// from the lower left one.
pub fn gather<E>(
    image: &Image,
    sampler: &Sampler,
    request: &Request,
    component: usize,
    read: &mut impl FnMut(Place) -> Result<[u32; 4], E>,
) -> Result<[u32; 4], E> {
    let axes = axes(image, sampler, request, 0, true);
    let mut words = [0; 4];
    for (word, sides) in words.iter_mut().zip([[0, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]]) {
        *word = texel(read, 0, request.face, &axes, sides)?[component.min(3)];
    }
    Ok(words)
}
