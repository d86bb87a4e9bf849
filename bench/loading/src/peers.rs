//! Other loaders: the system's, on a file and on a copy in memory, and one from a crate.

use std::ffi::{CStr, CString, c_void};

use elf_loader::{AddressSpaceId, Domain, Loader, Relocator};

use crate::{Entry, Program, Turns};

/// `dlopen` and `dlclose` of a file.
pub fn dlopen(program: &Program) -> Result<Box<dyn Turns>, String> {
    Ok(Box::new(System { path: program.path.clone(), symbol: symbol(program)? }))
}

/// `dlopen` and `dlclose` of a copy in memory, which each turn makes anew.
pub fn memfd(program: &Program) -> Result<Box<dyn Turns>, String> {
    let bytes = std::fs::read(path(program)?).map_err(|error| error.to_string())?;
    Ok(Box::new(Memory { bytes, symbol: symbol(program)? }))
}

/// The crate.
pub fn elf_loader(program: &Program) -> Result<Box<dyn Turns>, String> {
    Ok(Box::new(Crate { path: path(program)?, symbol: program.member.clone() }))
}

fn path(program: &Program) -> Result<String, String> {
    program.path.to_str().map(str::to_owned).map_err(|error| error.to_string())
}

fn symbol(program: &Program) -> Result<CString, String> {
    CString::new(program.member.as_str()).map_err(|error| error.to_string())
}

struct System {
    path: CString,
    symbol: CString,
}

impl Turns for System {
    fn turn(&mut self) -> Result<i32, String> {
        by_system(&self.path, &self.symbol)
    }

    fn check(&self, _: u64) -> Result<(), String> {
        Ok(())
    }
}

fn by_system(path: &CStr, symbol: &CStr) -> Result<i32, String> {
    // SAFETY: the program has one function, which has this type; the pointer is used while the handle is open.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        if handle.is_null() {
            return Err("dlopen refused".to_owned());
        }
        let entry: *mut c_void = libc::dlsym(handle, symbol.as_ptr());
        if entry.is_null() {
            return Err("no such function".to_owned());
        }
        let given = std::mem::transmute::<*mut c_void, Entry>(entry)(41);
        libc::dlclose(handle);
        Ok(given)
    }
}

struct Memory {
    bytes: Vec<u8>,
    symbol: CString,
}

impl Turns for Memory {
    fn turn(&mut self) -> Result<i32, String> {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let file = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC);
        let mut file = std::fs::File::from(file.map_err(|error| error.to_string())?);
        file.write_all(&self.bytes).map_err(|error| error.to_string())?;
        let path =
            CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|error| error.to_string())?;
        by_system(&path, &self.symbol)
    }

    fn check(&self, _: u64) -> Result<(), String> {
        Ok(())
    }
}

/// As in the crate's examples: made once.
static LOADER: Loader = Loader::new();

struct Crate {
    path: String,
    symbol: String,
}

impl Turns for Crate {
    fn turn(&mut self) -> Result<i32, String> {
        let wrong = |error: elf_loader::Error| error.to_string();
        let mut loader = LOADER.run(Domain::native(AddressSpaceId::PROCESS));
        let loaded = loader.load_dylib(self.path.as_str()).map_err(wrong)?;
        let program = Relocator::new().run(loaded).relocate().map_err(wrong)?;
        // SAFETY: the function has this type; it is called while the program is loaded.
        unsafe {
            let entry = program.get::<Entry>(&self.symbol).map_err(wrong)?.ok_or("no such function")?;
            Ok((*entry)(41))
        }
    }

    fn check(&self, _: u64) -> Result<(), String> {
        Ok(())
    }
}
