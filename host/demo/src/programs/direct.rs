//! A file read past the page cache (`O_DIRECT`): each request goes to the device.
//!
//! ```text
//! wanted:            |=======|              read from the device: |...=======..|   whole pages, at least `span` bytes
//! ```
//!
//! Invariant: the data of the last request is used until a call of [`Direct::forget`]; nothing else is kept.
//! Not here: which data is read (`loads`).

use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use underbar_partitioned::read::{ReadAt, Unread};

/// `O_DIRECT` of x86-64's `fcntl.h`.
const O_DIRECT: i32 = 0o40000;
/// The largest alignment that devices require of offsets, lengths and storage.
const PAGE: usize = 4096;
/// More than the largest block, a track and the padding for alignment.
const ROOM: usize = 128 << 10;

/// A file open past the page cache.
pub struct Direct {
    file: File,
    window: RefCell<Window>,
    span: Cell<usize>,
    requests: Cell<u64>,
}

/// The data of the last request.
struct Window {
    room: Vec<u8>,
    /// Bytes of `room` before the first page.
    skipped: usize,
    from: u64,
    length: usize,
}

impl Direct {
    /// Opens a file.
    ///
    /// # Errors
    /// `InvalidInput` if the file system does not support this; else the system's error.
    pub fn open(path: &Path) -> io::Result<Direct> {
        let file = OpenOptions::new().read(true).custom_flags(O_DIRECT).open(path)?;
        let room = vec![0; ROOM + PAGE];
        let skipped = room.as_ptr().align_offset(PAGE);
        let window = RefCell::new(Window { room, skipped, from: 0, length: 0 });
        let direct = Direct { file, window, span: Cell::new(PAGE), requests: Cell::new(0) };
        // Some file systems accept the flag and refuse the first request.
        direct.request(0, PAGE)?;
        Ok(direct)
    }

    /// Discards the data of the last request; further requests are for at least `span` bytes.
    pub fn forget(&self, span: usize) {
        self.window.borrow_mut().length = 0;
        self.span.set(span);
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Reads this many bytes, or as many as fit into the room, in whole pages.
    fn request(&self, offset: u64, length: usize) -> io::Result<()> {
        let from = offset & !(PAGE as u64 - 1);
        let wanted = (offset - from) as usize + length.max(self.span.get());
        let wanted = wanted.next_multiple_of(PAGE).min(ROOM);
        let mut window = self.window.borrow_mut();
        window.length = 0;
        let skipped = window.skipped;
        let got = loop {
            self.requests.set(self.requests.get() + 1);
            match self.file.read_at(&mut window.room[skipped..skipped + wanted], from) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        (window.from, window.length) = (from, got);
        Ok(())
    }
}

impl ReadAt for Direct {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), Unread> {
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let copied = self.window.borrow().copy(at, &mut into[done..]);
            if copied == 0 {
                let length = into.len() - done;
                self.request(at, length)
                    .map_err(|error| Unread::System(error.raw_os_error().unwrap_or(0)))?;
                if !self.window.borrow().holds(at) {
                    return Err(Unread::End);
                }
            }
            done += copied;
        }
        Ok(())
    }
}

impl Window {
    fn holds(&self, offset: u64) -> bool {
        offset >= self.from && offset - self.from < self.length as u64
    }

    /// Copies the data that is available from an offset on; returns its length.
    fn copy(&self, offset: u64, into: &mut [u8]) -> usize {
        if !self.holds(offset) {
            return 0;
        }
        let begin = (offset - self.from) as usize;
        let length = into.len().min(self.length - begin);
        let begin = self.skipped + begin;
        into[..length].copy_from_slice(&self.room[begin..begin + length]);
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_the_file_holds() {
        let path = std::env::temp_dir().join(format!("underbar-direct-{}", std::process::id()));
        let bytes: Vec<u8> = (0..300_001_u32).map(|number| (number % 251) as u8).collect();
        std::fs::write(&path, &bytes).expect("written");
        // If the file system has no such reads, there is nothing to compare.
        if let Ok(direct) = Direct::open(&path) {
            let mut before = direct.requests();
            for (at, length, requests) in [
                (0_usize, 4096_usize, 0),
                (4095, 2, 1),
                (4096, 4096, 0),
                (100_000, 150_000, 2),
                (299_999, 2, 1),
            ] {
                let mut into = vec![0; length];
                direct.read_at(at as u64, &mut into).expect("read");
                assert_eq!(into, bytes[at..at + length]);
                assert_eq!(direct.requests() - before, requests, "{at} {length}");
                before = direct.requests();
            }
            direct.forget(57_344);
            direct.read_at(0, &mut [0; 10]).expect("read");
            direct.read_at(57_000, &mut [0; 300]).expect("read");
            assert_eq!(direct.requests() - before, 1, "a track at once");
            assert_eq!(direct.read_at(300_000, &mut [0; 2]), Err(Unread::End));
            assert_eq!(direct.read_at(1 << 40, &mut [0; 2]), Err(Unread::End));
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
