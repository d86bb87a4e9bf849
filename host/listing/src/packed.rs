//! Packed input: gzip and zip are inflated piece by piece, base64 is decoded; other formats are named, with advice.
//!
//! ```text
//! first 512 bytes -> gzip, zip: inflated piece by piece, at most MOST bytes -> lines
//!                   base64:    decoded -> looked at once more: gzip, zip, or lines
//! bzip2, xz, PDF, ...: named once, and none of their bytes is read
//!                   anything else -> lines
//! ```
//!
//! Invariant: memory does not grow with the input, and at most [`MOST`] bytes result from it, whatever size it states.
//! Not here: the meaning of the bytes (`coding`, `lines`).

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// The most bytes that are unpacked of one input.
const MOST: u64 = 256 << 20;
/// The number of bytes that decide on the format.
const HEAD: usize = 512;
/// The longest accepted header of a gzip member or an entry of a zip.
const HEADER: usize = 64 << 10;
const PIECE: usize = 32 << 10;

/// Other formats: their first bytes, their names, and advice.
const OTHERS: [(&[u8], &str); 11] = [
    (b"BZh", "a file packed by bzip2: unpack it first (bunzip2)"),
    (b"\xfd7zXZ\0", "a file packed by xz: unpack it first (unxz)"),
    (b"\x28\xb5\x2f\xfd", "a file packed by zstd: unpack it first (unzstd)"),
    (b"\x04\x22\x4d\x18", "a file packed by lz4: unpack it first (unlz4)"),
    (b"\x1f\x9d", "a file packed by compress: unpack it first (uncompress)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip: unpack it first"),
    (b"Rar!\x1a\x07", "an archive of RAR: unpack it first"),
    (b"%PDF-", "a PDF: save it as text first (pdftotext -layout)"),
    (b"{\\rtf", "a document in RTF: save it as plain text first"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a document of an office program: save it as plain text or CSV first",
    ),
    (b"\x89PNG", "a picture: save the listing as text"),
];
// Each of them is followed by ": not read".
const DAMAGED: &str = "packed data that is damaged or cut here, and the rest";
const TOO_MUCH: &str = "unpacked data beyond 256 MiB";

/// The state between pieces.
#[derive(Default)]
pub(crate) struct Packed {
    head: Vec<u8>,
    form: Option<Form>,
    unpacked: u64,
    /// Whether the input is decoded base64, which is not decoded again.
    is_decoded: bool,
}

enum Form {
    Plain,
    /// At the end, or named and not read.
    Over,
    /// The decoder, and what reads the bytes behind it.
    Base64(Base64, Box<Packed>),
    Gzip(Deflated),
    Zip(Deflated),
}

/// The output.
pub(crate) enum Out<'a> {
    /// Bytes of the listing.
    Bytes(&'a [u8]),
    /// The reason why there are no more, or none.
    Why(&'static str),
}

struct Deflated {
    phase: Phase,
    checksum: u32,
}

enum Phase {
    /// A header is due; its bytes so far.
    Header(Vec<u8>),
    Body(Box<InflateState>),
    /// This many bytes, uncompressed.
    Stored(u64),
    /// The checksum and the length of a member of gzip.
    Trailer(Vec<u8>),
}

#[derive(Default)]
struct Base64 {
    bits: u32,
    count: u32,
}

impl Packed {
    /// Takes more bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Out<'_>)) {
        if self.form.is_some() {
            return self.unpack(bytes, out);
        }
        self.head.extend_from_slice(bytes);
        if self.head.len() >= HEAD {
            self.look(out);
        }
    }

    /// The input ends.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Out<'_>)) {
        if self.form.is_none() {
            self.look(out);
        }
        let between = |header: &[u8]| header.is_empty();
        match &mut self.form {
            Some(Form::Base64(_, decoded)) => decoded.finish(out),
            Some(Form::Gzip(Deflated { phase: Phase::Header(header), .. })) if between(header) => {}
            Some(Form::Gzip(_) | Form::Zip(_)) => out(Out::Why(DAMAGED)),
            _ => {}
        }
    }

    fn look(&mut self, out: &mut dyn FnMut(Out<'_>)) {
        let head = std::mem::take(&mut self.head);
        let deflated = || Deflated { phase: Phase::Header(Vec::new()), checksum: 0 };
        let form = match &head[..] {
            [0x1f, 0x8b, 8, ..] => Form::Gzip(deflated()),
            [b'P', b'K', 3, 4, ..] if is_document(&head) => {
                out(Out::Why("a document of an office program: save it as plain text or CSV first"));
                Form::Over
            }
            [b'P', b'K', 3, 4, ..] => Form::Zip(deflated()),
            _ => match OTHERS.iter().find(|(begin, _)| head.starts_with(begin)) {
                Some((_, why)) => {
                    out(Out::Why(why));
                    Form::Over
                }
                None if head.get(257..262) == Some(b"ustar") => {
                    out(Out::Why("an archive of tar: unpack it first (tar -xf)"));
                    Form::Over
                }
                None if !self.is_decoded && is_base64(&head) => {
                    let decoded = Packed { is_decoded: true, ..Packed::default() };
                    Form::Base64(Base64::default(), Box::new(decoded))
                }
                None => Form::Plain,
            },
        };
        self.form = Some(form);
        self.unpack(&head, out);
    }

    fn unpack(&mut self, bytes: &[u8], out: &mut dyn FnMut(Out<'_>)) {
        if let Some(Form::Base64(base64, decoded)) = &mut self.form {
            let some = base64.decode(bytes);
            self.unpacked += some.len() as u64;
            if self.unpacked <= MOST {
                return decoded.feed(&some, out);
            }
            out(Out::Why(TOO_MUCH));
            self.form = Some(Form::Over);
            return;
        }
        let unpacked = &mut self.unpacked;
        let mut bounded = |some: &[u8]| -> Result<(), &'static str> {
            *unpacked += some.len() as u64;
            if *unpacked > MOST {
                return Err(TOO_MUCH);
            }
            out(Out::Bytes(some));
            Ok(())
        };
        let result = match &mut self.form {
            Some(Form::Plain) => {
                out(Out::Bytes(bytes));
                Ok(false)
            }
            Some(Form::Gzip(gzip)) => gzip.feed(bytes, &gzip_header, &mut bounded),
            Some(Form::Zip(zip)) => zip.feed(bytes, &zip_header, &mut bounded),
            Some(Form::Base64(..) | Form::Over) | None => Ok(false),
        };
        if let Err(why) = result {
            out(Out::Why(why));
        }
        if result != Ok(false) {
            self.form = Some(Form::Over);
        }
    }
}

/// The length of a header, and the part after it.
enum Header {
    Body(usize),
    Stored(usize, u64),
    /// Nothing more follows.
    End,
    /// More of it is needed.
    More,
    Why(&'static str),
}

impl Deflated {
    /// Takes more bytes; true if nothing more follows.
    fn feed(
        &mut self,
        mut bytes: &[u8],
        header_of: &dyn Fn(&[u8]) -> Header,
        out: &mut dyn FnMut(&[u8]) -> Result<(), &'static str>,
    ) -> Result<bool, &'static str> {
        let is_gzip = matches!(header_of(&[]), Header::More);
        let mut piece = vec![0; PIECE];
        // The inflater may return its input in more than one piece.
        let mut pending = false;
        while pending || !bytes.is_empty() {
            pending = false;
            match &mut self.phase {
                Phase::Header(header) => {
                    let had = header.len();
                    header.extend_from_slice(&bytes[..bytes.len().min(HEADER)]);
                    match header_of(header) {
                        Header::Body(length) => {
                            bytes = &bytes[length.saturating_sub(had).min(bytes.len())..];
                            self.checksum = u32::MAX;
                            self.phase = Phase::Body(InflateState::new_boxed(DataFormat::Raw));
                        }
                        Header::Stored(length, size) => {
                            bytes = &bytes[length.saturating_sub(had).min(bytes.len())..];
                            self.phase = Phase::Stored(size);
                        }
                        Header::End => return Ok(true),
                        Header::Why(why) => return Err(why),
                        Header::More if header.len() > HEADER => return Err(DAMAGED),
                        Header::More => bytes = &bytes[bytes.len().min(HEADER)..],
                    }
                }
                Phase::Body(state) => {
                    let step = inflate(state, bytes, &mut piece, MZFlush::None);
                    bytes = &bytes[step.bytes_consumed..];
                    let some = &piece[..step.bytes_written];
                    self.checksum = if is_gzip { crc32(self.checksum, some) } else { 0 };
                    if !some.is_empty() {
                        out(some)?;
                    }
                    match step.status {
                        Ok(MZStatus::StreamEnd) if is_gzip => self.phase = Phase::Trailer(Vec::new()),
                        Ok(MZStatus::StreamEnd) => {
                            out(b"\n")?;
                            self.phase = Phase::Header(Vec::new());
                        }
                        Ok(_) | Err(MZError::Buf) if step.bytes_consumed + step.bytes_written > 0 => {
                            pending = step.bytes_written == PIECE;
                        }
                        Ok(_) | Err(MZError::Buf) if bytes.is_empty() => {}
                        Ok(_) | Err(_) => return Err(DAMAGED),
                    }
                }
                Phase::Stored(left) => {
                    let take = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    if take > 0 {
                        out(&bytes[..take])?;
                    }
                    bytes = &bytes[take..];
                    *left -= take as u64;
                    if *left == 0 {
                        out(b"\n")?;
                        self.phase = Phase::Header(Vec::new());
                    }
                }
                Phase::Trailer(trailer) => {
                    let take = (8 - trailer.len()).min(bytes.len());
                    trailer.extend_from_slice(&bytes[..take]);
                    bytes = &bytes[take..];
                    if let [a, b, c, d, ..] = trailer[..]
                        && trailer.len() == 8
                    {
                        if u32::from_le_bytes([a, b, c, d]) != !self.checksum {
                            return Err(
                                "packed data with another checksum: its figures may be wrong; the rest",
                            );
                        }
                        self.phase = Phase::Header(Vec::new());
                    }
                }
            }
        }
        Ok(false)
    }
}

/// The header of a member of gzip: its fixed part, then names and comments.
fn gzip_header(header: &[u8]) -> Header {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const CHECKED: u8 = 2;
    if !b"\x1f\x8b\x08".starts_with(&header[..header.len().min(3)]) {
        // Zeros fill the last block of a tape.
        return if header.iter().all(|byte| *byte == 0) { Header::End } else { Header::Why(DAMAGED) };
    }
    let Some(flags) = header.get(3).filter(|_| header.len() >= 10) else { return Header::More };
    let mut at = 10;
    if flags & EXTRA != 0 {
        let Some([low, high]) = header.get(at..at + 2) else { return Header::More };
        at += 2 + usize::from(u16::from_le_bytes([*low, *high]));
    }
    for _ in [NAME, COMMENT].iter().filter(|flag| flags & **flag != 0) {
        let Some(end) = header.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) else {
            return Header::More;
        };
        at += end + 1;
    }
    at += if flags & CHECKED != 0 { 2 } else { 0 };
    if header.len() < at { Header::More } else { Header::Body(at) }
}

/// The header of an entry of a zip, after the descriptor of the entry before it.
fn zip_header(header: &[u8]) -> Header {
    if header.is_empty() {
        return Header::End;
    }
    // A descriptor of sizes precedes the next header if the sizes were not known.
    let is_header = |four: &[u8]| four.starts_with(b"PK\x03\x04") || four.starts_with(b"PK\x01\x02");
    let Some(at) = header.windows(4).take(32).position(is_header) else {
        return if header.len() < 36 { Header::More } else { Header::Why(DAMAGED) };
    };
    let entry = &header[at..];
    if entry.starts_with(b"PK\x01\x02") {
        return Header::End;
    }
    let Some(fixed) = entry.get(..30) else { return Header::More };
    let half = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
    let length = at + 30 + usize::from(half(26)) + usize::from(half(28));
    let size = u64::from(half(18)) | u64::from(half(20)) << 16;
    let (flags, method) = (half(6), half(8));
    match method {
        _ if flags & 1 != 0 => Header::Why("an archive of zip with a password: unpack it first"),
        _ if header.len() < length => Header::More,
        8 => Header::Body(length),
        0 if flags & 8 == 0 && size < u64::from(u32::MAX) => Header::Stored(length, size),
        _ => Header::Why("an archive of zip, packed in a way that is not read: unpack it first (unzip)"),
    }
}

/// Whether a zip is a document of an office program.
fn is_document(head: &[u8]) -> bool {
    [&b"[Content_Types].xml"[..], b"_rels/", b"mimetypeapplication/vnd", b"docProps/"]
        .iter()
        .any(|name| head.get(30..).is_some_and(|rest| rest.starts_with(name)))
}

/// Whether the input is base64 throughout, in lines of one length, and encodes text or a packed file.
fn is_base64(head: &[u8]) -> bool {
    let in_alphabet =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\r' | b'\n');
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).collect();
    let Some((first, rest)) = lines.split_first() else { return false };
    let is_whole = first.len() >= 40 && first.len().is_multiple_of(4);
    // The last line may be shorter, or cut here.
    let mut but_last = rest.iter().rev().skip_while(|line| line.is_empty()).skip(1);
    let alike = but_last.all(|line| line.len() == first.len());
    if !(is_whole && alike && head.iter().all(in_alphabet)) {
        return false;
    }
    let decoded = Base64::default().decode(first);
    let packed: [&[u8]; 2] = [b"\x1f\x8b\x08", b"PK\x03\x04"];
    if packed
        .into_iter()
        .chain(OTHERS.iter().map(|(begin, _)| *begin))
        .any(|begin| decoded.starts_with(begin))
    {
        return true;
    }
    let is_text = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\r' | b'\n' | b'\t' | 0x0c);
    // EBCDIC text has blanks, letters and digits of EBCDIC.
    let is_ebcdic =
        |byte: &&u8| matches!(byte, 0x40 | 0x4b | 0x7a | 0x81..=0xa9 | 0xc1..=0xe9 | 0xf0..=0xf9 | 0x15);
    let most =
        |of: &dyn Fn(&&u8) -> bool| decoded.iter().filter(|byte| of(byte)).count() * 10 >= decoded.len() * 9;
    most(&is_text) || most(&is_ebcdic)
}

impl Base64 {
    fn decode(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut decoded = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
        for &byte in bytes {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => continue,
            };
            self.bits = self.bits << 6 | u32::from(value);
            self.count += 6;
            if self.count >= 8 {
                self.count -= 8;
                decoded.push((self.bits >> self.count).to_le_bytes()[0]);
            }
        }
        decoded
    }
}

const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut at: u32 = 0;
    while at < 256 {
        let (mut value, mut bit) = (at, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[at as usize] = value;
        at += 1;
    }
    table
};

fn crc32(checksum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(checksum, |sum, byte| CRC[usize::from(sum.to_le_bytes()[0] ^ byte)] ^ sum >> 8)
}

#[cfg(test)]
mod tests;
