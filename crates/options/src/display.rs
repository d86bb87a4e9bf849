//! Bytes of an option text for display: never a control character, never a panic on invalid UTF-8.
//!
//! Not here: quoting, which `grammar` handles.

use core::fmt::{self, Display, Write};

/// Bytes to be displayed. ASCII control characters become `?`, and invalid UTF-8 becomes U+FFFD.
pub(crate) struct Shown<'a>(pub &'a [u8]);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(at) = rest.find(|character: char| character.is_ascii_control()) {
                out.write_str(&rest[..at])?;
                out.write_char('?')?;
                rest = &rest[at + 1..];
            }
            out.write_str(rest)?;
            if !chunk.invalid().is_empty() {
                out.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Shown;
    use std::string::ToString;

    #[test]
    fn shows_anything() {
        assert_eq!(Shown(b"HEAP").to_string(), "HEAP");
        assert_eq!(Shown(b"a\x1b[1m\n").to_string(), "a?[1m?");
        assert_eq!(Shown(b"caf\xc3\xa9 \xff!").to_string(), "caf\u{e9} \u{fffd}!");
    }
}
