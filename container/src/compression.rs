//! Decompresses entries of a fatbin.
//!
//! fatbinary compresses with zstd (`--compress-mode=size`, and `balance`, the default since toolkit
//! 13) or with bare blocks of LZ4 (`speed`, and every earlier toolkit). The header of an entry
//! gives the decompressed size. More bytes or fewer bytes are an error, and memory grows with the
//! actual output, not with the size in the header.

use std::io::Read;

use crate::error::ContainerError;
use crate::image::MAX_IMAGE;

/// The compression of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Lz4,
    Zstd,
}

/// The greatest number of bytes that one byte of an LZ4 block expands to.
const LZ4_RATIO: u64 = 255;

/// Decompresses `packed`, which must give exactly `size` bytes.
pub(crate) fn unpack(packed: &[u8], compression: Compression, size: u64) -> Result<Vec<u8>, ContainerError> {
    let packed_size = packed.len() as u64;
    if size > MAX_IMAGE {
        return Err(ContainerError::TooLarge(size));
    }
    let most = packed_size.saturating_mul(LZ4_RATIO);
    if compression == Compression::Lz4 && size > most {
        return Err(ContainerError::Expands(size, most));
    }
    let failed = |why: String| ContainerError::Compression(why);
    let unpacked = match compression {
        Compression::Lz4 => {
            lz4_flex::block::decompress(packed, size as usize).map_err(|error| failed(error.to_string()))?
        }
        _ => {
            let frame =
                ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| failed(error.to_string()))?;
            let mut unpacked = Vec::new();
            let read = frame.take(size.saturating_add(1)).read_to_end(&mut unpacked);
            read.map_err(|error| failed(error.to_string()))?;
            unpacked
        }
    };
    if unpacked.len() as u64 != size {
        return Err(failed(format!("they become {} bytes, not {size}", unpacked.len())));
    }
    Ok(unpacked)
}
