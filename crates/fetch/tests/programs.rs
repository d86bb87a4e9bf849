//! LOAD and DELETE: use counts, forms, the pool, the lookaside, and the memory left.

#![allow(clippy::result_large_err, reason = "an error carries the name that it is about")]

mod common;

use common::{Opened, alone, ask, delete, folder, member, member_as, resident, since};
use underbar_fetch::table::{self, Options};
use underbar_fetch::{Error, Form, Reason, Text};

#[test]
fn a_global_has_its_first_value_again_at_each_load() {
    let _alone = alone();
    let place = folder("fresh");
    member(&place, "tiny.c", &[]);
    let library = Opened::folder(&place, true);
    for pool_bytes in [0, 64 << 20] {
        table::set_options(Options { pool_bytes, keep_after: 1, lookaside: true });
        let before = table::statistics();
        for _ in 0..5 {
            let loaded = library.load("tiny", Form::Fresh).expect("loaded");
            assert_eq!(ask(loaded, c"tiny", 41), 42);
            assert_eq!(ask(loaded, c"zero", 0), 0);
            assert_eq!((ask(loaded, c"next", 5), ask(loaded, c"next", 5)), (41, 42));
            assert!(!delete(loaded));
        }
        let pooled = if pool_bytes == 0 { 0 } else { 4 };
        assert_eq!(since(&before, |all| all.hits_in_pool), pooled);
        assert_eq!(since(&before, |all| all.loads), 5 - pooled);
        assert_eq!(since(&before, |all| all.restored_pages) > 0, pooled > 0);
        let all = table::statistics();
        let fallbacks: u64 = all.fallbacks.iter().sum();
        assert_eq!(all.fetches, all.hits_in_use + all.hits_in_pool + all.loads + fallbacks);
    }
}

#[test]
fn a_shared_image_is_as_it_was_left() {
    let _alone = alone();
    let place = folder("shared");
    member(&place, "tiny.c", &[]);
    let library = Opened::folder(&place, true);
    for turn in 1..4 {
        let loaded = library.load("tiny", Form::Shared).expect("loaded");
        assert_eq!(ask(loaded, c"next", 0), 40 + turn);
        delete(loaded);
    }
    // A caller that asks for fresh data gets them nevertheless, and so does the next one.
    for _ in 0..2 {
        let loaded = library.load("tiny", Form::Fresh).expect("loaded");
        assert_eq!(ask(loaded, c"next", 0), 41);
        delete(loaded);
    }
}

/// Users of both forms, one after the other and at the same time: each has an image, and none is loaded again.
#[test]
fn the_two_forms_of_a_program_do_not_reload_each_other() {
    let _alone = alone();
    let place = folder("forms");
    member(&place, "tiny.c", &[]);
    let library = Opened::folder(&place, true);
    let before = table::statistics();
    let mut shared_so_far = 40;
    for turn in 0..60 {
        let shared = library.load("tiny", Form::Shared).expect("loaded");
        shared_so_far += 1;
        assert_eq!(ask(shared, c"next", 0), shared_so_far, "turn {turn}: as it was left");
        delete(shared);
        let fresh = library.load("tiny", Form::Fresh).expect("loaded");
        assert_eq!(ask(fresh, c"next", 0), 41, "turn {turn}: as at first");
        delete(fresh);
    }
    assert_eq!(since(&before, |all| all.loads), 2);
    assert_eq!(since(&before, |all| all.hits_in_pool), 118);
}

/// A library that two parts of a process open is one library: a program that one of them has loaded is loaded for the other.
#[test]
fn two_handles_to_one_library_share_its_pool() {
    let _alone = alone();
    let place = folder("handles");
    member(&place, "tiny.c", &[]);
    for (is_frozen, form) in [(true, Form::Fresh), (false, Form::Fresh), (true, Form::Shared)] {
        table::purge();
        let (one, two) = (Opened::folder(&place, is_frozen), Opened::folder(&place, true));
        let before = table::statistics();
        delete(one.load("tiny", form).expect("loaded"));
        delete(two.load("tiny", form).expect("loaded"));
        assert_eq!((since(&before, |all| all.loads), since(&before, |all| all.hits_in_pool)), (1, 1));
        let (here, there) =
            (one.load("tiny", form).expect("loaded"), two.load("tiny", form).expect("loaded"));
        assert_eq!(here, there, "one program, with two users");
        assert!(delete(here) && !delete(there));
        assert_eq!(since(&before, |all| all.loads), 1);
        // The handle opened first is closed: the other one keeps the programs in use, and has its own from then on.
        let there = two.load("tiny", form).expect("loaded");
        drop(one);
        assert_eq!(ask(there, c"tiny", 1), 2);
        delete(there);
        for _ in 0..3 {
            delete(two.load("tiny", form).expect("loaded"));
        }
        assert!(since(&before, |all| all.loads) <= 2, "{is_frozen} {form:?}");
    }
    // Copies that belong to a LINK alone are not shared.
    member(&place, "job.c", &[]);
    let (one, two) = (Opened::folder(&place, true), Opened::folder(&place, true));
    let loaded = two.load("job", Form::Fresh).expect("loaded");
    for _ in 0..3 {
        assert_eq!(common::link(one.0, &["job", "runs"], None), Ok(1), "fresh data each time");
    }
    delete(loaded);
}

#[test]
fn users_are_counted() {
    let _alone = alone();
    let place = folder("users");
    member(&place, "tiny.c", &[]);
    let library = Opened::folder(&place, true);
    let first = library.load("tiny", Form::Fresh).expect("loaded");
    let second = library.load("tiny", Form::Fresh).expect("loaded");
    assert_eq!(first, second);
    assert_eq!((ask(first, c"next", 0), ask(second, c"next", 0)), (41, 42));
    assert!(delete(first) && !delete(second));
    // SAFETY: it is not loaded, so the call has no effect.
    assert_eq!(unsafe { table::delete(first) }, Err(Error::NotLoaded));
    assert_eq!(table::entry(first), Err(Error::NotLoaded));
    assert_eq!(table::entry(underbar_fetch::table::Loaded::from_number(u64::MAX)), Err(Error::NotLoaded));
}

#[test]
fn the_kept_directory_is_believed_until_it_is_refreshed() {
    let _alone = alone();
    let place = folder("lookaside");
    member(&place, "tiny.c", &[]);
    let (frozen, other) = (Opened::folder(&place, true), Opened::folder(&place, false));
    let both = |name: &str| (frozen.load(name, Form::Fresh), other.load(name, Form::Fresh));
    let (first, second) = both("tiny");
    delete(first.expect("loaded"));
    delete(second.expect("loaded"));
    assert_eq!(
        both("late"),
        (Err(Error::NotFound(Text::new(b"late"))), Err(Error::NotFound(Text::new(b"late"))))
    );
    let before = table::statistics();
    for _ in 0..100 {
        delete(frozen.load("tiny", Form::Fresh).expect("loaded"));
    }
    assert_eq!((since(&before, |all| all.searches), since(&before, |all| all.lookaside_hits)), (0, 100));

    // Replaced while it is loaded, with another one in the same folder.
    let old = other.load("tiny", Form::Fresh).expect("loaded");
    member_as(&place, "tiny.c", "tiny", &["-Dtiny=other"]);
    member_as(&place, "tiny.c", "late", &[]);
    let new = other.load("tiny", Form::Fresh).expect("loaded");
    assert_ne!(old, new);
    let has = |loaded, name| table::symbol(loaded, name).expect("whole").is_some();
    assert!(has(old, c"tiny") && !has(old, c"other") && has(new, c"other") && !has(new, c"tiny"));
    assert_eq!(ask(old, c"tiny", 1), 2, "the old one stays for its users");
    delete(old);
    delete(new);
    let kept = frozen.load("tiny", Form::Fresh).expect("loaded");
    assert!(has(kept, c"tiny"), "a frozen library is as it was");
    delete(kept);
    assert!(frozen.load("late", Form::Fresh).is_err());
    table::refresh(frozen.0).expect("open");
    delete(frozen.load("late", Form::Fresh).expect("loaded"));
    let kept = frozen.load("tiny", Form::Fresh).expect("loaded");
    assert!(has(kept, c"other"));
    delete(kept);
}

#[test]
fn the_first_library_of_the_list_has_it() {
    let _alone = alone();
    let (one, two) = (folder("first"), folder("second"));
    member(&one, "tiny.c", &["-Dtiny=in_one"]);
    member(&two, "tiny.c", &["-Dtiny=in_two"]);
    member_as(&two, "tiny.c", "only", &[]);
    let (one, two) = (Opened::folder(&one, false), Opened::folder(&two, false));
    let find = |list: &[_], name: &[u8]| table::find(list, name).map(|(library, _)| library);
    assert_eq!(find(&[one.0, two.0], b"tiny"), Ok(one.0));
    assert_eq!(find(&[two.0, one.0], b"tiny"), Ok(two.0));
    assert_eq!(find(&[one.0, two.0], b"only"), Ok(two.0));
    assert_eq!(find(&[one.0], b"only"), Err(Error::NotFound(Text::new(b"only"))));
    for name in [&b""[..], b"..", b"a/b", b"a\0b", &[b'a'; 256]] {
        assert_eq!(find(&[one.0], name), Err(Error::BadName));
    }
}

#[test]
fn a_hundred_thousand_loads_leave_memory_as_it_was() {
    let _alone = alone();
    let place = folder("flat");
    member(&place, "tiny.c", &[]);
    member(&place, "threads.c", &["-O2"]);
    let library = Opened::folder(&place, true);
    let turns = |count: usize| {
        for turn in 0..count {
            let loaded = library.load("tiny", Form::Fresh).expect("loaded");
            assert_eq!(ask(loaded, c"next", 0), 41);
            delete(loaded);
            if turn % 10 == 0 {
                let loaded = library.load("threads", Form::Fresh).expect("loaded");
                assert_eq!(ask(loaded, c"threads", 1), 1_001_001);
                delete(loaded);
            }
        }
    };
    let maps = || std::fs::read_to_string("/proc/self/maps").expect("maps").lines().count();
    turns(100);
    let (before, lines) = (resident(), maps());
    turns(100_000);
    assert!(resident() <= before + 64, "{before} pages, then {}", resident());
    // The same with nothing kept: each LOAD maps and unmaps.
    table::set_options(Options { pool_bytes: 0, ..table::options() });
    turns(100);
    let (before_unkept, deletes) = (resident(), table::statistics());
    turns(5_000);
    assert_eq!(since(&deletes, |all| all.unloaded), 5_500);
    assert!(resident() <= before_unkept + 64, "{before_unkept} pages, then {}", resident());
    assert!(maps() <= lines, "{lines} mappings, then {}", maps());
}

/// 4 MiB of relocated data: after it is dropped, resident memory is lower by that at once.
#[test]
fn what_the_pool_drops_is_given_back_at_once() {
    let _alone = alone();
    let place = folder("resident");
    // In the form with writable data and in the one with protected data.
    member_as(&place, "large.c", "changed", &["-DQUALIFIER=", "-DCHANGES", "-Wno-unused"]);
    member_as(&place, "large.c", "constant", &["-DQUALIFIER=const", "-Wno-unused"]);
    let library = Opened::folder(&place, true);
    for (name, is_changed) in [("changed", true), ("constant", false)] {
        table::purge();
        let before = resident();
        for turn in 0..3 {
            let loaded = library.load(name, Form::Fresh).expect("loaded");
            for x in [0, 1000, 65535] {
                assert_eq!(ask(loaded, c"large", x), 1, "{name} {x}");
                assert_eq!(ask(loaded, c"scribble", x), 0, "{name} {x} in turn {turn}");
            }
            delete(loaded);
        }
        let kept = resident();
        assert!(is_changed || kept >= before + 1000, "{name}: {before} pages, then {kept}");
        assert!(table::pooled() >= 4 << 20);
        table::purge();
        assert_eq!(table::pooled(), 0);
        assert!(resident() <= before + 32, "{name}: {before} pages, kept {kept}, then {}", resident());

        // With the pool off, each DELETE gives everything back.
        let options = table::options();
        table::set_options(Options { pool_bytes: 0, ..options });
        let loaded = library.load(name, Form::Fresh).expect("loaded");
        assert_eq!(ask(loaded, c"large", 7), 1);
        assert!(resident() >= before + 1000);
        delete(loaded);
        assert!(resident() <= before + 32);
        table::set_options(options);
    }
}

/// Written data are restored to the initial state, and their pages are not requested from the kernel again.
#[test]
fn pages_that_the_program_sealed_are_as_at_first_again() {
    let _alone = alone();
    let place = folder("sealed");
    for (name, size) in [("small", 1), ("large", 1024)] {
        member_as(&place, "written.c", name, &[&format!("-DPAGES={size}")]);
        let library = Opened::folder(&place, true);
        for turn in 0..4 {
            let loaded = library.load(name, Form::Fresh).expect("loaded");
            assert_eq!(ask(loaded, c"seals", 0), 0, "{name}: turn {turn}");
            delete(loaded);
        }
    }
}

#[test]
fn written_data_are_copied_back_in_place() {
    let _alone = alone();
    let place = folder("written");
    for (name, size) in [("small", 16), ("middle", 64), ("large", 1024)] {
        let size = format!("-DPAGES={size}");
        member_as(&place, "written.c", name, &[&size]);
        let library = Opened::folder(&place, true);
        let faults = || {
            let text = std::fs::read_to_string("/proc/self/stat").expect("stat");
            let after = text.rsplit(')').next().expect("figures");
            after.split_whitespace().nth(7).expect("a figure").parse::<u64>().expect("a number")
        };
        let mut before = 0;
        let told = table::statistics();
        for turn in 0..6 {
            let loaded = library.load(name, Form::Fresh).expect("loaded");
            assert_eq!(ask(loaded, c"written", 0), 0, "{name}: all is as at first in turn {turn}");
            assert_eq!(ask(loaded, c"written", 0), 2, "{name}: and was written");
            delete(loaded);
            if turn == 1 {
                before = faults();
            }
        }
        // Dropped pages are faulted in again: two areas of so many pages, four times.
        if since(&told, |all| all.reset_bytes) == 0 {
            assert!(faults() - before < 64, "{name}: {} faults", faults() - before);
        } else {
            common::skip("written pages: the kernel does not tell which were");
        }
    }
}

#[test]
fn the_pool_keeps_to_its_bound_and_to_what_is_resident() {
    let _alone = alone();
    let place = folder("bound");
    member_as(&place, "large.c", "large", &["-DQUALIFIER=const", "-Wno-unused"]);
    for number in 0..40 {
        std::fs::copy(place.join("large.so"), place.join(format!("other{number}.so"))).expect("a copy");
    }
    let library = Opened::folder(&place, true);
    table::set_options(Options { pool_bytes: 30 << 20, keep_after: 3, lookaside: true });
    table::set_resident(&[library.0], b"large", true).expect("there");
    delete(library.load("large", Form::Fresh).expect("loaded"));
    assert!(table::pooled() > 0, "resident from the first on");
    delete(library.load("other0", Form::Fresh).expect("loaded"));
    let one = table::pooled();
    for _ in 0..3 {
        for number in 0..40 {
            delete(library.load(&format!("other{number}"), Form::Fresh).expect("loaded"));
            assert!(table::pooled() <= 30 << 20);
        }
    }
    let before = table::statistics();
    delete(library.load("large", Form::Fresh).expect("loaded"));
    assert_eq!(since(&before, |all| all.hits_in_pool), 1);
    table::purge();
    assert_eq!(table::pooled(), one, "what is resident stays");
    table::set_options(Options { pool_bytes: 0, ..table::options() });
    assert_eq!(table::pooled(), one);
    table::set_resident(&[library.0], b"large", false).expect("there");
    assert_eq!(table::pooled(), 0);
}

#[test]
fn constructors_destructors_and_atexit_run_for_each_life() {
    let _alone = alone();
    let place = folder("ending");
    member(&place, "ending.c", &[]);
    let library = Opened::folder(&place, true);
    for turn in 0..3 {
        let told = Box::into_raw(Box::new(0_i64));
        let loaded = library.load("ending", Form::Fresh).expect("loaded");
        assert_eq!(ask(loaded, c"ending", told as usize), 1, "turn {turn}");
        delete(loaded);
        // SAFETY: ours; the program has gone.
        let told = unsafe { *Box::from_raw(told) };
        assert!(told == 23 || told == 32, "both, once: {told}");
    }
}

#[test]
fn what_needs_the_systems_loader_is_left_to_it_and_counted() {
    let _alone = alone();
    let place = folder("fallback");
    member_as(&place, "threads.c", "static", &["-ftls-model=initial-exec", "-DZEROS=16"]);
    member(&place, "missing.c", &[]);
    let library = Opened::folder(&place, false);
    let before = table::statistics();
    let loaded = library.load("static", Form::Fresh).expect("loaded");
    assert_eq!(table::is_of_system(loaded), Ok(true));
    assert_eq!(ask(loaded, c"threads", 1), 1_001_001);
    delete(loaded);
    assert_eq!(since(&before, |all| all.fallbacks[Reason::StaticThreads as usize]), 1);
    assert_eq!(since(&before, |all| all.loads), 0);
    let missing = library.load("missing", Form::Fresh);
    assert_eq!(missing, Err(Error::Unresolved(Text::new(b"nobody_has_this_function"))));
    // A file that is no program.
    std::fs::write(place.join("text.so"), "not a program").expect("written");
    std::fs::write(place.join("empty.so"), "").expect("written");
    std::fs::create_dir(place.join("folder.so")).expect("made");
    std::fs::copy(std::env::current_exe().expect("this"), place.join("executable.so")).expect("copied");
    // A program for another machine: AArch64.
    let mut other = std::fs::read(place.join("static.so")).expect("a member");
    other[18..20].copy_from_slice(&183_u16.to_le_bytes());
    std::fs::write(place.join("other.so"), other).expect("written");
    use underbar_fetch::elf::Damage;
    assert_eq!(library.load("other", Form::Fresh), Err(Error::Damaged(Damage::OtherMachine(183))));
    assert_eq!(library.load("text", Form::Fresh), Err(Error::Damaged(Damage::NoHeader)));
    assert_eq!(library.load("empty", Form::Fresh), Err(Error::Damaged(Damage::NoHeader)));
    assert_eq!(library.load("folder", Form::Fresh), Err(Error::NotFound(Text::new(b"folder"))));
    assert_eq!(library.load("executable", Form::Fresh), Err(Error::Executable));
}

#[test]
fn relocations_of_all_kinds_are_done() {
    let _alone = alone();
    let place = folder("kinds");
    member(&place, "indirect.c", &[]);
    member_as(&place, "indirect.c", "relr", &["-Wl,-z,pack-relative-relocs"]);
    member_as(&place, "indirect.c", "old", &["-Wl,--hash-style=sysv", "-Wl,-z,noseparate-code"]);
    member_as(
        &place,
        "large.c",
        "large",
        &["-DQUALIFIER=const", "-Wl,-z,pack-relative-relocs", "-Wno-unused"],
    );
    let library = Opened::folder(&place, true);
    for name in ["indirect", "relr", "old"] {
        let before = table::statistics();
        let loaded = library.load(name, Form::Fresh).expect("loaded");
        assert_eq!(ask(loaded, c"through", 5), 6 * 100 + 7 * 10 + 7, "{name}");
        assert_eq!(ask(loaded, c"indirect", 5), 7, "{name}");
        delete(loaded);
        assert_eq!(since(&before, |all| all.loads), 1, "{name}");
    }
    let before = table::statistics();
    let loaded = library.load("large", Form::Fresh).expect("loaded");
    assert!((0..65536).step_by(997).all(|x| ask(loaded, c"large", x) == 1));
    delete(loaded);
    assert!(since(&before, |all| all.relative_relocations) >= 65536);
}
