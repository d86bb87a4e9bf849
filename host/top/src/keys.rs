//! Keys, from the bytes that a terminal sends.
//!
//! Invariant: any bytes give keys; a sequence that is not known gives none.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Letter(char),
    /// Enter.
    Enter,
    /// Escape, or back.
    Back,
    /// An arrow up.
    Up,
    /// An arrow down.
    Down,
    /// An arrow to the left.
    Left,
    /// An arrow to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// The first row.
    Home,
    /// The last row.
    End,
    /// All is to be drawn anew.
    Redraw,
    /// Ctrl-C and Ctrl-Z, where the terminal sends no signal for them.
    Interrupt,
    /// See [`Key::Interrupt`].
    Suspend,
}

/// The keys of some bytes. A sequence that ends too early is an Escape.
#[must_use]
pub fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'\r' | b'\n' => keys.push(Key::Enter),
            0x7f | 0x08 => keys.push(Key::Back),
            0x03 => keys.push(Key::Interrupt),
            0x1a => keys.push(Key::Suspend),
            0x0c => keys.push(Key::Redraw),
            0x1b => {
                let Some((&b'[' | &b'O', sequence)) = rest.split_first() else {
                    keys.push(Key::Back);
                    continue;
                };
                let Some(end) = sequence.iter().position(|byte| (0x40..0x7f).contains(byte)) else {
                    keys.push(Key::Back);
                    break;
                };
                keys.extend(of_sequence(&sequence[..end], sequence[end]));
                rest = &sequence[end + 1..];
            }
            0x20..0x7f => keys.push(Key::Letter(char::from(first))),
            _ => {}
        }
    }
    keys
}

fn of_sequence(numbers: &[u8], last: u8) -> Option<Key> {
    Some(match (numbers, last) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'C') => Key::Right,
        (_, b'D') => Key::Left,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_terminals() {
        assert_eq!(
            keys(b"q\x1b[A\x1bOB\x1b[5~\x1b[1;5C\r\x1b"),
            [Key::Letter('q'), Key::Up, Key::Down, Key::PageUp, Key::Right, Key::Enter, Key::Back]
        );
        assert_eq!(keys(b"\x1b[200~x\xff\x1b["), [Key::Letter('x'), Key::Back]);
        assert_eq!(keys("é\x03".as_bytes()), [Key::Interrupt]);
        for byte in 0..=u8::MAX {
            let _ = keys(&[0x1b, b'[', byte]);
            assert!(keys(&[byte]).len() <= 1);
        }
    }
}
