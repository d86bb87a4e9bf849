//! The machine and the limits of this process, by system calls: no file of `/proc` has to be opened and read.
//!
//! Invariant: a value that the kernel does not give is None or its error, never 0.
//! Not here: control groups, which the kernel shows in files only; clocks and pages ([`crate::syscall`]).

use core::ffi::CStr;

use crate::syscall::{Result, number, syscall3};

/// A resource with a limit (`ulimit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The length of a file that is written: bytes (`-f`). Beyond it, the kernel sends a signal that ends most programs.
    File = 1,
    /// Memory of its own that can be written: bytes (`-d`).
    Data = 2,
    /// The stack of the main thread, and of a thread that asks for no size: bytes (`-s`).
    Stack = 3,
    /// Address space: bytes (`-v`).
    AddressSpace = 9,
}

/// The soft limit of this process; None if there is none.
pub fn limit(resource: Resource) -> Result<Option<u64>> {
    const INFINITY: u64 = u64::MAX;
    let mut limits = [INFINITY; 2];
    // SAFETY: the kernel writes two words.
    unsafe { syscall3(number::GETRLIMIT, resource as usize, limits.as_mut_ptr() as usize, 0)? };
    Ok(Some(limits[0]).filter(|soft| *soft != INFINITY))
}

/// Columns of the terminal at this descriptor; None if it is no terminal or does not know.
#[must_use]
pub fn terminal_columns(fd: i32) -> Option<u16> {
    const TIOCGWINSZ: usize = 0x5413;
    // Rows, columns, and both in pixels.
    let mut size = [0_u16; 4];
    // SAFETY: the kernel writes one struct winsize, which is four short words.
    unsafe { syscall3(number::IOCTL, fd as isize as usize, TIOCGWINSZ, size.as_mut_ptr() as usize) }.ok()?;
    Some(size[1]).filter(|columns| *columns > 0)
}

/// `struct sysinfo` of x86-64; the last words pad it.
#[repr(C)]
#[derive(Default)]
struct Information {
    since_boot_and_loads: [u64; 4],
    memory: u64,
    other_memory: [u64; 5],
    processes: u64,
    high: [u64; 2],
    unit: u32,
    padding: u32,
}

const _: () = assert!(size_of::<Information>() == 112, "struct sysinfo of x86-64");

/// Memory that the kernel can use: bytes (`MemTotal`).
#[must_use]
pub fn memory() -> Option<u64> {
    let mut information = Information::default();
    // SAFETY: the kernel writes one struct sysinfo.
    unsafe { syscall3(number::SYSINFO, &raw mut information as usize, 0, 0) }.ok()?;
    information.memory.checked_mul(u64::from(information.unit)).filter(|bytes| *bytes != 0)
}

/// The kernel's names (`uname`).
pub struct Kernel([[u8; Kernel::FIELD]; 6]);

impl Kernel {
    const FIELD: usize = 65;

    /// Asks the kernel for them.
    #[must_use]
    pub fn ask() -> Option<Kernel> {
        let mut names = [[0; Self::FIELD]; 6];
        // SAFETY: the kernel writes one struct utsname, six fields of that many bytes.
        unsafe { syscall3(number::UNAME, names.as_mut_ptr() as usize, 0, 0) }.ok()?;
        Some(Kernel(names))
    }

    /// `Linux`, or the name of a layer that emulates it.
    #[must_use]
    pub fn system(&self) -> &str {
        self.field(0)
    }

    /// Its release, such as `6.1.0-26-amd64`.
    #[must_use]
    pub fn release(&self) -> &str {
        self.field(2)
    }

    fn field(&self, at: usize) -> &str {
        CStr::from_bytes_until_nul(&self.0[at]).ok().and_then(|name| name.to_str().ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_kernel_says_the_same_in_its_files() {
        let file = |path: &str| fs::read_to_string(path).expect(path);
        let kernel = Kernel::ask().expect("names");
        assert_eq!(kernel.system(), file("/proc/sys/kernel/ostype").trim());
        assert_eq!(kernel.release(), file("/proc/sys/kernel/osrelease").trim());
        let number = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok())
        };
        assert_eq!(memory(), number(&file("/proc/meminfo"), "MemTotal:").map(|kib| kib * 1024));
        let limits = file("/proc/self/limits");
        assert_eq!(limit(Resource::File), Ok(number(&limits, "Max file size")));
        assert_eq!(limit(Resource::Stack), Ok(number(&limits, "Max stack size")));
        assert_eq!(limit(Resource::AddressSpace), Ok(number(&limits, "Max address space")));
    }
}
