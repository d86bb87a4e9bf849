//! The library's data that the start of a process touches, by valgrind's trace of memory.
//!
//! A process gets a page of data when it first touches it: half a microsecond for a page of zeros, one for a copy of the file's, and 4 KiB
//! of its own memory. The statics of a start are small and many, and lie in as many pages if the linker places them.
//!
//! Invariant: small ones come first, so that one of which only the first bytes are touched is last.
//! Not here: data with addresses that never changes afterwards (`.data.rel.ro`): the loader touches all of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::without_hashes;
use crate::steps::command;

/// A static: of zeros, or with a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Static {
    bytes: u64,
    name: String,
    address: u64,
    is_zero: bool,
}

/// Larger ones keep their place: a start touches few of their pages. So do whole pages, which begin with one.
const LARGEST: u64 = 16 << 10;
const PAGE: u64 = 4096;

/// The statics of the library that the program touches when it only starts.
///
/// # Errors
/// The system's, or of the program or its trace.
pub fn touched(
    folder: &Path,
    before: &[&str],
    program: &str,
    library: &Path,
) -> io::Result<BTreeSet<Static>> {
    let file = folder.join("trace");
    let log = format!("--log-file={}", file.display());
    let valgrind = ["valgrind", "--tool=lackey", "--trace-mem=yes", &log, program, "start"];
    let words = [before, &valgrind].concat();
    let Some((first, rest)) = words.split_first() else { return Err(io::Error::other("nothing to run")) };
    let said = command(first, rest).output()?;
    let said = String::from_utf8_lossy(&said.stdout);
    let base = said.lines().find_map(hexadecimal).ok_or_else(|| io::Error::other("the program failed"))?;
    let symbols = command("nm", &["-S", "--defined-only"]).arg(library).output()?;
    let all = statics(&String::from_utf8_lossy(&symbols.stdout));
    let mut touched = BTreeSet::new();
    for line in BufReader::new(fs::File::open(file)?).lines() {
        let line = line?;
        let Some(address) = accessed(&line).and_then(|address| address.checked_sub(base)) else { continue };
        let at = all.partition_point(|one| one.address <= address);
        if let Some(one) = at.checked_sub(1).and_then(|at| all.get(at))
            && address < one.address + one.bytes
            && one.bytes <= LARGEST
            && !one.bytes.is_multiple_of(PAGE)
        {
            touched.insert(one.clone());
        }
    }
    Ok(touched)
}

/// The address in `0x7f00`.
fn hexadecimal(line: &str) -> Option<u64> {
    u64::from_str_radix(line.strip_prefix("0x")?, 16).ok()
}

/// The address in ` L 1ffefff,8`: a load, a store or both. Instructions begin with `I`.
fn accessed(line: &str) -> Option<u64> {
    let (address, _) = line
        .strip_prefix(" L ")
        .or(line.strip_prefix(" S "))
        .or(line.strip_prefix(" M "))?
        .split_once(',')?;
    u64::from_str_radix(address, 16).ok()
}

/// The statics that `nm` lists, by address.
fn statics(symbols: &str) -> Vec<Static> {
    let mut all: Vec<Static> = symbols.lines().filter_map(of_line).collect();
    all.sort_by_key(|one| one.address);
    all
}

fn of_line(line: &str) -> Option<Static> {
    let mut words = line.split(' ');
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (address, bytes) = (number()?, number()?);
    let is_zero = match words.next()? {
        "b" | "B" => true,
        "d" | "D" => false,
        _ => return None,
    };
    Some(Static { bytes, name: words.next()?.to_owned(), address, is_zero })
}

/// The linker's script: sections of these statics before all others.
pub fn script(touched: &BTreeSet<Static>) -> String {
    // From the start of a page on, those with values are in as few pages as they can be; zeros follow the other values.
    let of = |section: &str, others: &str, align: &str, is_zero: bool| {
        let chosen = touched.iter().filter(|one| one.is_zero == is_zero);
        let lines = chosen.map(|one| format!("    *(.{section}.{})\n", without_hashes(&one.name)));
        let mut seen = BTreeSet::new();
        let lines: String = lines.filter(|line| seen.insert(line.clone())).collect();
        // The C compiler's own words of each library, which it touches at start and end.
        let own = format!("    *crtbegin*(.{section}{others})\n");
        format!(
            "SECTIONS\n{{\n  .{section}.run :{align}\n  {{\n{own}{lines}  }}\n}}\nINSERT BEFORE .{section};\n"
        )
    };
    of("data", " .data.rel.local", " ALIGN(4096)", false) + &of("bss", "", "", true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &str = "\
0000000000000100 0000000000000008 b _ZN1a1bE
0000000000000080 0000000000000010 D c
0000000000000200 0000000000000020 T function
0000000000000300 U strlen";

    #[test]
    fn statics_are_found_by_address() {
        let all = statics(SYMBOLS);
        let [first, second] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((first.address, first.bytes, first.name.as_str(), first.is_zero), (0x80, 16, "c", false));
        assert_eq!((second.address, second.is_zero), (0x100, true));
    }

    #[test]
    fn loads_and_stores_have_addresses() {
        assert_eq!(accessed(" L 1ffeffe7e,8"), Some(0x1_ffef_fe7e));
        assert_eq!(accessed(" M 10,4"), Some(16));
        assert_eq!(accessed("I  0023C790,2"), None);
        assert_eq!(accessed("==5== Command: x"), None);
        assert_eq!(hexadecimal("0x10"), Some(16));
    }

    #[test]
    fn small_ones_come_first() {
        let of = |bytes, name: &str, is_zero| Static { bytes, name: name.to_owned(), address: 0, is_zero };
        let touched = BTreeSet::from([
            of(100, "_ZN1a5LARGE17h0123456789abcdefE", true),
            of(8, "_ZN1a5SMALL17h0123456789abcdefE.0", true),
            of(8, "_ZN1a5SMALL17h0123456789abcdefE.1", true),
            of(8, "value", false),
        ]);
        let script = script(&touched);
        assert!(
            script.contains(".bss.run :\n  {\n    *crtbegin*(.bss)\n    *(.bss._ZN1a5SMALL17h*)\n    *(.bss._ZN1a5LARGE17h*)\n  }"),
            "{script}"
        );
        assert!(
            script.contains(
                ".data.run : ALIGN(4096)\n  {\n    *crtbegin*(.data .data.rel.local)\n    *(.data.value)\n  }"
            ),
            "{script}"
        );
    }
}
