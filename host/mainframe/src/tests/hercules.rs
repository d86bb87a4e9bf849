//! The emulator Hercules as an oracle: it loads our transmissions onto disks, and we read its disks.
//!
//! Skipped with a message if its programs are not installed (Debian's package `hercules`).

use super::super::container;
use super::super::inflate::Method;
use super::super::library::Library;
use super::super::tree::{Options, What};
use super::carriers::labelled_tape;
use super::sample::{Sample, programs, texts};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of its own for a test.
pub(super) struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("underbar-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn installed(test: &str) -> bool {
    let found = ["dasdload", "dasdls", "dasdcat", "hetupd"].iter().all(|program| {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
    });
    if !found {
        underbar_zoo::skip(&format!("{test}: needs the package hercules"));
    }
    found
}

/// What a program of Hercules prints. One that fails is started again, at most twice, without the files that it left:
/// `dasdload` fails now and then on a busy machine, with no message, and works with the same input.
pub(super) fn run(folder: &Path, program: &str, words: &[&str]) -> Vec<u8> {
    let files = || -> BTreeSet<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let given = files();
    let mut failures = Vec::new();
    while failures.len() < 3 {
        let done = Command::new(program).args(words).current_dir(folder).output().unwrap();
        if done.status.success() {
            return done.stdout;
        }
        let told = String::from_utf8_lossy(&[done.stderr, done.stdout].concat()).into_owned();
        eprintln!("{program} {words:?}: {}: {told}", done.status);
        failures.push(done.status);
        files().difference(&given).for_each(|left| std::fs::remove_file(left).unwrap());
    }
    panic!("{program} {words:?}: {failures:?}");
}

/// Names with their blocks.
pub(super) fn contents(library: &Library) -> Vec<(String, Option<String>, Vec<Vec<u8>>)> {
    let read = |member: &super::super::library::Member| {
        let blocks = library.read_member(member).map(Result::unwrap).collect();
        (member.name.clone(), member.alias_of.clone(), blocks)
    };
    library.members.iter().map(read).collect()
}

fn ours(sample: &Sample) -> Vec<(String, Option<String>, Vec<Vec<u8>>)> {
    let source = super::super::source::Memory::shared(sample.xmit("MY.LIBRARY"));
    contents(container::examine("OURS", source, &Options::default()).libraries()[0].1)
}

#[test]
fn dasdload_loads_our_transmissions_and_we_read_its_disks() {
    if !installed("dasdload_loads_our_transmissions_and_we_read_its_disks") {
        return;
    }
    let scratch = Scratch::new("dasdload");
    let folder = &scratch.0;
    let samples = [("PGM.LOAD", programs()), ("SOME.TEXT", texts(&[("MORE", vec![0xC1; 9_000])]))];
    let mut control = "TEST01 3390-1 20\nSYSVTOC VTOC TRK 2\n".to_owned();
    for (name, sample) in &samples {
        std::fs::write(folder.join(format!("{name}.xmi")), sample.xmit(name)).unwrap();
        control += &format!("{name} XMIT {name}.xmi CYL 2\n");
    }
    std::fs::write(folder.join("control"), control).unwrap();
    for (flag, image) in [("-0", "plain"), ("-z", "zlib"), ("-bz2", "bzip2")] {
        run(folder, "dasdload", &[flag, "control", image, "0"]);
        let item = container::open(&folder.join(image), &Options::default()).unwrap();
        assert!(item.troubles().is_empty(), "{image}: {:?}", item.troubles());
        let libraries = item.libraries();
        assert_eq!(libraries.len(), samples.len());
        for (name, sample) in &samples {
            let (_, library) = libraries.iter().find(|(way, _)| way.ends_with(name)).unwrap();
            assert!(contents(library) == ours(sample), "{image} {name}");
        }
        let listed = String::from_utf8_lossy(&run(folder, "dasdls", &[image])).into_owned();
        for (name, _) in &samples {
            assert!(listed.contains(name), "{listed}");
        }
        // And its reading of its own disk, block by block, equals our data. Its exit status is not usable.
        for (name, sample) in &samples {
            for (member, blocks) in sample.outgoing.members.iter().zip(&sample.data) {
                let member = format!("{name}/{}", member.title.name.text(super::sample::PAGE));
                let done = Command::new("dasdcat").args(["-i", image, &member]).current_dir(folder).output();
                assert!(done.unwrap().stdout == blocks.concat(), "{image} {member}");
            }
        }
    }
}

#[test]
fn hetupd_packs_our_tapes_and_we_read_its_own() {
    if !installed("hetupd_packs_our_tapes_and_we_read_its_own") {
        return;
    }
    let scratch = Scratch::new("hetupd");
    let folder = &scratch.0;
    let sample = programs();
    let xmit = sample.xmit("MY.LIBRARY");
    let cards: Vec<Vec<u8>> = xmit.chunks(32_720).map(<[u8]>::to_vec).collect();
    let tape = labelled_tape(&cards, "F3272000080                       B", Method::Plain, 65_535);
    std::fs::write(folder.join("ours.aws"), tape).unwrap();
    for (number, words) in
        [&["-d"][..], &["-s"], &["-z"], &["-b"], &["-z", "-c", "5000"], &["-b", "-c", "4096"]]
            .iter()
            .enumerate()
    {
        // The name does not show the content.
        let name = format!("theirs{number}.aws");
        run(folder, "hetupd", &[words, &["ours.aws", &name][..]].concat());
        let item = container::open(&folder.join(&name), &Options::default()).unwrap();
        assert!(item.troubles().is_empty(), "{words:?}: {:?}", item.troubles());
        let packed = words[0] == "-z" || words[0] == "-b";
        assert!(
            matches!(&item.what, What::Tape { serial: Some(serial), packed: found, .. } if serial == "TESTED" && *found == packed)
        );
        assert!(contents(item.libraries()[0].1) == ours(&sample), "{words:?}");
    }
}
