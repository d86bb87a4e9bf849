//! Killed writers, concurrent writers, and readers meanwhile: in real processes, on a real file system.
//!
//! This program is its own child: with a path in the environment, the first test changes that library until it is killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use underbar_partitioned::name::Name;
use underbar_store::change::{Addition, Edit, apply};
use underbar_store::library::{Library, Organisation};
use underbar_store::make::{Wanted, create};
use underbar_store::{Error, Result};

const LIBRARY: &str = "UNDERBAR_TEST_LIBRARY";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("underbar-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// Bytes that identify their member and round.
fn bytes(member: &str, round: u64) -> Vec<u8> {
    format!("{member} {round} ").bytes().cycle().take(3_000 + (round as usize * 7_919) % 20_000).collect()
}

fn add(member: &str, round: u64) -> Result<Edit> {
    let addition = Addition::new(name(member), bytes(member, round), None, 1)?;
    Ok(Edit::Add(Box::new(Addition { replace: true, ..addition })))
}

/// The child: changes for ever. PAIR1 and PAIR2 are always of one round.
#[test]
fn a_child_changes_its_library() {
    let Some(path) = std::env::var_os(LIBRARY) else { return };
    let path = Path::new(&path);
    for round in 0.. {
        let mut edits = vec![add("PAIR1", round), add("PAIR2", round)];
        if round % 3 == 1 {
            edits.push(Ok(Edit::Delete(name("COMES"))));
        } else if round % 3 == 0 {
            edits.push(add("COMES", round));
        }
        match apply(path, edits, 3, round, true) {
            // The child before this one may have been killed with or without COMES.
            Ok(_) | Err(Error::NoMember(..)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn child(path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_child_changes_its_library", "--nocapture"])
        .env(LIBRARY, path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// One generation of the library is sound, and its pair is of one round. Returns the generation.
fn look(path: &Path) -> (u64, Option<Vec<u8>>) {
    let library = Library::open(path).expect("there is always one");
    let verdict = library.verify(&mut |_| ());
    assert_eq!(verdict.problems, []);
    let member = |member| match library.member(&name(member)) {
        Ok(addition) => Some(addition.bytes),
        Err(Error::NoMember(..)) => None,
        Err(error) => panic!("{error}"),
    };
    let (one, two) = (member("PAIR1"), member("PAIR2"));
    let text = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).replace("PAIR1", "PAIR2"))
    };
    assert!(text(&one) == text(&two), "both or neither, of one round");
    (library.label().expect("it is open").generation.expect("ours has one"), one)
}

fn new_library(folder: &Folder, organisation: Organisation) -> PathBuf {
    let path = folder.0.join("library");
    create(&path, &Wanted { organisation, block_size: 6_144, ..Wanted::usual(1) }).expect("it is made");
    path
}

#[test]
fn killed_writers_leave_the_old_or_the_new_library() {
    for organisation in [Organisation::Pdse, Organisation::Pds] {
        let folder = Folder::new(organisation.text());
        let path = new_library(&folder, organisation);
        let mut seen = 0;
        for round in 0..8u64 {
            let before = look(&path).0;
            let mut child = child(&path);
            // Reads meanwhile; kills after some changes, each time at another point of the next one.
            let mut generation = before;
            let mut spins = 0u64;
            while generation < before + 1 + round % 4 || spins % 13 != round % 13 {
                assert!(child.try_wait().expect("a child").is_none(), "the writer found its library wrong");
                generation = look(&path).0;
                spins += 1;
            }
            child.kill().expect("it runs");
            child.wait().expect("it was killed");
            let after = look(&path).0;
            assert!(after >= generation);
            seen += after - before;
        }
        assert!(seen > 12, "{seen}");
        // Nothing blocks the next writer, and left-over files are gone.
        apply(&path, [add("LAST", 5)], 1, 9, false).expect("nobody holds the lock");
        look(&path);
        assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 1);
    }
}

#[test]
fn writers_take_turns() {
    let folder = Folder::new("turns");
    let path = new_library(&folder, Organisation::Pdse);
    let mut children = [child(&path), child(&path)];
    let (mut refused, mut made) = (0, 0);
    while made < 20 || refused < 3 {
        match apply(&path, [add(&format!("OURS{made}"), made)], 1, 9, false) {
            Ok(_) => made += 1,
            Err(Error::Busy) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        look(&path);
    }
    for child in &mut children {
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
    }
    let library = Library::open(&path).expect("sound");
    for number in 0..20 {
        let member = library.member(&name(&format!("OURS{number}"))).expect("it was added");
        assert!(member.bytes == bytes(&format!("OURS{number}"), number));
    }
}

#[test]
fn an_open_library_stays_as_it_was() {
    for organisation in [Organisation::Pdse, Organisation::Pds] {
        let folder = Folder::new(&format!("open-{}", organisation.text()));
        let path = new_library(&folder, organisation);
        apply(&path, [add("A", 1)], 1, 9, false).expect("room");
        let old = Library::open(&path).expect("sound");
        for round in 2..20 {
            apply(&path, [add("A", round), add("B", round)], 2, 9, false).expect("room");
        }
        underbar_store::make::compress(&path, None, 9, false, &mut |_| ()).expect("sound");
        assert!(old.member(&name("A")).expect("held").bytes == bytes("A", 1));
        assert_eq!(old.verify(&mut |_| ()).problems, []);
        let new = Library::open(&path).expect("sound");
        assert!(new.member(&name("A")).expect("there").bytes == bytes("A", 19));
    }
}

/// Readers while one process changes the library and another makes it anew without gaps.
#[test]
fn readers_see_whole_libraries_while_it_is_compressed() {
    for organisation in [Organisation::Pdse, Organisation::Pds] {
        let folder = Folder::new(&format!("compressed-{}", organisation.text()));
        let path = new_library(&folder, organisation);
        let mut child = child(&path);
        let mut pairs = std::collections::BTreeSet::new();
        while pairs.len() < 6 {
            pairs.insert(look(&path).1);
            underbar_store::make::compress(&path, None, 9, true, &mut |_| ()).expect("sound");
            pairs.insert(look(&path).1);
            assert!(child.try_wait().expect("a child").is_none(), "the writer found its library wrong");
        }
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        look(&path);
    }
}

/// The system refuses a write in the middle of a change, for want of room: files may not grow further.
#[test]
fn a_full_disk_leaves_the_library_as_it_was() {
    for organisation in [Organisation::Pdse, Organisation::Pds] {
        let folder = Folder::new(&format!("full-{}", organisation.text()));
        let path = new_library(&folder, organisation);
        apply(&path, [add("KEPT", 1), add("PAIR1", 0), add("PAIR2", 0)], 3, 9, false).expect("room");
        let room = std::fs::metadata(&path).expect("there").len().div_ceil(512) + 32;
        // The signal is ignored, so the write fails, as on a full disk.
        let ended = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f $1; shift; exec \"$@\"", "sh", &room.to_string()])
            .arg(std::env::current_exe().expect("this program"))
            .args(["--exact", "a_child_changes_its_library", "--nocapture"])
            .env(LIBRARY, &path)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && said.contains("no room left"), "{said}");
        let (generation, _) = look(&path);
        let kept = Library::open(&path).expect("sound").member(&name("KEPT")).expect("there");
        assert!(kept.bytes == bytes("KEPT", 1));
        // With room again the next change succeeds, and nothing is left over.
        apply(&path, [add("MORE", 3)], 1, 9, false).expect("room");
        assert!(look(&path).0 > generation);
        assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 1);
    }
}

#[test]
fn two_makers_and_a_left_over_file() {
    let folder = Folder::new("makers");
    let path = folder.0.join("library");
    std::fs::write(folder.0.join(".library.new"), "left over").expect("written");
    create(&path, &Wanted::usual(1)).expect("it is made");
    assert!(matches!(create(&path, &Wanted::usual(1)), Err(Error::FileExists(_))));
    assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 1);
    // A maker that was killed when its file had both names; a link of another origin.
    apply(&path, [add("A", 1)], 1, 9, false).expect("room");
    std::fs::hard_link(&path, folder.0.join(".library.new")).expect("linked");
    let old = Library::open(&path).expect("sound");
    underbar_store::make::compress(&path, None, 9, false, &mut |_| ()).expect("sound");
    assert!(old.member(&name("A")).expect("held").bytes == bytes("A", 1), "it was not written over");
    std::os::unix::fs::symlink(&path, folder.0.join(".library.new")).expect("linked");
    underbar_store::make::compress(&path, None, 9, false, &mut |_| ()).expect("sound");
    assert!(Library::open(&path).expect("sound").member(&name("A")).expect("there").bytes == bytes("A", 1));
    assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 1);
    // A library with a link as its path keeps the link.
    let link = folder.0.join("link");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    underbar_store::make::compress(&link, None, 9, false, &mut |_| ()).expect("sound");
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    let missing = folder.0.join("no/library");
    assert!(matches!(create(&missing, &Wanted::usual(1)), Err(Error::System { .. })));
}
