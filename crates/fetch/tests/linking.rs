//! CALL, LINK and XCTL.

#![allow(clippy::result_large_err, reason = "an error carries the name that it is about")]

mod common;

use common::{Opened, alone, folder, member, since};
use underbar_fetch::table::{self, Library};
use underbar_fetch::{Error, Form, link};

/// LINK of the member `job`.
fn run(library: Library, arguments: &[&str], environment: Option<&[&str]>) -> Result<i32, Error> {
    common::link(library, &[&["job"], arguments].concat(), environment)
}

#[test]
fn a_linked_program_ends_without_its_caller() {
    let _alone = alone();
    let place = folder("linked");
    member(&place, "job.c", &["-O1"]);
    let library = Opened::folder(&place, true);
    let before = table::statistics();
    assert_eq!(run(library.0, &[], None), Ok(99));
    assert_eq!(run(library.0, &["return", "5"], None), Ok(5));
    assert_eq!(run(library.0, &["return", "260"], None), Ok(4), "eight bits, as a parent sees them");
    assert_eq!(run(library.0, &["exit", "17"], None), Ok(17));
    assert_eq!(run(library.0, &["exit", "120"], None), Ok(100), "through twenty frames");
    assert_eq!(run(library.0, &["now", "18"], None), Ok(18));
    for _ in 0..3 {
        assert_eq!(run(library.0, &["runs"], None), Ok(1), "fresh data each time");
    }
    let path = std::env::var_os("PATH");
    assert_eq!(run(library.0, &["environment"], Some(&["MEMBER=yes"])), Ok(7));
    assert_eq!(run(library.0, &["environment"], None), Ok(8));
    assert_eq!(std::env::var_os("PATH"), path);
    assert_eq!(since(&before, |all| all.fetches), since(&before, |all| all.deletes));
}

/// The caller of the LINK is in the parent: what the child does after the end would be done twice.
#[test]
fn a_child_of_a_linked_program_ends_as_a_process() {
    let _alone = alone();
    let place = folder("forked");
    member(&place, "job.c", &["-O1"]);
    let library = Opened::folder(&place, true);
    let process = std::process::id();
    for way in ["return", "exit", "now", "vfork"] {
        let ended = run(library.0, &["forks", way], None);
        if std::process::id() != process {
            std::process::abort();
        }
        assert_eq!(ended, Ok(5), "{way}");
    }
}

#[test]
fn what_it_left_for_its_end_is_done_at_its_end() {
    let _alone = alone();
    let place = folder("left");
    member(&place, "job.c", &[]);
    let library = Opened::folder(&place, true);
    let told = Box::into_raw(Box::new(40_i32));
    assert_eq!(run(library.0, &["atexit", &format!("{:p}", told)], None), Ok(3));
    // SAFETY: ours; the program has ended.
    assert_eq!(unsafe { *Box::from_raw(told) }, 41);
}

#[test]
fn links_nest_and_threads_have_their_own() {
    let _alone = alone();
    let place = folder("nested");
    member(&place, "job.c", &[]);
    let library = Opened::folder(&place, true);
    static LIBRARY: std::sync::OnceLock<Library> = std::sync::OnceLock::new();
    LIBRARY.set(library.0).expect("set once");
    static INNER: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    extern "C" fn inner() {
        let library = *LIBRARY.get().expect("set");
        let status = run(library, &["exit", "33"], None).expect("linked");
        INNER.store(status, std::sync::atomic::Ordering::Relaxed);
    }
    let address = format!("{:#x}", inner as *const () as usize);
    assert_eq!(run(library.0, &["call", &address], None), Ok(98), "the inner exit ends the inner one");
    assert_eq!(INNER.load(std::sync::atomic::Ordering::Relaxed), 33);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let library = library.0;
            scope.spawn(move || {
                for turn in 0..50 {
                    let status = (thread * 50 + turn) % 100;
                    assert_eq!(run(library, &["exit", &status.to_string()], None), Ok(status));
                }
            });
        }
    });
}

#[test]
fn xctl_puts_another_program_in_its_place() {
    let _alone = alone();
    let place = folder("transfer");
    member(&place, "job.c", &[]);
    let library = Opened::folder(&place, true);
    static LIBRARY: std::sync::OnceLock<Library> = std::sync::OnceLock::new();
    LIBRARY.set(library.0).expect("set once");
    extern "C" fn transfer() {
        let library = *LIBRARY.get().expect("set");
        // SAFETY: lists that end with null; a program of our own. The vectors stay allocated, which is harmless.
        unsafe {
            let arguments = std::mem::ManuallyDrop::new(common::list(&["job", "exit", "77"]));
            let arguments = &arguments.1;
            let error = link::transfer(&[library], b"nobody", arguments.as_ptr(), std::ptr::null());
            assert!(matches!(error, Error::NotFound(_)));
            link::transfer(&[library], b"job", arguments.as_ptr(), std::ptr::null());
        }
        unreachable!("the program has gone");
    }
    let before = table::statistics();
    let address = format!("{:#x}", transfer as *const () as usize);
    assert_eq!(run(library.0, &["call", &address], None), Ok(77));
    assert_eq!(since(&before, |all| all.fetches), 2);
    assert_eq!(since(&before, |all| all.deletes), 2);
    // SAFETY: the call has no effect.
    let error = unsafe { link::transfer(&[library.0], b"job", std::ptr::null(), std::ptr::null()) };
    assert_eq!(error, Error::NotLinked);
}

#[test]
fn call_runs_the_entry_on_our_stack() {
    let _alone = alone();
    let place = folder("called");
    member(&place, "tiny.c", &[]);
    let library = Opened::folder(&place, true);
    let loaded = library.load("tiny", Form::Fresh).expect("loaded");
    // SAFETY: its entry takes a number and returns one.
    let result = unsafe { link::call(loaded, 41 as *mut _) }.expect("an entry");
    assert_eq!(result as i32, 42);
    common::delete(loaded);
    assert_eq!(run(library.0, &[], None), Err(Error::NotFound(underbar_fetch::Text::new(b"job"))));
    let none = std::ptr::null();
    // SAFETY: nothing runs.
    assert_eq!(unsafe { link::link(&[library.0], b"tiny", none, none) }, Err(Error::NoEntry));
}
