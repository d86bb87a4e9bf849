//! Samples by timers in the program's threads: reads the areas in which its processes leave them.
//!
//! ```text
//! areas next to the ledger, in the order of creation
//!   a new one ─> its process begins anew, with the mappings in its text
//!   samples since the last look ─> tally          an address in no known mapping: from /proc/PID/maps once a look
//!   its process is gone, or has a newer one ─> read to the end, and removed
//! ```
//!
//! A file is read by calls, not mapped: if another process shortens it, the read fails, and we are not killed.
//!
//! Invariant: the bytes are untrusted; parts without meaning are skipped, and a sample is counted once or as
//! lost.
//! Known limits: code that was loaded and dropped again between two looks has no name. For a process in another
//! process namespace only the mappings at its start and end are known.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use underbar_ledger::samples::{
    GAVE_WAY, Header, LEAST, LOCKED_IN, MAGIC, MOST, REFUSED, SAMPLE_BYTES, SAMPLES_OFFSET, TEXT_OFFSET,
    TEXT_ROOM, VERSION, namespace, thread_of,
};
use underbar_sys::syscall::{Errno, O_NOFOLLOW, O_NONBLOCK, kill};

use crate::missing::Missing;
use crate::record::Record;
use crate::tally::Tally;

/// CPU time between two samples, for the library: in nanoseconds.
#[must_use]
pub fn period_ns(rate: u32) -> u64 {
    1_000_000_000 / u64::from(rate.max(1))
}

/// The areas of a run.
#[derive(Default)]
pub struct Timers {
    areas: Vec<Area>,
    tally: Tally,
    missing: Missing,
    /// The number of areas.
    met: u64,
}

/// One area.
struct Area {
    path: PathBuf,
    file: File,
    process: u32,
    /// Whether its number is one of our process namespace.
    is_near: bool,
    made_ns: u64,
    room: u64,
    tail: u64,
    /// The bytes of its text that were read.
    text: usize,
    /// There is a newer one of the same process.
    is_old: bool,
}

impl Timers {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Timers {
        Timers::default()
    }

    /// Reads new data. Called several times a second, with all areas that exist then.
    pub fn look(&mut self, paths: Vec<PathBuf>) {
        let known = |areas: &[Area], path: &PathBuf| areas.iter().any(|area| area.path == *path);
        let mut new: Vec<Area> =
            paths.into_iter().filter(|path| !known(&self.areas, path)).filter_map(Area::open).collect();
        new.sort_by_key(|area| area.made_ns);
        for area in &mut self.areas {
            area.read(&mut self.tally, false);
        }
        for mut area in new {
            for older in self.areas.iter_mut().filter(|older| older.process == area.process) {
                older.is_old = true;
            }
            self.met += 1;
            self.tally.add(Record::Executed { process: area.process });
            area.read(&mut self.tally, false);
            self.areas.push(area);
        }
        let (tally, missing) = (&mut self.tally, &mut self.missing);
        self.areas.retain_mut(|area| {
            let is_over = area.is_old || area.is_gone();
            if is_over {
                area.close(tally, missing);
            }
            !is_over
        });
    }

    /// The program has ended: returns all samples, and the reasons for missing ones. Processes that live on are not sampled any
    /// more. `carried`: processes that the ledger had before the areas were listed.
    #[must_use]
    pub fn end(mut self, paths: Vec<PathBuf>, carried: u64) -> (Tally, Missing) {
        self.look(paths);
        for area in &mut self.areas {
            area.stop();
            area.close(&mut self.tally, &mut self.missing);
        }
        self.missing.placeless = carried.saturating_sub(self.met);
        (self.tally, self.missing)
    }
}

/// A word of the header, by its offset.
macro_rules! word {
    ($bytes:expr, $field:ident) => {
        word($bytes, std::mem::offset_of!(Header, $field))
    };
}
macro_rules! long {
    ($bytes:expr, $field:ident) => {
        long($bytes, std::mem::offset_of!(Header, $field))
    };
}

impl Area {
    /// None if the file is not an area, or not whole yet.
    fn open(path: PathBuf) -> Option<Area> {
        let flags = (O_NOFOLLOW | O_NONBLOCK).cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path).ok()?;
        let header = header(&file).ok()?;
        let room = u64::from(word!(&header, room));
        let is_ours = file.metadata().ok()?.is_file()
            && long!(&header, magic) == MAGIC
            && word!(&header, version) == VERSION
            && room.is_power_of_two()
            && (LEAST as u64..=MOST as u64).contains(&room);
        let (process, made_ns) = (word!(&header, process), long!(&header, made_ns));
        let own = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let is_near = long!(&header, namespace) == namespace(own.as_os_str().as_encoded_bytes());
        is_ours.then_some(Area {
            path,
            file,
            process,
            is_near,
            made_ns,
            room,
            tail: 0,
            text: 0,
            is_old: false,
        })
    }

    /// Its process does not live any more.
    fn is_gone(&self) -> bool {
        let is_none = |process| kill(process, 0) == Err(Errno::ESRCH);
        self.is_near && i32::try_from(self.process).is_ok_and(is_none)
    }

    /// Continues. `to_the_end`: no process writes any more, so an incomplete part stays incomplete.
    fn read(&mut self, tally: &mut Tally, to_the_end: bool) {
        let Ok(header) = header(&self.file) else { return };
        self.read_text(&header, tally);
        let there = long!(&header, head).wrapping_sub(self.tail).min(self.room);
        let Ok(marks) = self.samples(there) else { return };
        // Read again: the address of a mark is there by now.
        let Ok(samples) = self.samples(there) else { return };
        let mut has_asked = false;
        let mut done = 0;
        for (mark, sample) in marks.iter().zip(&samples) {
            let number = self.tail + done;
            match thread_of(mark.1, number, self.room) {
                Some(thread) => {
                    let (address, process) = (sample.0, self.process);
                    if !tally.is_mapped(process, address) && !has_asked && self.is_near && !self.is_old {
                        has_asked = true;
                        self.ask(tally);
                    }
                    tally.add(Record::Sample { address, process, thread });
                }
                None if to_the_end => tally.add(Record::Lost(1)),
                None => break,
            }
            done += 1;
        }
        self.tail += done;
        // Where that fails, the ring fills and the process counts what is lost.
        let _ = self.file.write_all_at(&self.tail.to_ne_bytes(), std::mem::offset_of!(Header, tail) as u64);
    }

    /// This many samples from the tail on: address and mark.
    fn samples(&self, count: u64) -> io::Result<Vec<(u64, u64)>> {
        let mut bytes = vec![0; count as usize * SAMPLE_BYTES];
        let first = (self.room - self.tail % self.room).min(count) as usize * SAMPLE_BYTES;
        let at = SAMPLES_OFFSET as u64 + self.tail % self.room * SAMPLE_BYTES as u64;
        self.file.read_exact_at(&mut bytes[..first], at)?;
        self.file.read_exact_at(&mut bytes[first..], SAMPLES_OFFSET as u64)?;
        Ok(bytes.chunks_exact(SAMPLE_BYTES).map(|sample| (long(sample, 0), long(sample, 8))).collect())
    }

    /// The mappings according to the process.
    fn read_text(&mut self, header: &[u8], tally: &mut Tally) {
        let end = (word!(header, text_bytes) as usize).min(TEXT_ROOM);
        if end <= self.text {
            return;
        }
        let mut text = vec![0; end - self.text];
        if self.file.read_exact_at(&mut text, (TEXT_OFFSET + self.text) as u64).is_ok() {
            self.text = end;
            mapped(&text, self.process, tally);
        }
    }

    /// The current mappings according to the kernel.
    fn ask(&self, tally: &mut Tally) {
        if let Ok(text) = fs::read(format!("/proc/{}/maps", self.process)) {
            mapped(&text, self.process, tally);
        }
    }

    /// Timers fire once more, and then never.
    fn stop(&self) {
        let _ = self.file.write_all_at(&1_u32.to_ne_bytes(), std::mem::offset_of!(Header, stop) as u64);
    }

    /// Reads the rest and removes the file.
    fn close(&mut self, tally: &mut Tally, missing: &mut Missing) {
        self.read(tally, true);
        if let Ok(header) = header(&self.file) {
            tally.add(Record::Lost(long!(&header, lost)));
            missing.untimed += u64::from(word!(&header, untimed));
            match word!(&header, state) {
                GAVE_WAY => missing.gave_way = (missing.gave_way.0 + 1, word!(&header, signal)),
                LOCKED_IN => missing.locked_in += 1,
                REFUSED => missing.refused += 1,
                _ => {}
            }
        }
        let _ = fs::remove_file(&self.path);
    }
}

fn header(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size_of::<Header>()];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk().copied()).map_or(0, u32::from_ne_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk().copied()).map_or(0, u64::from_ne_bytes)
}

/// Reports every executable mapping in a text in the kernel's form.
fn mapped(text: &[u8], process: u32, tally: &mut Tally) {
    for line in text.split(|&byte| byte == b'\n') {
        if let Some(record) = mapping(line, process) {
            tally.add(record);
        }
    }
}

/// `7f00-7f10 r-xp 00001000 08:01 123    /usr/lib/x.so`; None if it has another form, or is not executable.
fn mapping(line: &[u8], process: u32) -> Option<Record> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let (start, end) = str::from_utf8(fields.next()?).ok()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    if fields.next()?.get(2) != Some(&b'x') {
        return None;
    }
    let offset = number(str::from_utf8(fields.next()?).ok()?)?;
    let name = fields.nth(2).unwrap_or_default().trim_ascii_start();
    // A deleted file counts as none; a mapping without a name is code made at run time.
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    let name = if name.is_empty() { b"//anon".as_slice() } else { name };
    let length = end.checked_sub(start)?;
    Some(Record::Mapped {
        process,
        start,
        length,
        offset,
        name: OsString::from_vec(name.to_vec()),
        build_id: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::mem::offset_of;
    use underbar_ledger::samples::mark;

    /// An area as a process writes it, in a file.
    struct Written {
        path: PathBuf,
        file: File,
        head: u64,
        text: usize,
    }

    const ROOM: u64 = LEAST as u64;

    impl Written {
        fn new(folder: &std::path::Path, name: &str, process: u32, made_ns: u64) -> Written {
            let path = folder.join(name);
            let file = OpenOptions::new().write(true).create_new(true).open(&path).expect("a file");
            file.set_len((SAMPLES_OFFSET + LEAST * SAMPLE_BYTES) as u64).expect("room");
            let written = Written { path, file, head: 0, text: 0 };
            written.put(offset_of!(Header, version), &VERSION.to_ne_bytes());
            written.put(offset_of!(Header, process), &process.to_ne_bytes());
            let own = fs::read_link("/proc/self/ns/pid").expect("a namespace");
            let own = namespace(own.as_os_str().as_encoded_bytes());
            written.put(offset_of!(Header, namespace), &own.to_ne_bytes());
            written.put(offset_of!(Header, made_ns), &made_ns.to_ne_bytes());
            written.put(offset_of!(Header, room), &(LEAST as u32).to_ne_bytes());
            written.put(offset_of!(Header, magic), &MAGIC.to_ne_bytes());
            written
        }

        fn put(&self, at: usize, bytes: &[u8]) {
            self.file.write_all_at(bytes, at as u64).expect("written");
        }

        fn map(&mut self, line: &str) {
            self.put(TEXT_OFFSET + self.text, line.as_bytes());
            self.text += line.len();
            self.put(offset_of!(Header, text_bytes), &(self.text as u32).to_ne_bytes());
        }

        fn sample(&mut self, address: u64) {
            let at = SAMPLES_OFFSET + (self.head % ROOM) as usize * SAMPLE_BYTES;
            self.put(at, &address.to_ne_bytes());
            self.put(at + 8, &mark(self.head, ROOM, 9).to_ne_bytes());
            self.head += 1;
            self.put(offset_of!(Header, head), &self.head.to_ne_bytes());
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("underbar-timers-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    fn places(tally: &Tally) -> BTreeMap<(String, u64), u64> {
        let name = |source: Option<&crate::tally::Source>| {
            source.map_or(String::new(), |source| source.path.display().to_string())
        };
        tally.places().map(|(source, offset, count)| ((name(source), offset), count)).collect()
    }

    /// Numbers that no process has.
    const DEAD: u32 = 4_194_400;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = b"7f00-7f80 r-xp 00001000 08:01 123                        /usr/lib/a b.so (deleted)";
        let record = |name: &str, offset| Record::Mapped {
            process: 7,
            start: 0x7f00,
            length: 0x80,
            offset,
            name: name.into(),
            build_id: Vec::new(),
        };
        assert_eq!(mapping(line, 7), Some(record("/usr/lib/a b.so", 0x1000)));
        assert_eq!(mapping(b"7f00-7f80 rwxp 00000000 00:00 0 ", 7), Some(record("//anon", 0)));
        assert_eq!(mapping(b"7f00-7f80 r-xp 00000000 00:00 0   [vdso]", 7), Some(record("[vdso]", 0)));
        for noise in
            ["", "7f00-7f80 rw-p 00000000 00:00 0", "x-y r-xp 0 0 0", "7f80-7f00 r-xp 0 0:0 0", "7f00"]
        {
            assert_eq!(mapping(noise.as_bytes(), 7), None, "{noise}");
        }
    }

    #[test]
    fn samples_are_read_once_around_the_ring_and_files_removed() {
        let folder = folder("ring");
        // Our own number: a process that lives.
        let mut area = Written::new(&folder, "a", std::process::id(), 5);
        area.map("1000-2000 r-xp 00000000 00:00 1 /bin/a\n");
        let mut timers = Timers::new();
        let paths = || vec![folder.join("a")];
        for round in 0..5 {
            for _ in 0..LEAST / 2 + 7 {
                area.sample(0x1010 + round);
            }
            timers.look(paths());
        }
        // Mapped later, recorded at the end.
        area.map("5000-6000 r-xp 00000200 00:00 1 /lib/b.so\n");
        area.sample(0x5010);
        area.put(offset_of!(Header, lost), &3_u64.to_ne_bytes());
        area.put(offset_of!(Header, untimed), &2_u32.to_ne_bytes());
        area.put(offset_of!(Header, state), &GAVE_WAY.to_ne_bytes());
        area.put(offset_of!(Header, signal), &44_u32.to_ne_bytes());
        let (tally, missing) = timers.end(paths(), 1);
        let each = (LEAST / 2 + 7) as u64;
        let expected: BTreeMap<_, _> = (0..5)
            .map(|round| (("/bin/a".to_owned(), 0x10 + round), each))
            .chain([(("/lib/b.so".to_owned(), 0x210), 1)])
            .collect();
        assert_eq!(places(&tally), expected);
        assert_eq!((tally.samples, tally.lost), (5 * each + 1, 3));
        assert_eq!(missing, Missing { gave_way: (1, 44), untimed: 2, ..Missing::default() });
        assert!(!area.path.exists());
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn a_process_that_goes_on_as_another_program_begins_anew() {
        let folder = folder("exec");
        let mut first = Written::new(&folder, "1", std::process::id(), 5);
        first.map("1000-2000 r-xp 00000000 00:00 1 /bin/first\n");
        first.sample(0x1010);
        let mut timers = Timers::new();
        timers.look(vec![first.path.clone()]);
        first.sample(0x1010);
        let mut second = Written::new(&folder, "0", std::process::id(), 6);
        second.map("1000-2000 r-xp 00000000 00:00 1 /bin/second\n");
        second.sample(0x1010);
        timers.look(vec![second.path.clone(), first.path.clone()]);
        assert!(!first.path.exists() && second.path.exists());
        second.sample(0x1010);
        let (tally, _) = timers.end(vec![second.path.clone()], 2);
        let expected =
            [("/bin/first", 2), ("/bin/second", 2)].map(|(name, count)| ((name.to_owned(), 0x10), count));
        assert_eq!(places(&tally), BTreeMap::from(expected));
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn what_a_killed_process_did_not_finish_is_lost_and_noise_is_no_area() {
        let folder = folder("killed");
        let mut area = Written::new(&folder, "a", DEAD, 5);
        area.sample(0x10);
        area.sample(0x20);
        // Begun only.
        area.put(offset_of!(Header, head), &4_u64.to_ne_bytes());
        fs::write(folder.join("short"), b"noise").expect("written");
        fs::write(folder.join("zeros"), vec![0; SAMPLES_OFFSET + 9]).expect("written");
        let odd = Written::new(&folder, "odd", DEAD, 5);
        odd.put(offset_of!(Header, room), &1000_u32.to_ne_bytes());
        // Its ring is incomplete.
        let cut = Written::new(&folder, "cut", DEAD + 1, 5);
        cut.put(offset_of!(Header, head), &u64::MAX.to_ne_bytes());
        cut.file.set_len(SAMPLES_OFFSET as u64 + 5).expect("cut");
        let paths = ["a", "short", "zeros", "odd", "cut", "absent"].map(|name| folder.join(name)).to_vec();
        let mut timers = Timers::new();
        timers.look(paths.clone());
        assert!(!area.path.exists(), "its process is gone");
        let (tally, missing) = timers.end(paths, 4);
        assert_eq!((tally.samples, tally.lost), (2, 2));
        assert_eq!(missing, Missing { placeless: 2, ..Missing::default() }, "of four, two had an area");
        assert_eq!(places(&tally), BTreeMap::from([((String::new(), 0x10), 1), ((String::new(), 0x20), 1)]));
        let _ = fs::remove_dir_all(folder);
    }
}
