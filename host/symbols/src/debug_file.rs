//! The separate file with the debug data of a stripped program.
//!
//! ```text
//! build id    /usr/lib/debug/.build-id/12/3456....debug     the same build id
//! link        FOLDER/NAME, FOLDER/.debug/NAME, /usr/lib/debug/FOLDER/NAME     the CRC that the program names
//! ```
//!
//! Invariant: a file that is not of this very program is not taken; a name with a folder in it is not followed, and neither is a FIFO
//! or a device.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use object::Object;
use object::read::ReadCache;

/// The folder in which distributions keep them.
const FOLDER: &str = "/usr/lib/debug";

/// The name of a debug file and its CRC, as `.gnu_debuglink` has them.
pub type Link = (Vec<u8>, u32);

/// Opens the debug file of a program.
pub fn open(program: &Path, build_id: Option<&[u8]>, link: Option<&Link>) -> Option<File> {
    if let Some(build_id) = build_id
        && let Some(path) = by_build_id(build_id)
        && let Some(file) = open_regular(&path)
        && has_build_id(&file, build_id)
    {
        return Some(file);
    }
    let (name, crc) = link?;
    candidates(program, name)?.into_iter().find_map(|path| {
        let file = open_regular(&path)?;
        (crc_of(file.try_clone().ok()?).ok()? == *crc).then_some(())?;
        Some(file)
    })
}

/// Opens a regular file: opening does not wait for the writer of a FIFO, and a device is not even opened.
pub fn open_regular(path: &Path) -> Option<File> {
    const NONBLOCK_NOCTTY: i32 = 0o4400;
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = OpenOptions::new().read(true).custom_flags(NONBLOCK_NOCTTY).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

fn by_build_id(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(PathBuf::from(format!("{FOLDER}/.build-id/{first:02x}/{rest}.debug")))
}

fn has_build_id(file: &File, build_id: &[u8]) -> bool {
    let Ok(file) = file.try_clone() else { return false };
    let cache = ReadCache::new(file);
    let Ok(file) = object::File::parse(&cache) else { return false };
    file.build_id().ok().flatten() == Some(build_id)
}

fn candidates(program: &Path, name: &[u8]) -> Option<[PathBuf; 3]> {
    if name.is_empty() || name.contains(&b'/') || name == b"." || name == b".." {
        return None;
    }
    let name = Path::new(std::ffi::OsStr::from_bytes(name));
    let program = program.canonicalize().ok()?;
    let folder = program.parent()?;
    let below = Path::new(FOLDER).join(folder.strip_prefix("/").ok()?);
    Some([folder.join(name), folder.join(".debug").join(name), below.join(name)])
}

/// The CRC of `.gnu_debuglink`: that of zlib.
fn crc_of(mut file: File) -> io::Result<u32> {
    let table: [u32; 256] = std::array::from_fn(|at| {
        (0..8).fold(at as u32, |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
    });
    let mut crc = !0_u32;
    let mut bytes = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut bytes)?;
        if read == 0 {
            return Ok(!crc);
        }
        for byte in &bytes[..read] {
            crc = table[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_zlib() {
        let path = std::env::temp_dir().join(format!("underbar-crc-{}", std::process::id()));
        std::fs::write(&path, b"123456789").expect("a file");
        let crc = crc_of(File::open(&path).expect("the file")).expect("its bytes");
        let _ = std::fs::remove_file(&path);
        assert_eq!(crc, 0xcbf4_3926);
    }

    #[test]
    fn links_lead_to_no_other_folder() {
        let program = std::env::current_exe().expect("a path");
        for name in [&b""[..], b"../x", b"/etc/passwd", b"..", b"."] {
            assert_eq!(candidates(&program, name), None, "{name:?}");
        }
        assert!(candidates(&program, b"x.debug").is_some());
        assert!(open(&program, Some(&[]), Some(&(b"absent.debug".to_vec(), 0))).is_none());
    }
}
