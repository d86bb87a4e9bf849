//! Reads the site area of one process while it runs, and once more when it has ended.
//!
//! ```text
//! header: head ─> words from our tail to it ─> records, each at the place in its mark ─> events
//!                                                 the first one that is not whole: the next look begins there
//! our tail ─> header: the process may write there again
//! ```
//!
//! A file is read by calls, not mapped: if another process shortens it, the read fails, and we are not killed.
//!
//! Invariant: the bytes are untrusted; a record is read once, or counted as lost. What this keeps is bounded: two stacks for each place
//! that a process can refer to.
//! Not here: which areas there are (`ring_sources`), and what addresses mean.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use underbar_ledger::site_rules::Rule;
use underbar_ledger::sites::{
    FRAMES, FREED, FREED_WORDS, GOT_WORDS, Header, KNOWN, KNOWN_STACKS, MAGIC, RAW, REGISTERS, RING_OFFSET,
    RING_WORDS, TEXT_OFFSET, TEXT_ROOM, VERSION, WHOLE, namespace, place_of, read_mark,
};
use underbar_sys::syscall::{O_NOFOLLOW, O_NONBLOCK, geteuid};

use crate::events::{Event, Registers, Sample, Stack};
use crate::ring_rules::Rules;

const HEADER_BYTES: usize = size_of::<Header>();
const ROOT: u32 = 0;

/// An area, and how far it was read.
pub struct Ring {
    file: File,
    process: u32,
    is_near: bool,
    made_ns: u64,
    tail: u64,
    text: usize,
    lost: u64,
    /// Words that the last look found.
    found: usize,
    /// Only looked at: its process is not told what was read.
    is_peeked: bool,
    /// The words make no sense: nothing more is read.
    is_broken: bool,
    /// Its process has ended, and there are words that were not read.
    is_cut: bool,
    stacks: Vec<[Option<(u64, Stack)>; 2]>,
    /// The rules that were written to the area.
    rules: Rules,
}

/// A word of the header, by its field.
macro_rules! word {
    ($bytes:expr, $field:ident) => {
        u32::from_le_bytes(bytes_at($bytes, offset_of!(Header, $field)))
    };
}
macro_rules! long {
    ($bytes:expr, $field:ident) => {
        u64::from_le_bytes(bytes_at($bytes, offset_of!(Header, $field)))
    };
}

impl Ring {
    /// Opens an area. None if the file is none, is not whole yet, or belongs to another user.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        Self::open_as(path, false)
    }

    /// The same, to be read without a trace, so that it can be read again. Its process finds no more room than before.
    #[must_use]
    pub fn peek(path: &Path) -> Option<Self> {
        Self::open_as(path, true)
    }

    fn open_as(path: &Path, is_peeked: bool) -> Option<Self> {
        let flags = (O_NOFOLLOW | O_NONBLOCK).cast_signed();
        let file = OpenOptions::new().read(true).write(!is_peeked).custom_flags(flags).open(path).ok()?;
        let status = file.metadata().ok()?;
        if !status.is_file() || ![ROOT, geteuid()].contains(&status.uid()) {
            return None;
        }
        let header = header(&file).ok()?;
        if long!(&header, magic) != MAGIC || word!(&header, version) != VERSION {
            return None;
        }
        let own = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Some(Self {
            process: word!(&header, process),
            is_near: long!(&header, namespace) == namespace(own.as_os_str().as_encoded_bytes()),
            made_ns: long!(&header, made_ns),
            tail: 0,
            text: 0,
            lost: 0,
            found: 0,
            is_peeked,
            is_broken: false,
            is_cut: false,
            stacks: vec![[const { None }; 2]; KNOWN_STACKS],
            rules: Rules::default(),
            file,
        })
    }

    /// The process's number.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Whether that is its number in this process's namespace, so that `/proc` has it.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.is_near
    }

    /// When the area was made: at a program's start or a fork. Nanoseconds of CLOCK_BOOTTIME.
    #[must_use]
    pub fn made_ns(&self) -> u64 {
        self.made_ns
    }

    /// The executable mappings that the process has written down since the last call, as `/proc/PID/maps` has them. A list begins anew
    /// with the lowest address.
    pub fn mappings(&mut self) -> String {
        let Ok(header) = header(&self.file) else { return String::new() };
        let end = (word!(&header, text_bytes) as usize).min(TEXT_ROOM);
        let Some(more) = end.checked_sub(self.text).filter(|&more| more > 0) else { return String::new() };
        let mut text = vec![0; more];
        if self.file.read_exact_at(&mut text, (TEXT_OFFSET + self.text) as u64).is_err() {
            return String::new();
        }
        self.text = end;
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The mean distance between samples that is in force, in bytes; 0 if the file cannot be read.
    #[must_use]
    pub fn mean(&self) -> u64 {
        header(&self.file).map_or(0, |header| long!(&header, mean))
    }

    /// Words of the ring that the last look found in use, of [`RING_WORDS`].
    #[must_use]
    pub fn found(&self) -> usize {
        self.found
    }

    /// Whether samples are missing that nobody can count: the file is cut or damaged, or the process ended while it wrote one.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_broken || self.is_cut
    }

    /// Whether another reader has taken samples, so that they are not here any more.
    #[must_use]
    pub fn was_read(&self) -> bool {
        header(&self.file).is_ok_and(|header| long!(&header, tail) != self.tail)
    }

    /// Tells the process the rules of return addresses, so that it follows such callers itself.
    pub fn tell(&mut self, rules: impl IntoIterator<Item = (u64, Rule)>) {
        if self.is_peeked || self.is_broken {
            return;
        }
        for (address, rule) in rules {
            self.is_broken |= self.rules.add(&self.file, address, rule).is_err();
        }
    }

    /// The process's code has moved: it forgets the rules.
    pub fn forget_rules(&mut self) {
        if !self.is_peeked && !self.is_broken {
            self.is_broken = self.rules.clear(&self.file).is_err();
        }
    }

    /// Reads what is new. `is_over`: the process has ended, so that a record that is not whole never will be.
    pub fn read(&mut self, is_over: bool, then: &mut dyn FnMut(Event)) {
        self.found = 0;
        if self.is_broken {
            return;
        }
        let Ok(header) = header(&self.file) else {
            self.is_broken = true;
            return;
        };
        let lost = long!(&header, lost);
        let mut more_lost = lost.saturating_sub(self.lost);
        self.lost = self.lost.max(lost);
        let head = long!(&header, head);
        // Read twice: what is behind a mark of the first reading is there at the second one.
        match self.words(head).zip(self.words(head)) {
            Some((marks, words)) => {
                let before = self.tail;
                self.found = words.len();
                more_lost += self.records(&marks, &words, is_over, then);
                self.is_cut = is_over && self.tail != head;
                if self.tail != before && !self.is_peeked {
                    let at = offset_of!(Header, tail) as u64;
                    self.is_broken = self.file.write_all_at(&self.tail.to_le_bytes(), at).is_err();
                }
            }
            None => {
                self.is_broken = true;
                more_lost += 1;
            }
        }
        if more_lost > 0 {
            then(Event::Lost { samples: more_lost });
        }
    }

    /// The words from the tail to the head. None if there cannot be so many.
    fn words(&self, head: u64) -> Option<Vec<u64>> {
        let count = usize::try_from(head.checked_sub(self.tail)?).ok()?;
        if count > RING_WORDS {
            return None;
        }
        let mut bytes = vec![0; count * 8];
        let at = (self.tail % RING_WORDS as u64) as usize;
        let (first, second) = bytes.split_at_mut(count.min(RING_WORDS - at) * 8);
        self.file.read_exact_at(first, (RING_OFFSET + at * 8) as u64).ok()?;
        self.file.read_exact_at(second, RING_OFFSET as u64).ok()?;
        let (words, _) = bytes.as_chunks();
        Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Reads records, and moves the tail. Returns how many were lost.
    fn records(&mut self, marks: &[u64], words: &[u64], is_over: bool, then: &mut dyn FnMut(Event)) -> u64 {
        let (begin, mut rest, mut lost) = (self.tail, words, 0);
        while let Some(&first) = marks.get((self.tail - begin) as usize) {
            let mark = read_mark(first, self.tail).filter(|mark| mark.words <= rest.len());
            let Some(mark) = mark else {
                // Reserved a moment ago; or the process ended in that moment, and what is behind it cannot be found.
                return lost + u64::from(is_over);
            };
            if !mark.is_done && !is_over {
                return lost;
            }
            let (record, behind) = rest.split_at(mark.words);
            match self.event(mark.kind, record).filter(|_| mark.is_done) {
                Some(event) => then(event),
                None => lost += u64::from(mark.kind != FREED),
            }
            self.tail += mark.words as u64;
            rest = behind;
        }
        lost
    }

    fn event(&mut self, kind: u64, record: &[u64]) -> Option<Event> {
        if kind == FREED {
            let [_, time, address, most] = *<&[u64; FREED_WORDS]>::try_from(record).ok()?;
            return Some(Event::Freed { address, time, most });
        }
        let (head, rest) = record.split_first_chunk::<GOT_WORDS>()?;
        let [_, time, address, size, mean, thread, number, in_use, most] = *head;
        let stack = match kind {
            FRAMES => Stack::Frames { addresses: rest.to_vec(), whole: thread & WHOLE != 0 },
            RAW => {
                let (registers, words) = rest.split_first_chunk::<REGISTERS>()?;
                let [rip, rsp, rbp, rbx, r12, r13, r14, r15] = *registers;
                let stack = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                Stack::Raw { registers: Registers { rip, rsp, rbp, rbx, r12, r13, r14, r15 }, stack }
            }
            KNOWN => self.stack(number)?,
            _ => return None,
        };
        if kind != KNOWN && number != 0 {
            self.keep(number, stack.clone());
        }
        Some(Event::Got(Sample { thread: thread as u32, time, address, size, mean, in_use, most, stack }))
    }

    /// A stack by its number. It may be the one before the last of its place: another thread was about to replace it.
    fn stack(&self, number: u64) -> Option<Stack> {
        let place = self.stacks.get(place_of(number))?;
        place.iter().flatten().find(|(kept, _)| *kept == number).map(|(_, stack)| stack.clone())
    }

    fn keep(&mut self, number: u64, stack: Stack) {
        if let Some(place) = self.stacks.get_mut(place_of(number)) {
            if place[0].as_ref().is_none_or(|(kept, _)| *kept != number) {
                place.swap(0, 1);
            }
            place[0] = Some((number, stack));
        }
    }
}

fn header(file: &File) -> io::Result<[u8; HEADER_BYTES]> {
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Bytes of the header, from an offset of one of its fields.
fn bytes_at<const BYTES: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; BYTES] {
    header.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; BYTES])
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use underbar_ledger::sites::{AREA_BYTES, MOST_WORDS, mark};

    use super::*;

    /// An area as a process makes it, written by the tests.
    struct Area {
        path: PathBuf,
        file: File,
        head: u64,
    }

    impl Area {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("underbar-sites-{}-{name}", std::process::id()));
            let flags = OpenOptions::new().read(true).write(true).create(true).truncate(true).clone();
            let file = flags.open(&path).expect("a file");
            file.set_len(AREA_BYTES as u64).expect("its length");
            let area = Self { path, file, head: 0 };
            area.put(offset_of!(Header, version), &VERSION.to_le_bytes());
            area.put(offset_of!(Header, process), &7_u32.to_le_bytes());
            area.put(offset_of!(Header, magic), &MAGIC.to_le_bytes());
            area
        }

        fn put(&self, at: usize, bytes: &[u8]) {
            self.file.write_all_at(bytes, at as u64).expect("written");
        }

        fn word(&self, place: u64, word: u64) {
            let at = place % RING_WORDS as u64;
            self.put(RING_OFFSET + at as usize * 8, &word.to_le_bytes());
        }

        fn set_head(&mut self, head: u64) {
            self.head = head;
            self.put(offset_of!(Header, head), &head.to_le_bytes());
        }

        fn record(&mut self, kind: u64, is_done: bool, rest: &[u64]) {
            self.word(self.head, mark(self.head, kind, rest.len() + 1, is_done));
            for (at, word) in rest.iter().enumerate() {
                self.word(self.head + 1 + at as u64, *word);
            }
            self.set_head(self.head + 1 + rest.len() as u64);
        }

        fn tail(&self) -> u64 {
            let mut bytes = [0; 8];
            self.file.read_exact_at(&mut bytes, offset_of!(Header, tail) as u64).expect("read");
            u64::from_le_bytes(bytes)
        }
    }

    impl Drop for Area {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn read(ring: &mut Ring, is_over: bool) -> Vec<Event> {
        let mut events = Vec::new();
        ring.read(is_over, &mut |event| events.push(event));
        events
    }

    fn sample(stack: Stack) -> Event {
        Event::Got(Sample {
            thread: 9,
            time: 1,
            address: 32,
            size: 100,
            mean: 4096,
            in_use: 500,
            most: 600,
            stack,
        })
    }

    #[test]
    fn records_become_events_and_their_stacks_are_found_again() {
        let mut area = Area::new("records");
        let mut ring = Ring::open(&area.path).expect("an area");
        assert_eq!((ring.process(), read(&mut ring, false)), (7, vec![]));
        let frames = Stack::Frames { addresses: vec![5, 6], whole: true };
        let registers = Registers { rip: 1, rsp: 2, rbp: 3, rbx: 4, r12: 5, r13: 6, r14: 7, r15: 8 };
        let raw = Stack::Raw { registers, stack: [10_u64, 11].map(u64::to_le_bytes).concat() };
        area.record(FRAMES, true, &[1, 32, 100, 4096, 9 | WHOLE, 0xa_0000_0001, 500, 600, 5, 6]);
        area.record(
            RAW,
            true,
            &[1, 32, 100, 4096, 9, 0xb_0000_0001, 500, 600, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11],
        );
        area.record(FREED, true, &[2, 32, 600]);
        // The same place as the first one.
        area.record(FRAMES, true, &[1, 32, 100, 4096, 9, 0xa_0000_0002, 500, 600]);
        for number in [0xb_0000_0001, 0xa_0000_0001, 0xa_0000_0002, 0xc_0000_0001] {
            area.record(KNOWN, true, &[1, 32, 100, 4096, 9, number, 500, 600]);
        }
        let empty = Stack::Frames { addresses: vec![], whole: false };
        let expected = [
            sample(frames.clone()),
            sample(raw.clone()),
            Event::Freed { address: 32, time: 2, most: 600 },
            sample(empty.clone()),
            sample(raw),
            sample(frames),
            sample(empty),
            Event::Lost { samples: 1 },
        ];
        assert_eq!(read(&mut ring, false), expected);
        assert_eq!((area.tail(), read(&mut ring, false)), (area.head, vec![]));
    }

    #[test]
    fn a_look_without_a_trace_can_be_repeated() {
        let mut area = Area::new("peek");
        area.record(FRAMES, true, &[1, 32, 100, 4096, 9, 7, 500, 600, 5]);
        for _ in 0..2 {
            let mut ring = Ring::peek(&area.path).expect("an area");
            assert!(!ring.was_read());
            assert_eq!((read(&mut ring, true).len(), area.tail(), ring.found()), (1, 0, 10));
        }
        let mut taker = Ring::open(&area.path).expect("an area");
        assert_eq!((read(&mut taker, false).len(), taker.was_read()), (1, false));
        assert!(Ring::peek(&area.path).expect("an area").was_read());
    }

    #[test]
    fn a_record_that_is_not_whole_waits_until_the_process_has_ended() {
        let mut area = Area::new("whole");
        let mut ring = Ring::open(&area.path).expect("an area");
        area.record(KNOWN, false, &[1, 32, 100, 4096, 9, 7, 500, 600]);
        area.record(FREED, true, &[2, 32, 600]);
        assert_eq!((read(&mut ring, false), area.tail()), (vec![], 0));
        let lost = Event::Lost { samples: 1 };
        assert_eq!(read(&mut ring, true), [Event::Freed { address: 32, time: 2, most: 600 }, lost.clone()]);
        // Reserved, without a mark: how many samples that were, nobody knows. Then what the process counted itself.
        assert!(!ring.is_damaged());
        area.set_head(area.head + 3);
        assert_eq!((read(&mut ring, false), ring.is_damaged()), (vec![], false));
        assert_eq!((read(&mut ring, true), ring.is_damaged()), (vec![lost], true));
        area.put(offset_of!(Header, lost), &5_u64.to_le_bytes());
        assert_eq!(read(&mut ring, false), [Event::Lost { samples: 5 }]);
    }

    #[test]
    fn the_ring_goes_round() {
        let mut area = Area::new("round");
        let mut ring = Ring::open(&area.path).expect("an area");
        let stack = vec![1; 2000];
        for round in 0..200_u64 {
            let head = [round, 32, 100, 4096, 9, round << 32, 500, 600];
            area.record(FRAMES, true, &[&head[..], &stack].concat());
            let events = read(&mut ring, false);
            let [Event::Got(sample)] = &events[..] else { panic!("{events:?}") };
            assert_eq!(sample.time, round);
        }
        assert!(area.head > 2 * RING_WORDS as u64 && area.tail() == area.head);
    }

    #[test]
    fn bytes_without_meaning_are_lost_samples() {
        let mut area = Area::new("hostile");
        let text = b"1000-2000 r-xp 0 0:0 1 /bin/x\n";
        area.put(TEXT_OFFSET, text);
        area.put(offset_of!(Header, text_bytes), &(text.len() as u32).to_le_bytes());
        let mut ring = Ring::open(&area.path).expect("an area");
        assert_eq!((ring.mappings().as_bytes(), ring.mappings().as_str()), (&text[..], ""));
        area.put(offset_of!(Header, text_bytes), &u32::MAX.to_le_bytes());
        assert_eq!(ring.mappings().len(), TEXT_ROOM - text.len());
        // Records of wrong lengths and kinds.
        for (kind, words) in [(FREED, 1), (FREED, 5), (KNOWN, 2), (RAW, 8), (99, 7), (0, MOST_WORDS - 1)] {
            area.record(kind, true, &vec![3; words]);
        }
        assert_eq!(read(&mut ring, false), [Event::Lost { samples: 4 }]);
        assert!(!ring.is_damaged());
        area.set_head(area.head + RING_WORDS as u64 + 1);
        assert_eq!(read(&mut ring, true), [Event::Lost { samples: 1 }]);
        assert!(ring.is_damaged());
        assert_eq!(read(&mut ring, true), [], "it is broken");
        area.file.set_len(100).expect("cut");
        assert_eq!((ring.mappings(), ring.mean()), (String::new(), 0));
        assert!(Ring::open(&area.path).is_none());
    }

    /// Any bytes in header and ring: no panic, and it ends.
    #[test]
    fn any_bytes_are_read() {
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut area = Area::new("any");
        for _ in 0..200 {
            area.set_head(0);
            for place in 0..256 {
                let word = match random() % 4 {
                    0 => mark(place, random() % 6, (random() % 40) as usize, !random().is_multiple_of(4)),
                    _ => random(),
                };
                area.word(place, word);
            }
            area.set_head(random() % 300);
            let mut ring = Ring::open(&area.path).expect("an area");
            for is_over in [false, true, false] {
                let _ = read(&mut ring, is_over);
            }
        }
    }
}
