use super::*;

const FLOATS: TexelFormat = TexelFormat { channel: Channel::Single, count: 1, normalized: false };

fn sampler(linear: bool, normalized: bool, address: Address) -> Sampler {
    let levels = [0, u32::MAX];
    Sampler { address: [address; 3], linear, mixes_levels: true, normalized, levels }
}

fn line(width: u32) -> Image {
    Image { kind: Kind::Line, size: [width, 1, 1], layers: None, levels: 1 }
}

fn at(x: f64, y: f64) -> Request {
    Request { face: 0, place: [x, y, 0.0], offset: [0; 3], level: 0.0 }
}

/// The first component of a read of an image whose texels are the squares of their numbers.
fn first(image: &Image, sampler: &Sampler, request: &Request) -> f32 {
    let mut read = |place| {
        let number = image.index(place) as f32;
        Ok::<_, ()>([(number * number).to_bits(), 0, 0, 0])
    };
    f32::from_bits(sample(image, sampler, request, &mut read).unwrap()[0])
}

#[test]
fn the_nearest_texel_is_at_the_floor() {
    let image = line(4);
    for (place, number) in [(0.0, 0.0), (0.99, 0.0), (1.0, 1.0), (3.5, 9.0), (4.0, 9.0), (-0.1, 0.0)] {
        assert_eq!(first(&image, &sampler(false, false, Address::Clamp), &at(place, 0.0)), number, "{place}");
    }
    for (place, number) in [(0.25, 1.0), (1.25, 1.0), (-0.25, 9.0)] {
        assert_eq!(first(&image, &sampler(false, true, Address::Wrap), &at(place, 0.0)), number, "{place}");
    }
    for (place, number) in [(1.0, 9.0), (1.25, 4.0), (-0.1, 0.0), (-0.3, 1.0)] {
        assert_eq!(first(&image, &sampler(false, true, Address::Mirror), &at(place, 0.0)), number, "{place}");
    }
    for (place, number) in [(-0.01, 0.0), (3.0, 9.0), (4.0, 0.0)] {
        assert_eq!(
            first(&image, &sampler(false, false, Address::Border), &at(place, 0.0)),
            number,
            "{place}"
        );
    }
}

#[test]
fn repeated_textures_need_normalized_coordinates() {
    assert_eq!(sampler(false, false, Address::Wrap).address(0), Address::Clamp);
    assert_eq!(sampler(false, true, Address::Wrap).address(0), Address::Wrap);
}

#[test]
fn a_linear_filter_has_eight_fraction_bits() {
    let image = line(4);
    let linear = sampler(true, false, Address::Clamp);
    // Between texels 1 and 2, which are 1 and 4: x - 0.5 = 1 + f.
    for (fraction, weight) in [(0.0, 0.0), (0.5, 128.0), (1.0 / 256.0, 1.0), (0.001, 0.0), (0.999, 256.0)] {
        let expected = 1.0 + 3.0 * (weight / 256.0) as f32;
        assert_eq!(first(&image, &linear, &at(1.5 + fraction, 0.0)), expected, "{fraction}");
    }
    // The border mixes with the first texel.
    let plane = Image { kind: Kind::Plane, size: [2, 2, 1], ..image };
    assert_eq!(first(&plane, &linear, &at(1.0, 1.0)), (0.0 + 1.0 + 4.0 + 9.0) / 4.0);
    let border = sampler(true, false, Address::Border);
    assert_eq!(first(&plane, &border, &at(2.0, 2.0)), 9.0 / 4.0);
}

#[test]
fn levels_follow_each_other_and_mix() {
    let image = Image { kind: Kind::Line, size: [4, 1, 1], layers: None, levels: 3 };
    assert_eq!(image.texels(), Some(7));
    let nearest = Sampler { mixes_levels: false, ..sampler(false, true, Address::Clamp) };
    let level = |sampler: &Sampler, level| first(&image, sampler, &Request { level, ..at(0.0, 0.0) });
    for (given, texel) in [(-32.0, 0.0), (0.4, 0.0), (0.6, 16.0), (2.0, 36.0), (9.0, 36.0)] {
        assert_eq!(level(&nearest, given), texel, "{given}");
    }
    let mixed = sampler(false, true, Address::Clamp);
    assert_eq!(level(&mixed, 0.5), 8.0);
    assert_eq!(level(&mixed, 1.25), 16.0 + 20.0 * 0.25);
    let limited = Sampler { levels: [256, 256], ..mixed };
    assert_eq!([level(&limited, -32.0), level(&limited, 2.0)], [16.0, 16.0]);
}

#[test]
fn derivatives_give_the_level() {
    let image = Image { kind: Kind::Plane, size: [64, 64, 1], layers: None, levels: 7 };
    let sampler = sampler(true, true, Address::Wrap);
    for (change, level) in
        [(1.0 / 64.0, 0.0), (1.0 / 16.0, 2.0), (1.0 / 128.0, -1.0), (0.75 / 16.0, 1.5849625)]
    {
        let gradient = [[change as f32, 0.0], [0.0, (change / 2.0) as f32]];
        let found = gradient_level(&image, &sampler, &gradient);
        assert!((found - level).abs() < 1.0 / 128.0, "{found} {level}");
    }
}

#[test]
fn a_gather_is_counter_clockwise_from_the_lower_left() {
    let image = Image { kind: Kind::Plane, size: [4, 4, 1], layers: None, levels: 1 };
    let mut read = |place| Ok::<_, ()>([0, image.index(place) as u32, 0, 0]);
    let sampler = sampler(false, false, Address::Clamp);
    assert_eq!(gather(&image, &sampler, &at(2.0, 1.0), 1, &mut read), Ok([5, 6, 2, 1]));
    let offset = Request { offset: [1, -2, 0], ..at(2.0, 1.0) };
    assert_eq!(gather(&image, &sampler, &offset, 1, &mut read), Ok([2, 3, 3, 2]));
}

#[test]
fn directions_have_faces() {
    for (direction, face, place) in [
        ([1.0, 0.0, 0.0], 0, [0.5, 0.5]),
        ([-1.0, 0.0, 0.5], 1, [0.75, 0.5]),
        ([0.0, 2.0, 1.0], 2, [0.5, 0.75]),
        ([0.5, -1.0, 0.0], 3, [0.75, 0.5]),
        ([0.0, 0.5, 1.0], 4, [0.5, 0.25]),
        ([0.5, 0.0, -1.0], 5, [0.25, 0.5]),
    ] {
        assert_eq!(face_of(direction), (face, place), "{direction:?}");
    }
    assert_eq!(face_of([f32::NAN; 3]).0, 0);
}

#[test]
fn formats_convert_both_ways() {
    let one = 1.0f32.to_bits();
    let bytes = TexelFormat { channel: Channel::Unsigned(8), count: 4, normalized: true };
    assert_eq!(bytes.read(&[0, 255, 51, 128]).map(f32::from_bits), [0.0, 1.0, 0.2, 128.0 / 255.0]);
    let signed = TexelFormat { channel: Channel::Signed(8), count: 2, normalized: true };
    assert_eq!(signed.read(&[0x80, 0x7f]).map(f32::from_bits), [-1.0, 1.0, 0.0, 1.0]);
    let whole = TexelFormat { normalized: false, ..signed };
    assert_eq!(whole.read(&[0x80, 0x7f]), [-128i32 as u32, 127, 0, 1]);
    let half = TexelFormat { channel: Channel::Half, count: 1, normalized: false };
    assert_eq!(half.read(&[0x00, 0x3c]), [one, 0, 0, one]);
    assert_eq!(FLOATS.read(&2.5f32.to_le_bytes())[0], 2.5f32.to_bits());
    let mut out = [0; 4];
    bytes.write(&[0.5f32, 2.0, -1.0, f32::NAN].map(f32::to_bits), &mut out);
    assert_eq!(out, [128, 255, 0, 0]);
    let mut out = [0; 2];
    whole.write(&[1000, -1000i32 as u32], &mut out);
    assert_eq!(out, [127, 0x80]);
}
