//! A stream that gzip packed, unpacked piece by piece (RFC 1952).
//!
//! ```text
//! header ── body, inflated ── checksum, length ── the next member, or the end
//! ```
//!
//! Invariant: memory does not grow with the stream, and damaged or cut data is an error, never an early end.
//! Not here: other packers; the caller names them.

use std::io::{self, BufRead, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

/// The first bytes of a stream that gzip packed.
pub const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The unpacked bytes of a stream.
pub struct Gzip<R> {
    packed: R,
    /// The state of the member; None between two members.
    member: Option<Member>,
}

struct Member {
    state: Box<InflateState>,
    checksum: u32,
    length: u32,
}

impl<R: BufRead> Gzip<R> {
    /// Unpacks a stream.
    pub fn new(packed: R) -> Self {
        Self { packed, member: None }
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.packed.read_exact(&mut bytes).map_err(|_| damaged())?;
        Ok(bytes)
    }

    /// Reads the header of a member.
    fn header(&mut self) -> io::Result<()> {
        const EXTRA: u8 = 4;
        const NAME: u8 = 8;
        const COMMENT: u8 = 16;
        const CHECKSUM: u8 = 2;
        let [first, second, method, flags, ..] = self.bytes::<10>()?;
        if [first, second] != MAGIC || method != 8 {
            return Err(damaged());
        }
        if flags & EXTRA != 0 {
            let length = u64::from(u16::from_le_bytes(self.bytes()?));
            if io::copy(&mut self.packed.by_ref().take(length), &mut io::sink())? != length {
                return Err(damaged());
            }
        }
        for text in [NAME, COMMENT] {
            if flags & text != 0 {
                while self.bytes::<1>()? != [0] {}
            }
        }
        if flags & CHECKSUM != 0 {
            self.bytes::<2>()?;
        }
        let state = InflateState::new_boxed(DataFormat::Raw);
        self.member = Some(Member { state, checksum: !0, length: 0 });
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else {
                if self.packed.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.header()?;
                continue;
            };
            let some = self.packed.fill_buf()?;
            let is_over = some.is_empty();
            let step = inflate(&mut member.state, some, into, MZFlush::None);
            self.packed.consume(step.bytes_consumed);
            let found = &into[..step.bytes_written];
            member.checksum = crc32(member.checksum, found);
            member.length = member.length.wrapping_add(u32::try_from(found.len()).unwrap_or(0));
            match step.status {
                Ok(MZStatus::StreamEnd) => {
                    let (checksum, length) = (!member.checksum, member.length);
                    self.member = None;
                    let expect = [self.bytes()?, self.bytes()?].map(u32::from_le_bytes);
                    if expect != [checksum, length] {
                        return Err(damaged());
                    }
                }
                Ok(_) if step.bytes_written > 0 || !is_over && step.bytes_consumed > 0 => {}
                _ => return Err(damaged()),
            }
            if step.bytes_written > 0 || into.is_empty() {
                return Ok(step.bytes_written);
            }
        }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "packed by gzip, and damaged or cut here")
}

/// The checksum of gzip, bit by bit: half of the time that inflating takes.
fn crc32(checksum: u32, bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut word = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                word = if word & 1 == 1 { 0xedb8_8320 ^ word >> 1 } else { word >> 1 };
                bit += 1;
            }
            table[byte] = word;
            byte += 1;
        }
        table
    };
    bytes.iter().fold(checksum, |sum, byte| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ sum >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut all = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
        all.extend_from_slice(b"name\0");
        all.extend(miniz_oxide::deflate::compress_to_vec(bytes, 6));
        all.extend((!crc32(!0, bytes)).to_le_bytes());
        all.extend(u32::try_from(bytes.len()).expect("small").to_le_bytes());
        all
    }

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        // Pieces of a few bytes, so that each state meets a border.
        Gzip::new(io::BufReader::with_capacity(7, bytes)).read_to_end(&mut found).map(|_| found)
    }

    #[test]
    fn members_one_after_the_other_are_one_stream() {
        assert_eq!(crc32(!0, b"123456789"), !0xcbf4_3926);
        let text: Vec<u8> = (0..90_000_u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
        let mut all = packed(&text);
        all.extend(packed(b""));
        all.extend(packed(b"more"));
        assert_eq!(unpacked(&all).expect("whole"), [&text[..], b"more"].concat());
        assert_eq!(unpacked(b"").expect("empty"), b"");
    }

    #[test]
    fn damage_and_cuts_are_errors() {
        let whole = packed(b"a short text, a short text, a short text");
        for length in 1..whole.len() {
            assert!(unpacked(&whole[..length]).is_err(), "{length}");
        }
        for at in [0, 1, 2, whole.len() - 1, whole.len() - 8] {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            assert!(unpacked(&bad).is_err(), "{at}");
        }
    }
}
