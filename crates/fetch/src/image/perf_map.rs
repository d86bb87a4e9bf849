//! The functions of a program, in the format by which profilers read functions outside program files: one line each.
//!
//! ```text
//! UNDERBAR_PERF_MAP=FOLDER ──> FOLDER/perf-PID.map:   7f12a4010 3e report_line [/srv/job.pds(REPORT)]
//!                                                     address   bytes  function  library and member
//! ```
//!
//! `perf` reads /tmp/perf-PID.map for addresses in anonymous memory. `underbar profile` reads such files in a separate folder,
//! also for members of libraries that are mapped. All functions of the file are written, including those that are not
//! exported, if the file has them.
//!
//! Invariant: nothing is written unless the variable is set, and only whole lines; anything that cannot be written is omitted.
//! Known limit: a line stays after its program was given back.
//! Not here: programs with their own file: profilers find their names there. Debuggers (`debugger`).

use core::ffi::CStr;
use core::sync::atomic::{AtomicI32, Ordering};

use underbar_sys::file::fstat;
use underbar_sys::syscall::{self, O_CLOEXEC, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY};

use super::Image;
use crate::content::Content;
use crate::elf::{LoadedBytes, Symbol, Table, Tables};
use crate::path_room::PathRoom;
use crate::system;

/// The variable that names the folder.
pub const VARIABLE: &CStr = c"UNDERBAR_PERF_MAP";

const O_TRUNC: u32 = 0o1000;
const O_APPEND: u32 = 0o2000;
/// Maximum number of bytes of a name.
const MOST_NAME: usize = 512;

/// The process that has started its file.
static BEGUN: AtomicI32 = AtomicI32::new(0);

/// The folder, if a file is wanted.
fn folder<'a>() -> Option<&'a CStr> {
    // SAFETY: a C string; the result is null, or a string that stays as long as the environment.
    unsafe {
        let folder = system::secure_getenv(VARIABLE.as_ptr());
        (!folder.is_null()).then(|| CStr::from_ptr(folder))
    }
}

/// A forked child has the programs of its parent but another process number: it gets a copy of the file.
pub(super) fn forked() {
    let parent = BEGUN.load(Ordering::Relaxed);
    let Some(folder) = folder().filter(|_| parent != 0) else { return };
    let mut room = PathRoom::default();
    let Some(from) = path(folder, parent, &mut room) else { return };
    let Ok(from) = syscall::open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0) else { return };
    if let Some(mut lines) = Lines::open(folder) {
        let mut at = 0;
        while let Ok(length @ 1..) = syscall::pread(from, &mut lines.bytes, at) {
            (lines.used, at) = (length, at + length as u64);
            lines.flush();
        }
    }
    let _ = syscall::close(from);
}

/// The file of a process.
fn path<'a>(folder: &CStr, process: i32, room: &'a mut PathRoom) -> Option<&'a CStr> {
    let mut digits = [0; 20];
    let number = digits_of(process.unsigned_abs().into(), 10, &mut digits);
    room.join(&[folder.to_bytes(), b"/perf-", number, b".map"])
}

/// Writes the functions of the program with these bytes. `title` is its library and its name.
pub fn tell(image: &Image, content: &dyn Content, title: &CStr) {
    let Some(mut lines) = folder().and_then(Lines::open) else { return };
    let mut each = |symbol: &Symbol, name: &[u8]| {
        let is_code = image.layout.segment(symbol.value, 1).is_some_and(|segment| segment.is_executable());
        if symbol.is_defined() && symbol.is_function() && symbol.size > 0 && is_code {
            let address = image.bias().wrapping_add(symbol.value as usize);
            lines.add(address as u64, symbol.size, &[name, b" [", title.to_bytes(), b"]"]);
        }
    };
    if all_symbols(content, &mut each).is_none() {
        exported(image, &mut each);
    }
    lines.flush();
}

/// The symbols that the loaded program exports.
fn exported(image: &Image, each: &mut dyn FnMut(&Symbol, &[u8])) {
    // SAFETY: mapped as long as the image.
    let memory = unsafe { LoadedBytes::new(image.bias(), &image.layout) };
    let Ok(tables) = Tables::read(&image.dynamic, &memory) else { return };
    for number in 1..tables.count() {
        if let Some(symbol) = tables.symbol(number)
            && let Ok((name, length)) = tables.name(number, &symbol)
        {
            let mut room = [0; MOST_NAME];
            let taken = length.min(MOST_NAME);
            for (at, byte) in room.iter_mut().take(taken).enumerate() {
                *byte = name.read(at).unwrap_or(b'?');
            }
            each(&symbol, room.get(..taken).unwrap_or_default());
        }
    }
}

/// All symbols of a file that was not stripped; none if it was.
fn all_symbols(content: &dyn Content, each: &mut dyn FnMut(&Symbol, &[u8])) -> Option<()> {
    const SECTION: usize = 64;
    const SYMBOLS: u32 = 2;
    const AT_ONCE: usize = 64;
    let mut header = [0; 64];
    content.read(0, &mut header).ok()?;
    let header = Table::of(&header);
    let (start, count) = (header.read::<u64>(40)?, header.read::<u16>(60)?);
    let section = |number: u32| {
        let mut bytes = [0; SECTION];
        content.read(start.checked_add(u64::from(number) * SECTION as u64)?, &mut bytes).ok()?;
        Some(bytes)
    };
    let found =
        (0..u32::from(count)).filter_map(section).find(|bytes| Table::of(bytes).read(4) == Some(SYMBOLS))?;
    let found = Table::of(&found);
    let names = section(found.read(40)?)?;
    let names = Table::of(&names);
    let (names, names_size) = (names.read::<u64>(24)?, names.read::<u64>(32)?);
    let (mut at, size) = (found.read::<u64>(24)?, found.read::<u64>(32)?);
    let end = at.checked_add(size).filter(|end| *end <= content.length())?;
    let mut bytes = [0; AT_ONCE * size_of::<Symbol>()];
    while at < end {
        let length = (end - at).min(bytes.len() as u64) as usize;
        let part = bytes.get_mut(..length)?;
        content.read(at, part).ok()?;
        at += length as u64;
        let part = Table::of(part);
        for number in 0..length / size_of::<Symbol>() {
            let symbol = part.read::<Symbol>(number * size_of::<Symbol>())?;
            if symbol.is_function() && symbol.is_defined() {
                let mut room = [0; MOST_NAME];
                let left = names_size.saturating_sub(symbol.name.into()).min(MOST_NAME as u64) as usize;
                let room = room.get_mut(..left)?;
                content.read(names.checked_add(symbol.name.into())?, room).ok()?;
                let end = room.iter().position(|byte| *byte == 0).unwrap_or(room.len());
                each(&symbol, room.get(..end)?);
            }
        }
    }
    Some(())
}

/// The file while it is written, always with whole lines.
struct Lines {
    fd: i32,
    bytes: [u8; 4096],
    used: usize,
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = syscall::close(self.fd);
    }
}

impl Lines {
    /// The file of this process, empty at its first program.
    fn open(folder: &CStr) -> Option<Lines> {
        let process = syscall::getpid();
        let mut room = PathRoom::default();
        let path = path(folder, process, &mut room)?;
        let begins = BEGUN.swap(process, Ordering::Relaxed) != process;
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        let fd = syscall::open(path, flags | if begins { O_TRUNC } else { 0 }, 0o600).ok()?;
        let lines = Lines { fd, bytes: [0; 4096], used: 0 };
        fstat(fd).is_ok_and(|status| status.is_regular()).then_some(lines)
    }

    /// Writes a line, unless it is longer than one write.
    fn add(&mut self, address: u64, size: u64, name: &[&[u8]]) {
        let (mut first, mut second) = ([0; 20], [0; 20]);
        let numbers = [digits_of(address, 16, &mut first), b" ", digits_of(size, 16, &mut second), b" "];
        let parts = || numbers.iter().chain(name).copied().chain([&b"\n"[..]]);
        let length: usize = parts().map(<[u8]>::len).sum();
        if length > self.bytes.len() - self.used {
            self.flush();
        }
        let Some(into) = self.bytes.get_mut(self.used..self.used + length) else { return };
        for (to, byte) in into.iter_mut().zip(parts().flatten()) {
            *to = *byte;
        }
        // A name with a line end in it is still one line.
        let end = into.len() - 1;
        into.iter_mut().take(end).filter(|byte| **byte < b' ').for_each(|byte| *byte = b'?');
        self.used += length;
    }

    fn flush(&mut self) {
        let mut left = self.bytes.get(..self.used).unwrap_or_default();
        while let Ok(done @ 1..) = syscall::write(self.fd, left) {
            left = left.get(done..).unwrap_or_default();
            if left.is_empty() {
                break;
            }
        }
        self.used = 0;
    }
}

fn digits_of(mut number: u64, base: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut from = room.len();
    for place in room.iter_mut().rev() {
        *place = b"0123456789abcdef"[(number % base) as usize & 15];
        (number, from) = (number / base, from - 1);
        if number == 0 {
            break;
        }
    }
    &room[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_digits() {
        let mut room = [0; 20];
        for (number, base, text) in
            [(0, 10, "0"), (4_711, 10, "4711"), (0x7f12, 16, "7f12"), (u64::MAX, 10, "18446744073709551615")]
        {
            assert_eq!(digits_of(number, base, &mut room), text.as_bytes());
        }
    }
}
