//! Programs from a PDS and a PDSE.

#![allow(clippy::result_large_err, reason = "an error carries the name that it is about")]

mod common;

use std::path::{Path, PathBuf};

use common::{Opened, alone, ask, delete, folder, member, member_as, since};
use underbar_fetch::table::{self, Options};
use underbar_fetch::{Error, Form, Reason, Text};
use underbar_partitioned::attribute::FetchOptions;
use underbar_partitioned::name::Name;
use underbar_store::change::{Addition, Edit, apply};
use underbar_store::library::Organisation;
use underbar_store::make::{Wanted, compress, create};

const NOW: u64 = 1_566_000_000;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn addition(of: &str, path: &Path, function: Option<&str>) -> Addition {
    let bytes = std::fs::read(path).expect("a member");
    let mut addition = Addition::new(name(of), bytes, function.map(str::as_bytes), NOW).expect("a program");
    addition.replace = true;
    addition
}

fn change(library: &Path, edits: Vec<Edit>) {
    let count = edits.len();
    apply(library, edits.into_iter().map(Ok), count, NOW, true).expect("changed");
}

/// A library with the members TINY (alias NEXT), THREADS and LARGE.
fn library(place: &Path, organisation: Organisation, block_size: u32) -> PathBuf {
    let path = place.join(format!("{organisation:?}.{block_size}"));
    let _ = std::fs::remove_file(&path);
    let wanted = Wanted { organisation, block_size, directory_blocks: Some(20), ..Wanted::usual(NOW) };
    create(&path, &wanted).expect("made");
    let mut add = Vec::new();
    for (of, file, function) in [
        ("TINY", "tiny", Some("tiny")),
        ("THREADS", "threads", Some("threads")),
        ("LARGE", "large", Some("large")),
    ] {
        add.push(Edit::Add(Box::new(addition(of, &place.join(format!("{file}.so")), function))));
    }
    add.push(Edit::Alias { alias: name("NEXT"), of: name("TINY"), function: Some(b"next".to_vec()) });
    change(&path, add);
    path
}

fn members(of: &str) -> PathBuf {
    let place = folder(of);
    member(&place, "tiny.c", &[]);
    member(&place, "threads.c", &["-O2"]);
    member_as(&place, "large.c", "large", &["-DQUALIFIER=const", "-Wno-unused"]);
    place
}

/// Calls a program's entry.
fn enter(loaded: table::Loaded, argument: usize) -> usize {
    let entry = table::entry(loaded).expect("an entry");
    // SAFETY: functions of members of our own, which take a word and return one.
    unsafe { std::mem::transmute::<usize, extern "C" fn(usize) -> usize>(entry)(argument) }
}

#[test]
fn members_of_both_organisations_are_loaded() {
    let _alone = alone();
    let place = members("both");
    for (organisation, block_size) in
        [(Organisation::Pds, 6144), (Organisation::Pds, 32760), (Organisation::Pdse, 32760)]
    {
        let path = library(&place, organisation, block_size);
        for pool_bytes in [0, 64 << 20] {
            table::set_options(Options { pool_bytes, ..table::options() });
            let library = Opened::folder(&path, false);
            let before = table::statistics();
            for _ in 0..3 {
                let loaded = library.load("TINY", Form::Fresh).expect("loaded");
                assert_eq!((enter(loaded, 41), ask(loaded, c"next", 0)), (42, 41));
                delete(loaded);
                let loaded = library.load("NEXT", Form::Fresh).expect("loaded");
                assert_eq!(enter(loaded, 0) as u32, 41, "the alias's own entry");
                delete(loaded);
                let loaded = library.load("THREADS", Form::Fresh).expect("loaded");
                assert_eq!(enter(loaded, 1), 1_001_001);
                delete(loaded);
                let loaded = library.load("LARGE", Form::Fresh).expect("loaded");
                assert!((0..65536).step_by(1001).all(|x| enter(loaded, x) == 1));
                delete(loaded);
            }
            assert_eq!(since(&before, |all| all.loads), if pool_bytes == 0 { 12 } else { 4 });
            assert_eq!(since(&before, |all| all.searches), 4, "the lookaside knows the rest");
            assert_eq!(library.load("NOBODY", Form::Fresh), Err(Error::NotFound(Text::new(b"NOBODY"))));
        }
    }
}

/// Two parts of a process open one library, and use its programs in both forms: each form has one image for both.
#[test]
fn two_handles_and_two_forms_load_each_program_once_for_each_form() {
    let _alone = alone();
    let place = members("handles");
    for (organisation, block_size) in [(Organisation::Pds, 6144), (Organisation::Pdse, 32760)] {
        let path = library(&place, organisation, block_size);
        for is_frozen in [true, false] {
            table::purge();
            let handles = [Opened::folder(&path, is_frozen), Opened::folder(&path, is_frozen)];
            let before = table::statistics();
            for turn in 0..90 {
                for form in [Form::Shared, Form::Fresh] {
                    let loaded = handles[turn % 2].load("TINY", form).expect("loaded");
                    let expected = if form == Form::Shared { 41 + turn } else { 41 };
                    assert_eq!(ask(loaded, c"next", 0), expected, "{organisation:?} {form:?}");
                    delete(loaded);
                }
            }
            assert_eq!((since(&before, |all| all.loads), since(&before, |all| all.hits_in_pool)), (2, 178));
        }
    }
}

/// A program that begins once is found by its bytes, under any name: each name keeps its own entry point.
#[test]
fn an_alias_of_a_program_that_stays_has_its_own_entry() {
    let _alone = alone();
    let place = folder("stays");
    member(&place, "tiny.c", &["-Wl,-z,nodelete"]);
    member(&place, "threads.c", &["-O2"]);
    member_as(&place, "large.c", "large", &["-DQUALIFIER=const", "-Wno-unused"]);
    for organisation in [Organisation::Pds, Organisation::Pdse] {
        let path = library(&place, organisation, 32760);
        let library = Opened::folder(&path, true);
        for turn in 0..3 {
            let program = library.load("TINY", Form::Fresh).expect("loaded");
            let alias = library.load("NEXT", Form::Fresh).expect("loaded");
            assert_eq!(enter(program, 41) as u32, 42, "{organisation:?}: its own entry");
            assert_eq!(
                enter(alias, 0) as u32,
                41 + turn,
                "{organisation:?}: the entry of the alias, one program"
            );
            let again = library.load("NEXT", Form::Shared).expect("loaded");
            assert_eq!(again, alias, "{organisation:?}");
            assert!(delete(again) && delete(alias));
            assert_eq!(enter(program, 1) as u32, 2, "{organisation:?}");
            assert!(!delete(program), "{organisation:?}: as many DELETEs as LOADs");
            assert_eq!(table::entry(alias), Err(Error::NotLoaded));
        }
    }
    // Two names of one file: each has the entry point at the symbol of its own name.
    std::fs::hard_link(place.join("tiny.so"), place.join("next.so")).expect("a second name");
    let library = Opened::folder(&place, true);
    let program = library.load("tiny", Form::Fresh).expect("loaded");
    let other = library.load("next", Form::Fresh).expect("loaded");
    assert_eq!((enter(program, 41) as u32, enter(other, 0) as u32), (42, 41));
    delete(program);
    delete(other);
}

/// Copies of one library change independently: each gets another program in the same place, of the same length.
#[test]
fn copies_of_a_library_are_not_taken_for_each_other() {
    let _alone = alone();
    let place = folder("copies");
    let made = |name: &str, function: &str| {
        member_as(&place, "tiny.c", name, &["-Wl,-z,nodelete", &format!("-Dtiny={function}"), "-DWHICH"])
    };
    let (first, second) = (made("first", "in_a"), made("second", "in_b"));
    let length = |path: &Path| std::fs::metadata(path).expect("a member").len();
    assert_eq!(length(&first), length(&second));
    let path = place.join("library");
    create(&path, &Wanted { organisation: Organisation::Pds, ..Wanted::usual(NOW) }).expect("made");
    let copy = place.join("copy");
    std::fs::copy(&path, &copy).expect("a copy");
    change(&path, vec![Edit::Add(Box::new(addition("TINY", &first, Some("in_a"))))]);
    change(&copy, vec![Edit::Add(Box::new(addition("TINY", &second, Some("in_b"))))]);
    let (one, two) = (Opened::folder(&path, true), Opened::folder(&copy, true));
    let here = one.load("TINY", Form::Fresh).expect("loaded");
    let there = two.load("TINY", Form::Fresh).expect("loaded");
    let has = |loaded, name| table::symbol(loaded, name).expect("whole").is_some();
    assert!(has(here, c"in_a") && has(there, c"in_b"));
    delete(here);
    delete(there);
}

/// The figures of the article for one program of one block, and a large one in blocks.
#[test]
fn what_a_load_reads_is_counted() {
    let _alone = alone();
    table::set_options(Options { pool_bytes: 0, keep_after: 1, lookaside: false });
    let place = members("counts");
    let load = |path: &Path, program: &str| {
        let library = Opened::folder(path, true);
        let before = table::statistics();
        delete(library.load(program, Form::Fresh).expect("loaded"));
        let now = table::statistics();
        let by =
            |what: fn(&underbar_partitioned::count::Counts) -> u64| what(&now.counts) - what(&before.counts);
        (by(|all| all.programs_by_article), by(|all| all.programs_by_fetch), by(|all| all.blocks))
    };
    let small = library(&place, Organisation::Pds, 6144);
    let large = library(&place, Organisation::Pds, 32760);
    let pdse = library(&place, Organisation::Pdse, 32760);
    let tiny = load(&large, "TINY");
    assert_eq!(tiny, (2, 2, 1), "one search, one block of text");
    let (in_small, in_large) = (load(&small, "LARGE"), load(&large, "LARGE"));
    assert!(in_small.0 > 3 * in_large.0 && in_large.0 > 200, "{in_small:?} {in_large:?}");
    assert_eq!((in_small.1, in_large.1), (2, 2));
    let (_, _, pages) = load(&pdse, "LARGE");
    assert_eq!(pages, 16, "the first sixteen pages of a large program");
    let mut primed = addition("LARGE", &place.join("large.so"), Some("large"));
    primed.fetch = FetchOptions::Prime;
    let all = primed.loadable.div_ceil(4096);
    change(&pdse, vec![Edit::Add(Box::new(primed))]);
    assert_eq!(load(&pdse, "LARGE").2, all);
}

/// Calls of read so far by this thread; none if the kernel does not count them.
fn reads() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscr: "))?.parse().ok()
}

#[test]
fn without_the_lookaside_a_load_reads_one_page_of_the_directory() {
    let _alone = alone();
    let place = members("reads");
    let Some(first) = reads() else { return common::skip("reads are not counted by this kernel") };
    let itself = reads().expect("counted") - first;
    let tiny = place.join("tiny.so");
    for (count, levels) in [(2, 1), (400, 2), (3000, 3)] {
        let path = place.join(format!("{count}"));
        create(&path, &Wanted::usual(NOW)).expect("made");
        // Long names: few fit in a page, so that few members make a tree of three levels.
        let of = |number: usize| format!("{number:05}{}", "X".repeat(55));
        let mut edits: Vec<Edit> = (0..count)
            .map(|number| Addition::new(name(&of(number)), Vec::new(), None, NOW).expect("data"))
            .map(|data| Edit::Add(Box::new(data)))
            .collect();
        let programs = [of(0) + "P", of(count / 2) + "P", of(count - 1) + "P"];
        for program in &programs {
            edits.push(Edit::Add(Box::new(addition(program, &tiny, Some("tiny")))));
        }
        change(&path, edits);
        let bytes = std::fs::read(&path).expect("a library");
        let superblock = underbar_partitioned::pdse::Superblock::newest(&bytes[..]).expect("a PDSE");
        assert_eq!(superblock.levels, levels, "{count}");
        let library = Opened::folder(&path, true);
        for program in &programs {
            let turn = |pool_bytes| {
                table::set_options(Options { pool_bytes, keep_after: 1, lookaside: false });
                let before = reads().expect("counted");
                let loaded = library.load(program, Form::Fresh).expect("loaded");
                let after = reads().expect("counted");
                assert_eq!(enter(loaded, 41) as u32, 42);
                delete(loaded);
                after - before - itself
            };
            turn(64 << 20);
            assert_eq!(turn(64 << 20), 1, "from the pool, {count} members: the leaf alone");
            let mapped = (turn(0), turn(0));
            assert_eq!(mapped.0, mapped.1, "{count} members");
            assert_eq!(mapped.0, 1 + HEADERS, "loaded anew, {count} members: the leaf, and headers");
        }
    }
}

/// The bytes read of a small program that is mapped, without the directory.
const HEADERS: u64 = 1;

#[test]
fn a_directory_that_is_known_is_not_searched_again() {
    use std::os::unix::fs::FileExt as _;
    let _alone = alone();
    table::set_options(Options { pool_bytes: 0, keep_after: 1, lookaside: true });
    let place = members("known");
    let path = library(&place, Organisation::Pds, 32760);
    let library = Opened::folder(&path, true);
    let first = library.load("TINY", Form::Fresh).expect("loaded");
    delete(first);
    // The key and the data of the first directory block: each search of it finds the damage.
    let file = std::fs::File::options().write(true).open(&path).expect("open");
    file.write_all_at(&[0xA5; 64], 4096 + 32 + 16).expect("written");
    let again = library.load("TINY", Form::Fresh).expect("loaded without a search");
    assert_eq!(enter(again, 41), 42);
    delete(again);
    assert!(matches!(library.load("LARGE", Form::Fresh), Err(Error::Library(_))));
}

#[test]
fn a_member_that_is_replaced_or_moved_while_it_is_loaded_stays_as_it_is() {
    let _alone = alone();
    let place = members("replaced");
    for organisation in [Organisation::Pds, Organisation::Pdse] {
        let path = library(&place, organisation, 32760);
        let library = Opened::folder(&path, false);
        let old = library.load("LARGE", Form::Fresh).expect("loaded");
        assert_eq!(enter(old, 5), 1);
        // Repeatedly, so that a PDSE would reuse the pages of the old one if it could.
        for turn in 0..10 {
            let by =
                addition("LARGE", &place.join(if turn % 2 == 0 { "threads.so" } else { "large.so" }), None);
            change(&path, vec![Edit::Add(Box::new(by))]);
            if turn % 3 == 0 {
                compress(&path, None, NOW, true, &mut |_| ()).expect("sound");
            }
        }
        let new = library.load("LARGE", Form::Fresh).expect("loaded");
        assert_ne!(old, new);
        let by = addition("LARGE", &place.join("tiny.so"), Some("tiny"));
        change(&path, vec![Edit::Add(Box::new(by))]);
        let newest = library.load("LARGE", Form::Fresh).expect("loaded");
        assert_eq!(enter(newest, 1) as u32, 2);
        assert!(
            (0..65536).all(|x| enter(old, x) == 1),
            "{organisation:?}: pages of the old one were used again"
        );
        assert!(table::symbol(old, c"large").expect("whole").is_some());
        for loaded in [old, new, newest] {
            delete(loaded);
        }
        change(&path, vec![Edit::Delete(name("LARGE"))]);
        assert_eq!(library.load("LARGE", Form::Fresh), Err(Error::NotFound(Text::new(b"LARGE"))));
    }
}

#[test]
fn what_is_left_to_the_systems_loader_is_copied_out() {
    let _alone = alone();
    let place = folder("copied");
    let path = place.join("library");
    create(&path, &Wanted::usual(NOW)).expect("made");
    let own = member_as(&place, "threads.c", "static", &["-ftls-model=initial-exec", "-DZEROS=16"]);
    change(&path, vec![Edit::Add(Box::new(addition("STATIC", &own, Some("threads"))))]);
    let library = Opened::folder(&path, true);
    let before = table::statistics();
    let loaded = library.load("STATIC", Form::Fresh).expect("loaded");
    assert_eq!((table::is_of_system(loaded), enter(loaded, 1)), (Ok(true), 1_001_001));
    delete(loaded);
    assert_eq!(since(&before, |all| all.fallbacks[Reason::StaticThreads as usize]), 1);
}

#[test]
fn a_damaged_member_is_known_by_its_sum() {
    let _alone = alone();
    let place = members("damaged");
    for (organisation, block_size) in [(Organisation::Pds, 6144), (Organisation::Pdse, 32760)] {
        let path = library(&place, organisation, block_size);
        let whole = std::fs::read(&path).expect("a library");
        // A text of TINY's code or tables, which no other member has.
        let tiny = std::fs::read(place.join("tiny.so")).expect("a member");
        let mark = &tiny[0x1100..0x1120];
        let at = whole.windows(mark.len()).position(|bytes| bytes == mark).expect("in one block");
        let mut bytes = whole.clone();
        bytes[at + 3] ^= 0x10;
        std::fs::write(&path, bytes).expect("written");
        let library = Opened::folder(&path, true);
        let error = library.load("TINY", Form::Fresh).expect_err("damaged");
        assert!(matches!(error, Error::Checksum | Error::Library(_)), "{error}");
        let loaded = library.load("THREADS", Form::Fresh).expect("the others are whole");
        assert_eq!(enter(loaded, 1), 1_001_001);
        delete(loaded);
    }
}

#[test]
fn a_label_that_is_damaged_is_told_and_the_other_one_counts() {
    let _alone = alone();
    let place = members("doubtful");
    let path = library(&place, Organisation::Pdse, 32760);
    change(&path, vec![Edit::Alias { alias: name("LATEST"), of: name("TINY"), function: None }]);
    let sound = std::fs::read(&path).expect("a library");
    let newest = underbar_partitioned::pdse::Superblock::newest(&sound[..]).expect("sound").generation;
    let page = underbar_partitioned::pdse::Superblock::turn(newest) as usize * 4096;
    for (at, is_doubtful, has_latest) in
        [(None, false, true), (Some(page + 40), true, false), (Some(4096 - page + 40), true, true)]
    {
        let mut bytes = sound.clone();
        at.into_iter().for_each(|at| bytes[at] ^= 1);
        std::fs::write(&path, bytes).expect("written");
        let before = table::statistics().doubtful;
        let library = Opened::folder(&path, false);
        assert_eq!(table::is_doubtful(library.0), Ok(is_doubtful), "{at:?}");
        assert_eq!(table::statistics().doubtful - before, u64::from(is_doubtful));
        let tiny = library.load("TINY", Form::Fresh).expect("both labels lead to it");
        assert_eq!(enter(tiny, 41), 42);
        delete(tiny);
        match library.load("LATEST", Form::Fresh) {
            Ok(latest) => {
                assert!(has_latest);
                delete(latest);
            }
            Err(error) => assert!(!has_latest && matches!(error, Error::NotFound(_)), "{error}"),
        }
    }
}

/// Cut at 512 bytes or a multiple, a library gives its programs or errors: also if the missing pages are mapped and would be
/// read only later.
#[test]
fn of_a_cut_library_programs_are_loaded_whole_or_not_at_all() {
    let _alone = alone();
    table::set_options(Options { pool_bytes: 0, ..table::options() });
    let place = folder("cut");
    member(&place, "tiny.c", &[]);
    member(&place, "paged.c", &[]);
    for organisation in [Organisation::Pds, Organisation::Pdse] {
        let path = place.join(format!("{organisation:?}"));
        create(&path, &Wanted { organisation, directory_blocks: Some(4), ..Wanted::usual(NOW) })
            .expect("made");
        let add = |of: &str, file: &str, function: &str| {
            Edit::Add(Box::new(addition(of, &place.join(file), Some(function))))
        };
        // Deleted members leave room for a PDSE's index, so that the last program comes after it.
        change(&path, vec![add("GOES", "tiny.so", "tiny"), add("TINY", "tiny.so", "tiny")]);
        change(&path, vec![Edit::Delete(name("GOES"))]);
        change(&path, vec![Edit::Alias { alias: name("ALIAS"), of: name("TINY"), function: None }]);
        change(&path, vec![add("PAGED", "paged.so", "paged")]);
        let whole = std::fs::read(&path).expect("a library");
        let cut = place.join("cut");
        let mut outcomes = [0, 0];
        // Every 512 bytes at both ends, which contain the small parts; fewer between.
        let ends = (0..whole.len())
            .step_by(512)
            .filter(|at| *at < 20_000 || whole.len() - at < 30_000 || at % (512 * 13) == 0);
        for end in ends {
            std::fs::write(&cut, &whole[..end]).expect("written");
            let Ok(library) = table::open(&common::c(&cut), true).map(Opened) else { continue };
            for (name, argument, result) in [("TINY", 1, 2), ("PAGED", 3, 5)] {
                match library.load(name, Form::Fresh) {
                    Ok(loaded) => {
                        assert_eq!(enter(loaded, argument) as u32, result, "{organisation:?} cut at {end}");
                        delete(loaded);
                        outcomes[0] += 1;
                    }
                    Err(error) => {
                        assert!(
                            matches!(error, Error::Library(_) | Error::NotFound(_)),
                            "{organisation:?} cut at {end}: {error}"
                        );
                        outcomes[1] += 1;
                    }
                }
            }
        }
        assert!(outcomes[0] > 5 && outcomes[1] > 50, "{organisation:?}: {outcomes:?}");
    }
}

/// The peak of resident memory so far, in KiB.
fn most_resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_member_that_lies_about_its_length_costs_no_storage() {
    let _alone = alone();
    let place = folder("liar");
    member(&place, "tiny.c", &[]);
    let path = place.join("library");
    let wanted = Wanted { organisation: Organisation::Pds, directory_blocks: Some(1), ..Wanted::usual(NOW) };
    create(&path, &wanted).expect("made");
    change(&path, vec![Edit::Add(Box::new(addition("TINY", &place.join("tiny.so"), Some("tiny"))))]);
    let mut bytes = std::fs::read(&path).expect("a library");
    let identity = underbar_partitioned::pds::Pds::open(&bytes[..]).expect("a PDS").header().identity;
    // The directory's first block, of one entry: count, sum, key, and data, which contains the length; see `pds`.
    let first = underbar_partitioned::pds::HEADER + underbar_partitioned::pds::TRACK_HEADER;
    let block = &mut bytes[first..][..16 + 8 + 256];
    let (entry, length) = (16 + 8 + 2, std::fs::metadata(place.join("tiny.so")).expect("there").len());
    assert_eq!(block[entry + 30..][..4], (length as u32).to_le_bytes());
    let before = most_resident();
    for lie in [u32::MAX, length as u32 * 2, length as u32 - 1, 0] {
        block[entry + 30..][..4].copy_from_slice(&lie.to_le_bytes());
        let mut right = underbar_partitioned::sum::Sum::new(identity ^ 1);
        right.add(&block[..8]);
        right.add(&block[16..]);
        block[8..16].copy_from_slice(&right.finish().to_le_bytes());
        let liar = place.join(lie.to_string());
        std::fs::copy(&path, &liar).expect("copied");
        let file = std::fs::OpenOptions::new().write(true).open(&liar).expect("opened");
        std::os::unix::fs::FileExt::write_all_at(&file, block, first as u64).expect("written");
        let library = Opened::folder(&liar, true);
        let error = library.load("TINY", Form::Fresh).expect_err("a lie");
        assert!(matches!(error, Error::Library(_) | Error::Damaged(_)), "{lie}: {error}");
    }
    assert!(most_resident() < before + (64 << 10), "{before} KiB, then {}", most_resident());
}
