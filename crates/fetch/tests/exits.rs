//! Programs that exit where a program should not: in constructors, destructors, resolvers, and in programs that they LOAD.

#![allow(clippy::result_large_err, reason = "an error carries the name that it is about")]

mod common;

use std::sync::OnceLock;

use common::{Opened, alone, ask, delete, folder, member, member_as, since};
use underbar_fetch::table::{self, Library};
use underbar_fetch::{Error, Form, link};

/// LINK without an environment of its own.
fn run(library: Library, texts: &[&str]) -> Result<i32, Error> {
    common::link(library, texts, None)
}

/// Another thread can LOAD; it could not if a lock were left taken.
fn others_load(library: &Opened) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let loaded = library.load("tiny", Form::Fresh).expect("loaded");
            assert_eq!(ask(loaded, c"tiny", 1), 2);
            assert!(!delete(loaded));
        });
    });
}

#[test]
fn an_exit_before_or_after_main_ends_the_linked_program_alone() {
    let _alone = alone();
    let place = folder("leavers");
    member(&place, "tiny.c", &[]);
    for (name, flags) in [
        ("constructor", "-DIN_CONSTRUCTOR=21"),
        ("resolver", "-DIN_RESOLVER=22"),
        ("destructor", "-DIN_DESTRUCTOR=23"),
        ("at_exit", "-DAT_EXIT=24"),
    ] {
        member_as(&place, "leaver.c", name, &[flags, "-O0"]);
    }
    let library = Opened::folder(&place, true);
    let before = table::statistics();
    for _ in 0..3 {
        for (name, status) in [("constructor", 21), ("resolver", 22), ("destructor", 50), ("at_exit", 50)] {
            assert_eq!(run(library.0, &[name]), Ok(status), "{name}");
            others_load(&library);
        }
    }
    assert_eq!(since(&before, |all| all.fetches), since(&before, |all| all.deletes));
    table::purge();
    assert_eq!(table::pooled(), 0);
    others_load(&library);
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// The function of a LINKed program: LOADs a program whose constructor exits, so that it does not continue.
extern "C" fn loads_a_leaver() {
    let library = *LIBRARY.get().expect("set");
    // SAFETY: a program of our own.
    let loaded = unsafe { table::load(&[library], b"constructor", None) };
    unreachable!("{loaded:?}");
}

/// The same by XCTL.
extern "C" fn transfers_to_a_leaver() {
    let library = *LIBRARY.get().expect("set");
    let none = std::ptr::null();
    // SAFETY: empty lists.
    let error = unsafe { link::transfer(&[library], b"constructor", none, none) };
    unreachable!("{error}");
}

#[test]
fn an_exit_in_a_program_that_a_linked_one_loads_ends_both() {
    let _alone = alone();
    let place = folder("both");
    member(&place, "tiny.c", &[]);
    member(&place, "job.c", &[]);
    member_as(&place, "leaver.c", "constructor", &["-DIN_CONSTRUCTOR=31"]);
    let library = Opened::folder(&place, true);
    LIBRARY.set(library.0).expect("set once");
    let before = table::statistics();
    for function in [loads_a_leaver as *const (), transfers_to_a_leaver as *const ()] {
        let address = format!("{:#x}", function as usize);
        assert_eq!(run(library.0, &["job", "call", &address]), Ok(31));
        others_load(&library);
    }
    assert_eq!(since(&before, |all| all.fetches), since(&before, |all| all.deletes));
    // Threads at once: a thread that waits for another one's constructor finds it gone, and runs its own.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let library = library.0;
            scope.spawn(move || {
                let address = format!("{:#x}", loads_a_leaver as *const () as usize);
                for _ in 0..25 {
                    assert_eq!(run(library, &["job", "call", &address]), Ok(31));
                }
            });
        }
    });
    others_load(&library);
    assert_eq!(since(&before, |all| all.fetches), since(&before, |all| all.deletes));
    // And the frames are unchanged: the result of a program that does not exit is its return value.
    assert_eq!(run(library.0, &["job", "return", "6"]), Ok(6));
}
