//! Records as the kernel leaves them in a ring: `struct perf_event_header` and its data.
//!
//! ```text
//! | kind u32 | flags u16 | length u16 | ... | process u32, thread u32 | time u64 |
//!                                             at the end of all but samples, which have them after their address
//! ```
//!
//! Invariant: the bytes are untrusted; a wrong record is skipped and counted, never a panic. Records come
//! whole or in pieces.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A thread of this process was at this address.
    Sample {
        /// The address of the instruction that it would have executed next.
        address: u64,
        /// Process.
        process: u32,
        /// Thread.
        thread: u32,
    },
    /// Code was mapped.
    Mapped {
        /// Process.
        process: u32,
        /// First address.
        start: u64,
        /// Bytes.
        length: u64,
        /// Its offset in the file, in bytes.
        offset: u64,
        /// The file, or the kernel's name for it: `[vdso]`, `//anon`.
        name: OsString,
        /// The file's build-id, if the kernel gives it; otherwise empty.
        build_id: Vec<u8>,
    },
    /// The process executed another program: none of the old mappings remains.
    Executed {
        /// Process.
        process: u32,
    },
    /// A process was created, with its parent's mappings.
    Forked {
        /// The child.
        process: u32,
        /// Its parent.
        parent: u32,
    },
    /// This many records were lost.
    Lost(u64),
    /// The kernel throttled for a while, since samples took too much time.
    Throttled,
}

/// A record and its time, in nanoseconds of the kernel's own clock.
pub type Timed = (u64, Record);

const MMAP: u32 = 1;
const LOST: u32 = 2;
const COMM: u32 = 3;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;

/// In the flags: this COMM is of an exec.
const BY_EXEC: u16 = 1 << 13;
/// In the flags: this MMAP2 has a build-id.
const HAS_BUILD_ID: u16 = 1 << 14;

const HEAD: usize = 8;
/// Process, thread and time at the end of a record.
const TAIL: usize = 16;

/// Turns the bytes of one ring into records.
#[derive(Debug, Default)]
pub struct Reader {
    /// The beginning of a record whose end has not come yet.
    begun: Vec<u8>,
    /// Records without meaning.
    pub wrong: u64,
}

impl Reader {
    /// Continues: more bytes of the ring, and the receiver of each record.
    pub fn read(&mut self, bytes: &[u8], mut each: impl FnMut(Timed)) {
        self.begun.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(head) = self.begun.get(at..at + HEAD) {
            let length = usize::from(u16::from_le_bytes([head[6], head[7]]));
            if length < HEAD {
                // The start of the next one cannot be found.
                self.wrong += 1;
                at = self.begun.len();
                break;
            }
            let Some(record) = self.begun.get(at..at + length) else { break };
            match one(record) {
                Some(Some(timed)) => each(timed),
                Some(None) => {}
                None => self.wrong += 1,
            }
            at += length;
        }
        self.begun.drain(..at);
    }
}

/// One whole record. Some(None): of a kind that does not matter here; None: it has no meaning.
fn one(bytes: &[u8]) -> Option<Option<Timed>> {
    let kind = word(bytes, 0)?;
    let flags = u16::from_le_bytes([bytes[4], bytes[5]]);
    if kind == SAMPLE {
        let record =
            Record::Sample { address: long(bytes, 8)?, process: word(bytes, 16)?, thread: word(bytes, 20)? };
        return Some(Some((long(bytes, 24)?, record)));
    }
    let end = bytes.len().checked_sub(TAIL).filter(|end| *end >= HEAD)?;
    let (body, time) = (&bytes[..end], long(bytes, end + 8)?);
    let record = match kind {
        MMAP => mapped(body, 40, Vec::new())?,
        MMAP2 => {
            let length = usize::from(*body.get(40)?).min(20);
            let build_id = if flags & HAS_BUILD_ID == 0 { &[][..] } else { body.get(44..44 + length)? };
            mapped(body, 72, build_id.to_vec())?
        }
        COMM if flags & BY_EXEC != 0 => Record::Executed { process: word(body, 8)? },
        FORK => {
            let (process, parent) = (word(body, 8)?, word(body, 12)?);
            if process == parent {
                // A thread.
                return Some(None);
            }
            Record::Forked { process, parent }
        }
        LOST => Record::Lost(long(body, 16)?),
        LOST_SAMPLES => Record::Lost(long(body, 8)?),
        THROTTLE => Record::Throttled,
        _ => return Some(None),
    };
    Some(Some((time, record)))
}

fn mapped(body: &[u8], name: usize, build_id: Vec<u8>) -> Option<Record> {
    let name = body.get(name..)?.split(|&byte| byte == 0).next()?;
    Some(Record::Mapped {
        process: word(body, 8)?,
        start: long(body, 16)?,
        length: long(body, 24)?,
        offset: long(body, 32)?,
        name: OsString::from_vec(name.to_vec()),
        build_id,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record as the kernel writes it.
    pub fn written(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(HEAD + body.len()).expect("short");
        [&kind.to_le_bytes()[..], &flags.to_le_bytes(), &length.to_le_bytes(), body].concat()
    }

    pub fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn longs(longs: &[u64]) -> Vec<u8> {
        longs.iter().flat_map(|long| long.to_le_bytes()).collect()
    }

    fn tail(time: u64) -> Vec<u8> {
        [words(&[7, 8]), longs(&[time])].concat()
    }

    fn mapping(build_id: &[u8]) -> Vec<u8> {
        let mut id = vec![u8::try_from(build_id.len()).expect("short"), 0, 0, 0];
        id.extend(build_id);
        id.resize(24, 0);
        let name = b"/bin/x\0\0";
        let body =
            [words(&[7, 8]), longs(&[0x1000, 0x2000, 0x3000]), id, words(&[5, 2]), name.to_vec(), tail(11)];
        written(MMAP2, if build_id.is_empty() { 0 } else { HAS_BUILD_ID }, &body.concat())
    }

    fn all() -> (Vec<u8>, Vec<Timed>) {
        let mapped = |build_id: &[u8]| Record::Mapped {
            process: 7,
            start: 0x1000,
            length: 0x2000,
            offset: 0x3000,
            name: "/bin/x".into(),
            build_id: build_id.to_vec(),
        };
        let of_thread = [words(&[7, 7, 8, 7]), longs(&[0]), tail(1)].concat();
        let bytes = [
            written(SAMPLE, 2, &[longs(&[0x1234]), words(&[7, 8]), longs(&[10])].concat()),
            mapping(&[]),
            mapping(&[1, 2, 3]),
            written(COMM, BY_EXEC, &[words(&[7, 8]), b"x\0\0\0\0\0\0\0".to_vec(), tail(12)].concat()),
            written(COMM, 0, &[words(&[7, 8]), b"x\0\0\0\0\0\0\0".to_vec(), tail(12)].concat()),
            written(FORK, 0, &of_thread),
            written(FORK, 0, &[words(&[9, 7, 9, 7]), longs(&[0]), tail(13)].concat()),
            written(LOST, 0, &[longs(&[1, 99]), tail(14)].concat()),
            written(LOST_SAMPLES, 0, &[longs(&[98]), tail(15)].concat()),
            written(THROTTLE, 0, &[longs(&[0, 0, 0]), tail(16)].concat()),
            written(4_711, 0, &tail(17)),
        ];
        let expected = vec![
            (10, Record::Sample { address: 0x1234, process: 7, thread: 8 }),
            (11, mapped(&[])),
            (11, mapped(&[1, 2, 3])),
            (12, Record::Executed { process: 7 }),
            (13, Record::Forked { process: 9, parent: 7 }),
            (14, Record::Lost(99)),
            (15, Record::Lost(98)),
            (16, Record::Throttled),
        ];
        (bytes.concat(), expected)
    }

    #[test]
    fn records_are_read_whole_and_in_pieces() {
        let (bytes, expected) = all();
        for piece in [bytes.len(), 1, 7, 64] {
            let (mut reader, mut read) = (Reader::default(), Vec::new());
            for piece in bytes.chunks(piece) {
                reader.read(piece, |timed| read.push(timed));
            }
            assert_eq!(read, expected);
            assert_eq!((reader.wrong, reader.begun.len()), (0, 0));
        }
    }

    #[test]
    fn wrong_records_are_passed_over() {
        let (mut reader, mut read) = (Reader::default(), Vec::new());
        let short = written(SAMPLE, 0, &[0; 8]);
        reader.read(&[short, all().0].concat(), |timed| read.push(timed));
        assert_eq!((reader.wrong, read.len()), (1, 8));
        reader.read(&[0; 64], |_| panic!("nothing is there"));
        assert_eq!(reader.wrong, 2);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let (bytes, _) = all();
        for _ in 0..2_000 {
            let mut damaged = bytes.clone();
            for _ in 0..6 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let place = usize::try_from(state >> 8).expect("64 bits") % damaged.len();
                damaged[place] = state as u8;
            }
            Reader::default().read(&damaged, |_| ());
        }
    }
}
