//! `cargo xtask try-libraries DIR`: every reader over a folder of real files, and the results.
//!
//! One line for each library, in the form of the folder's `truth/`: the results of other readers, kept next to the files. If
//! there is such a folder, every line is compared with it. Real files are other people's: they are kept outside of the project.
//!
//! Invariant: an unreadable file is a line with the reason; a figure that differs from the truth is a failure.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use underbar_mainframe::container;
use underbar_mainframe::library::{Library, Member};
use underbar_mainframe::place::TRACK_LENGTH;
use underbar_mainframe::program::Program;
use underbar_mainframe::tree::{Item, Options, What};
use underbar_partitioned::track::D3390;

/// The output.
#[derive(Clone, Copy, Default)]
struct Flags {
    members: bool,
    programs: bool,
}

/// Reads a folder; true when nothing differs from the truth next to it.
pub fn command(words: &[&str]) -> Result<bool, String> {
    let usage = || "cargo xtask try-libraries DIR [--members] [--programs]".to_owned();
    let (mut flags, mut folder) = (Flags::default(), None);
    for word in words {
        match *word {
            "--members" => flags.members = true,
            "--programs" => flags.programs = true,
            path if folder.is_none() && !path.starts_with('-') => folder = Some(PathBuf::from(path)),
            _ => return Err(usage()),
        }
    }
    let folder = folder.ok_or_else(usage)?;
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let mut truth = Truth::default();
    for path in &paths {
        let found = Found::read(path, flags);
        found.print();
        truth.compare(&folder, path, &found);
    }
    println!("{} files; of the truth's lines {} agree, {} differ", paths.len(), truth.agree, truth.differ);
    Ok(truth.differ == 0)
}

/// The contents of a file: a line for each item, and the members of each library.
#[derive(Default)]
struct Found {
    lines: Vec<String>,
    members: Vec<String>,
    programs: Vec<String>,
    troubles: Vec<String>,
    flags: Flags,
}

impl Found {
    fn read(path: &Path, flags: Flags) -> Found {
        let mut found = Found { flags, ..Found::default() };
        match container::open(path, &Options::default()) {
            Ok(item) => {
                found.item(&item.name, "", &item);
                found.troubles = item.troubles().into_iter().map(ToString::to_string).collect();
            }
            Err(trouble) => found.troubles.push(trouble.to_string()),
        }
        found
    }

    fn item(&mut self, file: &str, way: &str, item: &Item) {
        let head = if way.is_empty() { file.to_owned() } else { format!("{file} | {way}") };
        match &item.what {
            What::Library(library) => {
                self.lines.push(format!("{head} | {}", figures(library)));
                self.members.push(format!("# {way}"));
                for member in &library.members {
                    self.members.push(members_line(library, member));
                    if library.label.programs {
                        self.programs.push(program_line(library, member));
                    }
                }
            }
            What::Transmission { header } => {
                let from = header.from_user.as_deref().unwrap_or("?");
                println!("{head}: transmission of {} by {from}", header.time.as_deref().unwrap_or("?"));
            }
            What::Tape { serial, packed, ended } => {
                let serial = serial.as_deref().unwrap_or("without label");
                println!("{head}: tape {serial}, compressed: {packed}, two marks at the end: {ended}");
            }
            What::Disk { serial, device, packed, cylinders, .. } => {
                println!("{head}: disk {serial}, {device}, {cylinders} cylinders, compressed: {packed}");
            }
            What::Terse { method } => println!("{head}: AMATERSE, {method}"),
            What::Module(module) => {
                let sections = module.symbols.iter().filter(|symbol| symbol.is_section()).count();
                println!(
                    "{head}: load module of {} bytes, {sections} sections, text {:?}",
                    item.bytes, module.text
                );
                println!("  {:?} {:?}", module.binder, module.translators);
                println!("  {:?}", module.symbols);
            }
            What::Object(object) => println!("{head}: program object {:?}", object.name),
            What::Message => println!("{head}: message, {:?}", item.data),
            What::DataSet { attributes } => {
                let (name, size) = (attributes.name.as_deref().unwrap_or("?"), attributes.block_size);
                println!("{head}: data set {name}, block size {size:?}, {:?}", item.data);
            }
            What::Foreign { what } => println!("{head}: {what}"),
            What::Unknown => println!("{head}: {} bytes that are not understood", item.bytes),
        }
        for (index, inner) in item.inner.iter().enumerate() {
            let own = match &item.what {
                What::Library(_) | What::Disk { .. } => inner.name.clone(),
                _ => format!("file {}", index + 1),
            };
            let way = if way.is_empty() { own } else { format!("{way} > {own}") };
            self.item(file, &way, inner);
        }
    }

    fn print(&self) {
        self.lines.iter().for_each(|line| println!("{line}"));
        if self.flags.members {
            self.members.iter().for_each(|line| println!("{line}"));
        }
        if self.flags.programs {
            self.programs.iter().for_each(|line| println!("{line}"));
        }
        self.troubles.iter().for_each(|line| println!("  fault: {line}"));
    }
}

/// A library's figures, in the order and the words of the truth.
fn figures(library: &Library) -> String {
    let counts = library.counts();
    format!(
        "recfm {:02x} blksize {} lrecl {} | entries {} primaries {} aliases {} | dirblocks {} extents {} cr1 {} \
         trklen {} | data blocks {} live bytes {} | tracks with data {}, last rel track {} | fullest {}",
        library.label.record_format.0,
        library.label.block_size,
        library.label.record_length,
        counts.entries,
        counts.primaries,
        counts.aliases,
        library.directory_blocks,
        library.label.extents.len(),
        library.label.header_length.unwrap_or(0),
        library.label.device.track_length,
        counts.data_blocks,
        counts.live_bytes,
        counts.tracks,
        counts.last_track,
        fullest(library),
    )
}

/// Cells of the fullest track of a 3390, blocks and ends of members; 0 on other devices.
fn fullest(library: &Library) -> u32 {
    if library.label.device.track_length != TRACK_LENGTH {
        return 0;
    }
    let mut tracks = std::collections::HashMap::new();
    let blocks = library.blocks.iter().map(|block| (block.ttr, block.length));
    for (ttr, length) in blocks.chain(library.ends.iter().map(|ttr| (*ttr, 0))) {
        *tracks.entry(ttr.track()).or_insert(0) += D3390.cost(length, 0);
    }
    tracks.into_values().max().unwrap_or(0)
}

/// Name, alias or not, place, blocks, bytes, digest of all blocks joined.
fn members_line(library: &Library, member: &Member) -> String {
    let mut digest = Sha256::new();
    let mut failed = None;
    for block in library.read_member(member) {
        match block {
            Ok(bytes) => digest.update(&bytes),
            Err(error) => failed = Some(error.to_string()),
        }
    }
    let mark = if member.alias { "A" } else { "-" };
    let (name, ttr, blocks, bytes) = (&member.name, member.ttr, member.blocks, member.bytes);
    let digest = failed.unwrap_or_else(|| hexadecimal(&digest.finalize()));
    format!("{name:<8} {mark} {ttr} {blocks} {bytes} {digest}")
}

/// A program's summary, in one line, and its faults.
fn program_line(library: &Library, member: &Member) -> String {
    let name = &member.name;
    match library.program(member, Options::default().page) {
        Ok((Program::Module(module), faults)) => {
            let sections = module.symbols.iter().filter(|symbol| symbol.is_section()).count();
            let text: Vec<u32> = module.text.iter().map(|text| text.length).collect();
            let binder =
                module.binder.map(|maker| format!("{} {}", maker.program, maker.day.unwrap_or_default()));
            let items = module.relocations.items;
            format!(
                "{name:<8} module: {sections} sections, text {text:?}, {items} relocations, {binder:?} {faults:?}"
            )
        }
        Ok((Program::Object(object), faults)) => {
            let sections: Vec<_> =
                object.sections.iter().map(|one| (one.id, one.offset, one.length)).collect();
            format!("{name:<8} object {:?}, {} bytes: {sections:?} {faults:?}", object.name, object.total)
        }
        Err(error) => format!("{name:<8} {error}"),
    }
}

/// Lines compared with those of other readers.
#[derive(Default)]
struct Truth {
    agree: usize,
    differ: usize,
}

impl Truth {
    fn compare(&mut self, folder: &Path, path: &Path, found: &Found) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // A map or another text next to a file may share its stem: only a file with a library counts.
        if found.lines.is_empty() {
            return;
        }
        self.lines(&folder.join("truth").join(format!("{name}.txt")), &found.lines);
        self.lines(&folder.join("truth").join(format!("{stem}.members.txt")), &found.members);
    }

    fn lines(&mut self, truth: &Path, found: &[String]) {
        let Ok(text) = fs::read_to_string(truth) else { return };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if found.iter().any(|one| one.trim_end() == line.trim_end()) {
                self.agree += 1;
            } else {
                self.differ += 1;
                println!("  differs: {line}");
            }
        }
        let expected = text.lines().filter(|line| !line.trim().is_empty()).count();
        if found.len() != expected {
            self.differ += 1;
            println!("  differs: {} lines found, {expected} in {}", found.len(), truth.display());
        }
    }
}

/// A hash in hexadecimal.
fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::hexadecimal;
    use sha2::{Digest, Sha256};

    fn check(bytes: &[u8], cut: usize) -> String {
        let mut digest = Sha256::new();
        bytes.chunks(cut).for_each(|part| digest.update(part));
        hexadecimal(&digest.finalize())
    }

    /// FIPS 180-4.
    #[test]
    fn digests_of_the_standard() {
        for cut in [1, 3, 63, 64, 65, 1000] {
            assert_eq!(check(b"", cut), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
            assert_eq!(
                check(b"abc", cut),
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            );
            assert_eq!(
                check(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", cut),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            );
            assert_eq!(
                check(&[b'a'; 1_000], cut),
                "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
            );
        }
    }

    #[test]
    fn hashes_of_the_standard() {
        let hex = |bytes: &[u8]| hexadecimal(&Sha256::digest(bytes));
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
}
