//! Libraries as transmissions: a mainframe's unchanged, one of Underbar's with the members' bytes in blocks.
//!
//! Invariant: names are valid on a mainframe: at most eight characters, in capitals.
//! Not here: the format (`mainframe::xmit`).

use crate::directory;
use crate::ebcdic::CodePage;
use crate::library::{Library as Theirs, RecordFormat};
use crate::source::ReadError;
use crate::unload_write::{Member, Outgoing, Title};
use crate::xmit::{self, Envelope};
use std::io::Write;
use underbar_partitioned::name::Name;
use underbar_store::library::Library as Ours;

/// A library cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A member's name that is not valid on a mainframe.
    #[error("{0} cannot be a member's name on a mainframe: 1 to 8 letters, digits and national characters")]
    Name(String),
    /// Damaged members: a copy would not show the damage.
    #[error(transparent)]
    NotWhole(#[from] super::extract::NotWhole),
    /// The transmission.
    #[error(transparent)]
    Transmission(#[from] xmit::Fault),
    /// The store's error.
    #[error(transparent)]
    Store(#[from] underbar_store::Error),
}

/// Sends a mainframe's library unchanged.
///
/// # Errors
/// Damaged members; a PDSE, whose pages are not blocks; errors of reading or writing.
pub fn theirs(to: &mut dyn Write, envelope: &Envelope, library: &Theirs) -> Result<(), Fault> {
    super::extract::whole(library, &[])?;
    let (outgoing, ranges) = Outgoing::of(library).map_err(xmit::Fault::from)?;
    let read = |member: usize, block: usize| {
        let block = ranges.get(member).and_then(|range| library.blocks.get(range.start + block));
        block.map_or_else(|| Ok(Vec::new()), |block| library.read(block))
    };
    Ok(xmit::write(to, envelope, &outgoing, read)?)
}

/// Sends one of Underbar's libraries: RECFM=U, each member cut into blocks of the library's block size.
///
/// # Errors
/// Names that are not valid on a mainframe, damaged members, errors of writing.
pub fn ours(to: &mut dyn Write, envelope: &Envelope, library: &Ours) -> Result<(), Fault> {
    let block_size = library.label()?.block_size;
    let mut names = Vec::new();
    let mut members: Vec<Member> = Vec::new();
    for item in library.list(false)?.into_iter().filter(|item| item.alias_of.is_none()) {
        let name = Name::new(item.name.as_bytes()).map_err(|_| Fault::Name(item.name.clone()))?;
        let (whole, rest) = (item.size / u64::from(block_size), (item.size % u64::from(block_size)) as u32);
        let mut blocks = vec![block_size; whole as usize];
        blocks.extend((rest > 0).then_some(rest));
        let aliases = library.aliases(&name)?.into_iter().map(|(alias, ..)| title(&alias, envelope.page));
        members.push(Member {
            title: title(&name, envelope.page)?,
            aliases: aliases.collect::<Result<_, _>>()?,
            blocks,
            ..Member::default()
        });
        names.push(name);
    }
    let outgoing = Outgoing {
        record_format: RecordFormat(0xC0),
        record_length: 0,
        // At most 32,760.
        block_size: block_size as u16,
        members,
    };
    // One member is held at a time: blocks are requested in order.
    let mut held: Option<(usize, Vec<u8>)> = None;
    let read = |member: usize, block: usize| {
        if held.as_ref().is_none_or(|(of, _)| *of != member) {
            let found = library.member(&names[member]);
            let bytes = found
                .map_err(|error| ReadError::File { path: library.path().into(), message: error.to_string() })?
                .bytes;
            held = Some((member, bytes));
        }
        let bytes = held.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        Ok(bytes.chunks(block_size as usize).nth(block).unwrap_or(&[]).to_vec())
    };
    Ok(xmit::write(to, envelope, &outgoing, read)?)
}

fn title(name: &Name, page: CodePage) -> Result<Title, Fault> {
    let wrong = || Fault::Name(name.to_string());
    let text = name.as_str().to_ascii_uppercase();
    if !text.bytes().all(|one| one.is_ascii_alphanumeric() || b"$#@".contains(&one)) {
        return Err(wrong());
    }
    let name = directory::Name::from_text(&text, page).ok_or_else(wrong)?;
    Ok(Title { name, ..Title::default() })
}
