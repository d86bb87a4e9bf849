//! PyPI's xmi-reader as an oracle: it reads our transmissions, and we read its own.
//!
//! Run by `cargo xtask test` only, which installs the package and gives its Python.

use super::super::container;
use super::super::tree::Options;
use super::hercules::{Scratch, contents, run};
use super::sample::{PAGE, programs, texts};

/// Each member's name, length and the sum of its bytes, each with a factor that tells its place.
const LIST: &str = "
import sys, xmi
file = xmi.open_file(sys.argv[1], loglevel=50)
for name in file.get_files():
    for member in file.get_members(name):
        if file.is_alias(name, member): print(member, 'alias', file.get_alias(name, member)); continue
        data = file.get_member_binary(name, member)
        print(member, len(data), sum((at % 251 + 1) * byte for at, byte in enumerate(data)))
";
const MAKE: &str = "
import sys, xmi
xmi.create_xmi(sys.argv[1], output_file=sys.argv[2], dsn='THEIR.LIBRARY', lrecl=80, recfm='FB', encoding='cp1140', loglevel=50)
";

/// The Python that has the package.
fn python() -> String {
    std::env::var("XMI_READER_PYTHON").expect("cargo xtask test sets it")
}

fn line(name: &str, bytes: &[u8]) -> String {
    let sum: u64 = bytes.iter().enumerate().map(|(at, byte)| (at as u64 % 251 + 1) * u64::from(*byte)).sum();
    format!("{name} {} {sum}", bytes.len())
}

#[test]
#[ignore = "cargo xtask test installs xmi-reader, and runs it"]
fn xmi_reader_lists_and_extracts_what_we_write() {
    let scratch = Scratch::new("xmi-reader");
    for (file, sample) in [("programs.xmi", programs()), ("texts.xmi", texts(&[("MORE", vec![0xC1; 8_000])]))]
    {
        std::fs::write(scratch.0.join(file), sample.xmit("MY.LIBRARY")).unwrap();
        let theirs = String::from_utf8(run(&scratch.0, &python(), &["-c", LIST, file])).unwrap();
        let mut theirs: Vec<&str> = theirs.lines().collect();
        let mut ours = Vec::new();
        for (member, blocks) in sample.outgoing.members.iter().zip(&sample.data) {
            let name = member.title.name.text(PAGE);
            ours.push(line(&name, &blocks.concat()));
            ours.extend(member.aliases.iter().map(|alias| format!("{} alias {name}", alias.name.text(PAGE))));
        }
        ours.sort();
        theirs.sort_unstable();
        assert_eq!(theirs, ours, "{file}");
    }
}

#[test]
#[ignore = "cargo xtask test installs xmi-reader, and runs it"]
fn we_list_and_extract_what_xmi_reader_writes() {
    let scratch = Scratch::new("xmi-writer");
    let folder = scratch.0.join("made");
    std::fs::create_dir(&folder).unwrap();
    let members = [("ALPHA", 1), ("BETA", 300), ("GAMMA", 5)];
    for (name, lines) in members {
        let text: String = (0..lines).map(|number| format!("LINE {number} OF {name}\n")).collect();
        std::fs::write(folder.join(format!("{name}.txt")), text).unwrap();
    }
    run(&scratch.0, &python(), &["-c", MAKE, "made", "theirs.xmi"]);
    let item = container::open(&scratch.0.join("theirs.xmi"), &Options::default()).unwrap();
    assert!(item.troubles().is_empty(), "{:?}", item.troubles());
    let libraries = item.libraries();
    let found = contents(libraries[0].1);
    assert_eq!(found.len(), members.len());
    for ((name, alias_of, blocks), (expected, lines)) in found.iter().zip(members) {
        assert_eq!((name.as_str(), alias_of), (expected, &None));
        let bytes = blocks.concat();
        assert_eq!(bytes.len(), lines * 80);
        for (number, record) in bytes.chunks(80).enumerate() {
            assert_eq!(PAGE.decode(record).trim_end(), format!("LINE {number} OF {name}"));
        }
    }
}
