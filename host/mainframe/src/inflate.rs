//! Inflates the compressed data of tapes and disks, up to a known limit.
//!
//! Invariant: the result is at most `most` bytes, and no more than that is ever allocated for it.
//! Not here: AMATERSE, which is no general compressor (`terse`).

use std::io::Read;

/// The storage form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Not compressed.
    Plain,
    /// zlib (RFC 1950).
    Zlib,
    /// bzip2.
    Bzip2,
}

/// It does not inflate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Larger than possible: malicious, or another format.
    #[error("inflates to more than {most} bytes")]
    TooLong {
        /// The limit.
        most: usize,
    },
    /// The compressed data is damaged or cut.
    #[error("{method:?}: {message}")]
    Damaged {
        /// Its stated compression.
        method: Method,
        /// The decoder's message.
        message: String,
    },
}

/// The uncompressed bytes.
///
/// # Errors
/// If they are damaged, or more than `most`.
pub fn inflate(method: Method, bytes: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    let found = match method {
        Method::Plain => bytes.to_vec(),
        Method::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(bytes, most).map_err(
            |error| match error.status {
                miniz_oxide::inflate::TINFLStatus::HasMoreOutput => Fault::TooLong { most },
                status => Fault::Damaged { method, message: format!("{status:?}") },
            },
        )?,
        Method::Bzip2 => {
            let mut found = Vec::new();
            bzip2::read::BzDecoder::new(bytes)
                .take(most as u64 + 1)
                .read_to_end(&mut found)
                .map_err(|error| Fault::Damaged { method, message: error.to_string() })?;
            found
        }
    };
    if found.len() > most { Err(Fault::TooLong { most }) } else { Ok(found) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    pub(crate) fn deflate(method: Method, bytes: &[u8]) -> Vec<u8> {
        match method {
            Method::Plain => bytes.to_vec(),
            Method::Zlib => miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6),
            Method::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    #[test]
    fn what_was_deflated_comes_back_and_no_more_than_allowed() {
        let data: Vec<u8> = (0..60_000_u32).map(|index| ((index * index) >> 7) as u8).collect();
        for method in [Method::Plain, Method::Zlib, Method::Bzip2] {
            let packed = deflate(method, &data);
            assert_eq!(inflate(method, &packed, data.len()).as_ref(), Ok(&data), "{method:?}");
            let short = inflate(method, &packed, data.len() - 1);
            assert_eq!(short, Err(Fault::TooLong { most: data.len() - 1 }), "{method:?}");
        }
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let zeros = vec![0; 5_000_000];
        for method in [Method::Zlib, Method::Bzip2] {
            let packed = deflate(method, &zeros);
            assert!(packed.len() < 10_000);
            assert_eq!(inflate(method, &packed, 65_535), Err(Fault::TooLong { most: 65_535 }));
        }
    }

    #[test]
    fn damage_is_named() {
        for method in [Method::Zlib, Method::Bzip2] {
            let packed = deflate(method, b"a short text, a short text, a short text");
            for end in 0..packed.len() - 4 {
                assert!(
                    inflate(method, &packed[..end], 1000).is_err() || method == Method::Bzip2 && end == 0,
                    "{method:?} {end}"
                );
            }
        }
    }
}
