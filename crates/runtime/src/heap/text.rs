//! A text on the stack, for the few messages of the heap: the output of `malloc_stats`, and why a program was ended.
//!
//! Invariant: no storage is asked for; text that does not fit is cut.
//! Not here: the wording of the messages.

/// The text so far.
pub(super) struct Text {
    bytes: [u8; 1024],
    length: usize,
}

impl Text {
    pub(super) fn new() -> Self {
        Self { bytes: [0; 1024], length: 0 }
    }

    pub(super) fn put(&mut self, part: &str) -> &mut Self {
        self.put_bytes(part.as_bytes())
    }

    /// One byte stays free: a C string ends with a zero.
    pub(super) fn put_bytes(&mut self, part: &[u8]) -> &mut Self {
        let room = self.bytes.len() - 1 - self.length;
        let part = &part[..part.len().min(room)];
        self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
        self
    }

    /// A number, with spaces before it up to `width`.
    pub(super) fn number(&mut self, number: u64, width: usize) -> &mut Self {
        self.digits(number, 10, width)
    }

    /// An address.
    pub(super) fn address(&mut self, address: usize) -> &mut Self {
        self.put("0x").digits(address as u64, 16, 0)
    }

    fn digits(&mut self, mut number: u64, base: u64, width: usize) -> &mut Self {
        let mut digits = [b' '; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(number % base) as usize];
            number /= base;
            if number == 0 {
                break;
            }
        }
        let from = at.min(digits.len() - width);
        self.put_bytes(&digits[from..])
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The same, with a zero behind it.
    pub(super) fn as_c(&self) -> &[u8] {
        &self.bytes[..=self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_right_aligned_and_never_cut() {
        let mut text = Text::new();
        text.number(0, 10).put("|").number(7, 0).put("|").number(u64::MAX, 10);
        assert_eq!(text.as_bytes(), b"         0|7|18446744073709551615");
        let mut text = Text::new();
        text.address(0x7f00_1234_abcd).put(" ").address(usize::MAX);
        assert_eq!(text.as_bytes(), b"0x7f001234abcd 0xffffffffffffffff");
        for _ in 0..1024 {
            text.put("ab");
        }
        assert_eq!((text.as_bytes().len(), text.as_c().last()), (1023, Some(&0)));
    }
}
