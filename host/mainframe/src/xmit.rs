//! Writes a transmission (XMIT) of a library, for RECEIVE and for tools that read such files.
//!
//! ```text
//! INMR01 | INMR02 IEBCOPY | INMR02 INMCOPY | INMR03 | records of the unload | INMR06 | filled up to 80 bytes
//! ```
//!
//! Invariant: `netdata` reads it back with the same records; the same input gives the same bytes, as the time is given.
//! Not here: the unload itself (`unload_write`).

use super::directory::Name;
use super::ebcdic::CodePage;
use super::source::ReadError;
use super::unit::{Key, TextUnit};
use super::unload_write::{self, Outgoing};
use std::io::Write;

/// Sender and receiver.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Node and user of the sender, each of at most eight characters.
    pub from: (String, String),
    /// Node and user of the receiver.
    pub to: (String, String),
    /// When: `yyyymmddhhmmss`.
    pub time: String,
    /// Name of the data set, qualifiers with dots between.
    pub data_set: String,
    /// The page for names.
    pub page: CodePage,
}

/// A transmission cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A name that is not valid on a mainframe.
    #[error("{text:?} is no {what}: {rule}")]
    Name {
        /// The given name.
        text: String,
        /// What it should be.
        what: &'static str,
        /// The rule for such names.
        rule: &'static str,
    },
    /// The unload of the library.
    #[error(transparent)]
    Unload(#[from] unload_write::Fault),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] std::io::Error),
}

/// Bytes of data in a segment: its length is one byte and includes two more.
const SEGMENT: usize = 253;

/// Writes the transmission; `read` returns the bytes of a member's block, by its numbers.
///
/// # Errors
/// Invalid names, errors of the unload, and the system's errors in writing.
pub fn write(
    to: &mut dyn Write,
    envelope: &Envelope,
    outgoing: &Outgoing,
    read: impl FnMut(usize, usize) -> Result<Vec<u8>, ReadError>,
) -> Result<(), Fault> {
    let page = envelope.page;
    let mut stream = Stream { to, written: 0 };
    let (length, size) = outgoing.container();
    let data: u64 =
        outgoing.members.iter().flat_map(|member| &member.blocks).map(|length| u64::from(*length)).sum();
    // Four bytes, as in other writers.
    let data = TextUnit::of_number(Key::Inmsize, data.min(u32::MAX.into()), 4);
    let (names, text) = (names(envelope)?, |name: &Name| name.text(page));
    stream.control(1, None, &names.0)?;
    let directory = unload_write::place(outgoing, text)?.directory.len() as u64;
    let library = [
        utility("IEBCOPY", page),
        data.clone(),
        TextUnit::of_number(Key::Inmdsorg, 0x0200, 2),
        TextUnit::of_number(Key::Inmtype, if outgoing.record_format.undefined() { 0x40 } else { 0x80 }, 1),
        TextUnit::of_number(Key::Inmlrecl, outgoing.record_length.into(), 4),
        TextUnit::of_number(Key::Inmblksz, outgoing.block_size.into(), 4),
        TextUnit::of_number(Key::Inmrecfm, u64::from(outgoing.record_format.0) << 8, 2),
        TextUnit::of_number(Key::Inmdir, directory, 3),
        names.1,
    ];
    stream.control(2, Some(1), &library)?;
    let unload = [
        utility("INMCOPY", page),
        data.clone(),
        TextUnit::of_number(Key::Inmdsorg, 0x4000, 2),
        TextUnit::of_number(Key::Inmlrecl, length.into(), 4),
        TextUnit::of_number(Key::Inmblksz, size.into(), 4),
        TextUnit::of_number(Key::Inmrecfm, 0x4802, 2),
    ];
    stream.control(2, Some(1), &unload)?;
    let carried = [
        data,
        TextUnit::of_number(Key::Inmdsorg, 0x4000, 2),
        TextUnit::of_number(Key::Inmlrecl, 80, 2),
        TextUnit::of_number(Key::Inmrecfm, 0x0001, 2),
    ];
    stream.control(3, None, &carried)?;
    unload_write::write(outgoing, text, read, |record| stream.record(0, record))?;
    stream.control(6, None, &[])?;
    stream.fill()?;
    Ok(())
}

fn utility(name: &str, page: CodePage) -> TextUnit {
    // Capital letters are in every page.
    TextUnit::new(Key::Inmutiln, vec![page.encode(name).unwrap_or_default()])
}

/// The units of INMR01, and the one that names the data set.
fn names(envelope: &Envelope) -> Result<(Vec<TextUnit>, TextUnit), Fault> {
    let page = envelope.page;
    let short = |key, text: &str, what| {
        let rule = "1 to 8 letters, digits and national characters";
        let value = page.encode(text).filter(|bytes| (1..=8).contains(&bytes.len()));
        let value = value.ok_or(Fault::Name { text: text.to_owned(), what, rule })?;
        Ok::<TextUnit, Fault>(TextUnit::new(key, vec![value]))
    };
    let qualifiers: Option<Vec<Vec<u8>>> = envelope
        .data_set
        .split('.')
        .map(|part| page.encode(part).filter(|bytes| (1..=8).contains(&bytes.len())))
        .collect();
    let name = qualifiers.filter(|_| envelope.data_set.len() <= 44).ok_or_else(|| Fault::Name {
        text: envelope.data_set.clone(),
        what: "name of a data set",
        rule: "qualifiers of 1 to 8 characters with dots between, 44 characters in all",
    })?;
    let time =
        page.encode(&envelope.time).filter(|time| time.iter().all(|byte| (0xF0..=0xF9).contains(byte)));
    let time = time.ok_or_else(|| Fault::Name {
        text: envelope.time.clone(),
        what: "time",
        rule: "digits: yyyymmddhhmmss",
    })?;
    let units = vec![
        TextUnit::of_number(Key::Inmlrecl, 80, 1),
        short(Key::Inmfnode, &envelope.from.0, "node")?,
        short(Key::Inmfuid, &envelope.from.1, "user")?,
        short(Key::Inmtnode, &envelope.to.0, "node")?,
        short(Key::Inmtuid, &envelope.to.1, "user")?,
        TextUnit::new(Key::Inmftime, vec![time]),
        TextUnit::of_number(Key::Inmnumf, 1, 1),
    ];
    Ok((units, TextUnit::new(Key::Inmdsnam, name)))
}

/// Segments to any writer.
struct Stream<'a> {
    to: &'a mut dyn Write,
    written: u64,
}

impl Stream<'_> {
    fn control(&mut self, record: u8, number: Option<u32>, units: &[TextUnit]) -> std::io::Result<()> {
        let mut bytes = vec![0xC9, 0xD5, 0xD4, 0xD9, 0xF0, 0xF0 + record];
        bytes.extend(number.iter().flat_map(|number| number.to_be_bytes()));
        // Every unit written here has few and short values.
        units.iter().for_each(|unit| unit.write(&mut bytes).unwrap_or_default());
        self.record(0x20, &bytes)
    }

    fn record(&mut self, flags: u8, bytes: &[u8]) -> std::io::Result<()> {
        let count = bytes.len().div_ceil(SEGMENT).max(1);
        for index in 0..count {
            let part = &bytes[index * SEGMENT..bytes.len().min((index + 1) * SEGMENT)];
            let first = if index == 0 { 0x80 } else { 0 };
            let last = if index + 1 == count { 0x40 } else { 0 };
            // At most 255.
            self.put(&[part.len() as u8 + 2, flags | first | last])?;
            self.put(part)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.written += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    /// Fills the last card with zeros: blanks could be taken for segments.
    fn fill(&mut self) -> std::io::Result<()> {
        let rest = self.written.next_multiple_of(80) - self.written;
        self.put(&[0; 80][..rest as usize])
    }
}
