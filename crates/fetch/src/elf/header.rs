//! The first 64 bytes of an ELF file.
//!
//! Invariant: a [`Header`] is that of a file for x86-64, a shared object or an executable, and its program headers are within
//! the file.
//! Not here: the program headers themselves (`layout`).

use super::Damage;

/// Bytes of the header.
pub(super) const HEADER: usize = 64;
/// Bytes of a program header.
pub(super) const PROGRAM_HEADER: usize = 56;
/// Maximum number of program headers; the largest known real file has some 20.
const MOST_PROGRAM_HEADERS: u16 = 256;

const X86_64: u16 = 62;
const EXECUTABLE: u16 = 2;
const SHARED: u16 = 3;

/// The relevant fields of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Made to run at fixed addresses, not as a shared object.
    pub is_fixed: bool,
    /// The entry point of a process; 0 in most shared objects. Not checked.
    pub entry: u64,
    /// Offset of the program headers in the file.
    pub offset: u64,
    /// Their number, 1 to 256.
    pub count: u16,
}

impl Header {
    /// Reads the first bytes of a file that is `length` bytes long.
    ///
    /// # Errors
    /// The damage of the header.
    pub fn read(bytes: &[u8], length: u64) -> Result<Header, Damage> {
        let bytes: &[u8; HEADER] = bytes.first_chunk().ok_or(Damage::NoHeader)?;
        if bytes[..4] != *b"\x7fELF" {
            return Err(Damage::NotElf);
        }
        if bytes[4] != 2 || bytes[5] != 1 || bytes[6] != 1 {
            return Err(Damage::Class);
        }
        let machine = half(bytes, 18);
        if machine != X86_64 {
            return Err(Damage::OtherMachine(machine));
        }
        let kind = half(bytes, 16);
        if kind != SHARED && kind != EXECUTABLE {
            return Err(Damage::Kind(kind));
        }
        let (offset, size, count) = (giant(bytes, 32), half(bytes, 54), half(bytes, 56));
        let end = offset.checked_add(u64::from(count) * PROGRAM_HEADER as u64);
        if usize::from(size) != PROGRAM_HEADER
            || !(1..=MOST_PROGRAM_HEADERS).contains(&count)
            || end.is_none_or(|end| end > length)
        {
            return Err(Damage::ProgramHeaders);
        }
        Ok(Header { is_fixed: kind == EXECUTABLE, entry: giant(bytes, 24), offset, count })
    }

    /// Bytes of all program headers: at most 14,336.
    #[must_use]
    pub fn size(&self) -> usize {
        usize::from(self.count) * PROGRAM_HEADER
    }
}

/// Two bytes; 0 if they are missing, which no caller allows.
pub(super) fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// Four bytes, like [`half`].
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Eight bytes, like [`half`].
pub(super) fn giant(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16] = 3;
        bytes[18] = 62;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 2;
        bytes
    }

    #[test]
    fn each_field_that_is_wrong_is_named() {
        let read = |change: &dyn Fn(&mut [u8; HEADER])| {
            let mut bytes = good();
            change(&mut bytes);
            Header::read(&bytes, 64 + 2 * 56)
        };
        assert_eq!(read(&|_| ()), Ok(Header { is_fixed: false, entry: 0, offset: 64, count: 2 }));
        assert_eq!(read(&|bytes| bytes[0] = 0), Err(Damage::NotElf));
        assert_eq!(read(&|bytes| bytes[4] = 1), Err(Damage::Class));
        assert_eq!(read(&|bytes| bytes[18] = 183), Err(Damage::OtherMachine(183)));
        assert_eq!(read(&|bytes| bytes[16] = 4), Err(Damage::Kind(4)));
        assert_eq!(read(&|bytes| bytes[56] = 3), Err(Damage::ProgramHeaders));
        assert_eq!(read(&|bytes| bytes[56] = 0), Err(Damage::ProgramHeaders));
        assert_eq!(read(&|bytes| bytes[32..40].fill(255)), Err(Damage::ProgramHeaders));
        assert_eq!(Header::read(&good()[..63], 1000), Err(Damage::NoHeader));
    }
}
