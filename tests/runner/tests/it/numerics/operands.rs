//! Operands: the edge cases of a type, and random ones of all magnitudes.

use ptxc_semantics::Format;

/// A small generator, so that a failure can be repeated.
pub struct Random(pub u64);

impl Random {
    /// 64 bits (SplitMix64).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An integer with a random number of leading zeros or ones.
    pub fn integer(&mut self, bits: u32) -> u64 {
        let kept = self.bits() % u64::from(bits) + 1;
        let value = self.bits() >> (64 - kept);
        let value = if self.bits().is_multiple_of(4) { value.wrapping_neg() } else { value };
        value & (u64::MAX >> (64 - bits))
    }
}

/// The number of random operands of a test.
pub fn random_cases() -> usize {
    std::env::var("PTXC_NUMERICS_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Zero, one, powers of two, the extremes, and their neighbours.
pub fn integer_edges(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let mut edges = vec![0, 1, 2, 3, 7, 10, 0x5555_5555_5555_5555, mask, mask - 1, mask - 6];
    for exponent in [bits / 2, bits * 3 / 4, bits - 1] {
        edges.extend([(1 << exponent) - 1, 1 << exponent, (1 << exponent) + 1]);
    }
    edges.iter().map(|edge| edge & mask).collect()
}

/// All pairs of edges, and random pairs.
pub fn integer_pairs(bits: u32) -> Vec<[u64; 3]> {
    let edges = integer_edges(bits);
    let mut pairs: Vec<_> = edges.iter().flat_map(|&a| edges.iter().map(move |&b| [a, b, 0])).collect();
    let mut random = Random(u64::from(bits));
    pairs.extend((0..random_cases()).map(|_| [random.integer(bits), random.integer(bits), 0]));
    // A dividend next to a multiple of its divisor.
    pairs.extend((0..random_cases()).map(|_| {
        let (b, q) = (random.integer(bits), random.integer(bits));
        let mask = u64::MAX >> (64 - bits);
        [b.wrapping_mul(q).wrapping_add(random.bits() % 3).wrapping_sub(1) & mask, b, 0]
    }));
    pairs
}

/// Zeros, ones, ends of the normal and subnormal ranges, infinities and NaN, in both signs.
pub fn float_edges(format: Format) -> Vec<u64> {
    let (infinity, one) = (format.infinity(false), format.one());
    let normal = infinity & infinity.wrapping_neg();
    let positive = [
        0,
        1,
        2,
        normal - 1,
        normal,
        normal + 1,
        3 * normal,
        one - 1,
        one,
        one + 1,
        one + normal / 2,
        one + normal - 1,
        infinity - normal,
        infinity - 1,
        infinity,
        format.nan(),
        format.nan() ^ 1,
    ];
    positive.iter().flat_map(|&a| [a, a | format.sign_bit()]).collect()
}

/// A random float: any bits, a number near one, or few bits in the fraction.
pub fn float(random: &mut Random, format: Format) -> u64 {
    let bits = random.bits() & format.mask();
    let fraction = bits & format.fraction_mask();
    match random.bits() % 4 {
        0 => format.one() - ((random.bits() % 3) << format.fraction_bits()) + fraction,
        1 => bits & !(format.fraction_mask() >> (random.bits() % 12)),
        _ => bits,
    }
}

/// All pairs of edges with an edge in third place, and random triples.
pub fn float_triples(format: Format) -> Vec<[u64; 3]> {
    let edges = float_edges(format);
    let mut random = Random(u64::from(format.bits()));
    let mut triples = Vec::new();
    for &a in &edges {
        triples.extend(edges.iter().map(|&b| [a, b, edges[(random.bits() % edges.len() as u64) as usize]]));
    }
    triples.extend((0..random_cases()).map(|_| std::array::from_fn(|_| float(&mut random, format))));
    triples
}
