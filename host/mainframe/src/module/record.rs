//! Kinds of records of a load module, their lengths, and their borders in glued bytes.
//!
//! Invariant: a border is within the bytes, and each record has the length in its own header,
//! or in the control record before it.
//! Not here: the content of a record (`super::Reader`).

use super::super::bytes::{be16, be24, be32, flag};
use serde::Serialize;
use std::ops::Range;

/// Kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Symbols for TESTRAN and TSO TEST.
    Sym,
    /// Composite external symbol dictionary.
    Cesd,
    /// Identification.
    Idr,
    /// Scatter and translation tables.
    Scatter,
    /// Control, relocation, or both.
    Control,
    /// Text.
    Text,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            Kind::Sym => "SYM",
            Kind::Cesd => "CESD",
            Kind::Idr => "IDR",
            Kind::Scatter => "scatter",
            Kind::Control => "control",
            Kind::Text => "text",
        })
    }
}

/// The kind of a block by its first byte; text is recognised by the record before it.
pub(crate) fn kind(byte: u8) -> Option<Kind> {
    match byte {
        0x40 => Some(Kind::Sym),
        0x20 | 0x28 => Some(Kind::Cesd),
        0x80 => Some(Kind::Idr),
        0x10 => Some(Kind::Scatter),
        0x01..=0x0F => Some(Kind::Control),
        _ => None,
    }
}

/// Bytes of a record by its own header; None if the header is cut.
pub(super) fn length(kind: Kind, bytes: &[u8]) -> Option<usize> {
    Some(match kind {
        Kind::Sym => 4 + usize::from(be16(bytes, 2)?),
        Kind::Cesd => 8 + usize::from(be16(bytes, 6)?),
        Kind::Idr => 1 + usize::from(*bytes.get(1)?),
        Kind::Scatter => 4 + be24(bytes, 1)? as usize,
        Kind::Control => {
            be32(bytes, 12)?;
            16 + usize::from(be16(bytes, 4)?) + usize::from(be16(bytes, 6)?)
        }
        Kind::Text => bytes.len(),
    })
}

/// The borders of a module's records in its glued bytes, as far as they can be found; the rest is the second value.
#[must_use]
pub fn borders(bytes: &[u8]) -> (Vec<Range<usize>>, Range<usize>) {
    let (found, at, _) = split(bytes);
    (found, at..bytes.len())
}

/// Records, the end of the last one, and whether a control record marked the end of the module.
fn split(bytes: &[u8]) -> (Vec<Range<usize>>, usize, bool) {
    let (mut found, mut at, mut ended) = (Vec::new(), 0, false);
    while !ended {
        let rest = &bytes[at..];
        let Some(kind) = kind(flag(rest, 0)) else { break };
        let Some(length) = length(kind, rest).filter(|length| *length <= rest.len()) else { break };
        found.push(at..at + length);
        at += length;
        if kind == Kind::Control {
            let flags = flag(rest, 0);
            if flags & 0x01 != 0 {
                let text = usize::from(be16(rest, 14).unwrap_or(0));
                if text > bytes.len() - at {
                    return (found, at, false);
                }
                found.push(at..at + text);
                at += text;
            }
            ended = flags & 0x08 != 0;
        }
    }
    (found, at, ended)
}

/// Whether glued bytes are a load module: their records fill them to the last byte.
#[must_use]
pub fn is_module(bytes: &[u8]) -> bool {
    let (found, at, ended) = split(bytes);
    ended && at == bytes.len() && found.len() >= 3 && matches!(flag(bytes, 0), 0x20 | 0x28 | 0x40)
}
