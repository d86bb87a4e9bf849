//! The file name of MSGFILE, with `%p`, `%e` and `%h` for process id, program and host.
//!
//! Invariant: a program's or host's name cannot move the file into another folder: its slashes become `_`.

/// A file name in the form of the option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileName<'a>(pub &'a [u8]);

impl FileName<'_> {
    /// Writes the name with all placeholders replaced into `room`, and returns it; none if `room` is too small. Allocates
    /// nothing and makes no calls: the caller passes all values.
    pub fn fill_in<'r>(
        &self,
        process: u32,
        program: &[u8],
        host: &[u8],
        room: &'r mut [u8],
    ) -> Option<&'r [u8]> {
        let mut used = 0;
        let mut push = |byte: u8| {
            *room.get_mut(used)? = byte;
            used += 1;
            Some(())
        };
        let mut pattern = self.0.iter().copied();
        while let Some(byte) = pattern.next() {
            if byte != b'%' {
                push(byte)?;
                continue;
            }
            match pattern.next() {
                Some(b'p') => {
                    let mut divisor = 1_000_000_000;
                    while divisor > 1 && process < divisor {
                        divisor /= 10;
                    }
                    while divisor > 0 {
                        push(b'0' + (process / divisor % 10) as u8)?;
                        divisor /= 10;
                    }
                }
                Some(letter @ (b'e' | b'h')) => {
                    for &byte in if letter == b'e' { program } else { host } {
                        push(if byte == b'/' { b'_' } else { byte })?;
                    }
                }
                // The options accept no other letter; %% is a percent sign.
                other => push(other.unwrap_or(b'%'))?,
            }
        }
        Some(&room[..used])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, process: u32, expect: Option<&str>) {
        let mut room = [0; 24];
        let name = FileName(pattern.as_bytes()).fill_in(process, b"../cc1", b"ant", &mut room);
        assert_eq!(name, expect.map(str::as_bytes), "{pattern}");
    }

    #[test]
    fn everything_is_filled_in() {
        check("plain", 1, Some("plain"));
        check("/tmp/%e.%p.%h", 4_294_967_295, None);
        check("/t/%e.%p.%h", 42, Some("/t/.._cc1.42.ant"));
        check("%p", 0, Some("0"));
        check("%p", 4_294_967_295, Some("4294967295"));
        check("%p", 1000, Some("1000"));
        check("100%%", 1, Some("100%"));
    }
}
