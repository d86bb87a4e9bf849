//! Concurrent use: threads that LOAD the same programs, constructors that LOAD, libraries of the system's loader whose
//! constructors LOAD, copies of one program, and programs that need others.

#![allow(clippy::result_large_err, reason = "an error carries the name that it is about")]

mod common;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use common::{Opened, alone, ask, c, delete, folder, member, member_as, since};
use underbar_fetch::content::Content;
use underbar_fetch::library::{Files, Member, Source, Stamp};
use underbar_fetch::path_room::PathRoom;
use underbar_fetch::table::{self, Library, Options};
use underbar_fetch::{Error, Form, Reason, Text};
use underbar_partitioned::count::Counts;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: c_int) -> !;
}

const NOW: c_int = 2;

/// A library loaded by the system's loader.
struct Shared(*mut c_void);

impl Shared {
    fn open(path: &Path) -> Shared {
        // SAFETY: a library of our own.
        let handle = unsafe { dlopen(c(path).as_ptr(), NOW) };
        assert!(!handle.is_null(), "{}", path.display());
        Shared(handle)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: opened once.
        unsafe { dlclose(self.0) };
    }
}

/// `door.so`, with a function that it calls.
struct Door(Shared);

static BEHIND: Mutex<Option<fn(c_int)>> = Mutex::new(None);

extern "C" fn enter(number: c_int) {
    let function = *BEHIND.lock().expect("not poisoned");
    function.expect("set")(number);
}

impl Door {
    fn open(place: &Path, function: fn(c_int)) -> Door {
        *BEHIND.lock().expect("not poisoned") = Some(function);
        // A separate name: the door of a program that stays stays, too, and would be found by its name.
        let name = place.file_name().expect("a name").to_string_lossy();
        let path = member(place, "door.c", &[&format!("-Wl,-soname,{name}-door.so")]);
        let shared = Shared::open(&path);
        // SAFETY: the pointer that `door.c` has.
        unsafe {
            let door = dlsym(shared.0, c"door".as_ptr()).cast::<extern "C" fn(c_int)>();
            door.write(enter);
        }
        Door(shared)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // SAFETY: the same pointer, empty as it was made.
        unsafe { dlsym(self.0.0, c"door".as_ptr()).cast::<usize>().write(0) };
    }
}

/// A member that calls through the door.
fn through(place: &Path, name: &str, flags: &[&str]) -> std::path::PathBuf {
    let here = format!("-L{}", place.display());
    let linked = [&here, "-l:door.so", "-Wl,--enable-new-dtags,-rpath,$ORIGIN"];
    member_as(place, "through.c", name, &[flags, &linked[..]].concat())
}

/// A folder whose programs are made only when two threads have met.
struct Meeting {
    files: Files,
    meeting: Barrier,
}

impl Source for Meeting {
    fn find(&self, name: &[u8], counts: &mut Counts) -> Result<Option<Member>, Error> {
        self.files.find(name, counts)
    }

    fn fetch(
        &self,
        name: &[u8],
        member: &Member,
        counts: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<bool, Error> {
        self.files.fetch(name, member, counts, &mut |content| {
            self.meeting.wait();
            work(content);
        })
    }

    fn stamp(&self) -> Result<Stamp, Error> {
        self.files.stamp()
    }

    fn tells_changes(&self) -> bool {
        self.files.tells_changes()
    }

    fn path(&self) -> &CStr {
        self.files.path()
    }

    fn member_path<'a>(&self, name: &[u8], member: &Member, room: &'a mut PathRoom) -> Option<&'a CStr> {
        self.files.member_path(name, member, room)
    }
}

/// The data shared by the test below and the function that its door calls.
static MEETING: Mutex<Option<(&'static Meeting, Library)>> = Mutex::new(None);

/// One thread is in a LOAD, and about to call the system's loader; the other one is in the system's loader, and about to LOAD.
/// Neither may hold a lock that the other one waits for.
#[test]
fn a_constructor_of_the_systems_loader_loads_while_another_thread_loads() {
    let _alone = alone();
    let place = folder("order");
    let door = Door::open(&place, |number| {
        let (meeting, other) = MEETING.lock().expect("not poisoned").expect("set");
        if number == 1 {
            meeting.meeting.wait();
            // SAFETY: a program of our own.
            let loaded = unsafe { table::load(&[other], b"tiny", None) }.expect("loaded");
            assert_eq!(ask(loaded, c"tiny", 5), 6);
            delete(loaded);
        }
    });
    member(&place, "tiny.c", &[]);
    // Needs a library, which only the system's loader can open.
    member_as(&place, "tiny.c", "needy", &["-Wl,--no-as-needed", "-lresolv", "-lm"]);
    let shared = through(&place, "through", &[]);
    let files = Files::open(&c(&place)).expect("a folder");
    let meeting: &'static Meeting = Box::leak(Box::new(Meeting { files, meeting: Barrier::new(2) }));
    let met = Opened(table::open_source(meeting, true).expect("a library"));
    let other = Opened::folder(&place, true);
    *MEETING.lock().expect("not poisoned") = Some((meeting, other.0));
    // A thread that begins waits for the system's loader itself.
    let begun = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            drop(Shared::open(&shared));
        });
        scope.spawn(|| {
            begun.wait();
            let loaded = met.load("needy", Form::Fresh).expect("loaded");
            assert_eq!(ask(loaded, c"tiny", 1), 2);
            delete(loaded);
        });
    });
    drop(door);
}

static INNER: Mutex<Option<(Library, CString)>> = Mutex::new(None);
static DEPTH: AtomicI64 = AtomicI64::new(0);

/// Members whose constructors and destructors LOAD, DELETE, dlopen and dlclose: each keeps its own results.
#[test]
fn constructors_and_destructors_load_and_open() {
    let _alone = alone();
    let place = folder("within");
    let door = Door::open(&place, |number| {
        let inner = INNER.lock().expect("not poisoned").clone();
        let Some((library, shared)) = inner else { return };
        DEPTH.fetch_add(i64::from(number), Ordering::Relaxed);
        // SAFETY: programs and libraries of our own.
        unsafe {
            let loaded = table::load(&[library], b"tiny", Some(Form::Fresh)).expect("loaded");
            let handle = dlopen(shared.as_ptr(), NOW);
            assert!(!handle.is_null());
            assert_eq!(ask(loaded, c"tiny", 5), 6);
            // The outer one, which has begun, or has ended.
            if number == 2 {
                let itself = table::load(&[library], b"outer", None).expect("loaded");
                assert_eq!(ask(itself, c"through", 5), 7);
                delete(itself);
            }
            delete(loaded);
            dlclose(handle);
        }
    });
    member(&place, "tiny.c", &[]);
    through(&place, "outer", &["-DBEGINNING=2"]);
    let shared = member_as(&place, "tiny.c", "shared", &[]);
    let library = Opened::folder(&place, true);
    for pool_bytes in [0, 64 << 20] {
        table::set_options(table::Options { pool_bytes, ..table::options() });
        *INNER.lock().expect("not poisoned") = Some((library.0, c(&shared)));
        for _ in 0..3 {
            let loaded = library.load("outer", Form::Fresh).expect("loaded");
            assert_eq!(table::is_of_system(loaded), Ok(false));
            assert_eq!(DEPTH.load(Ordering::Relaxed), 2, "its constructor has run, once");
            assert_eq!(ask(loaded, c"through", 5), 7);
            delete(loaded);
            assert_eq!(DEPTH.load(Ordering::Relaxed), 0, "its destructor has run, once");
        }
    }
    *INNER.lock().expect("not poisoned") = None;
    drop(door);
}

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Eight threads LOAD, call and DELETE the same programs: a thread gets a program after its constructors, and before its
/// destructors.
#[test]
fn eight_threads_load_the_same_programs() {
    let _alone = alone();
    let place = folder("eight");
    let door = Door::open(&place, |number| {
        if number > 0 {
            std::thread::yield_now();
            RUNNING.fetch_add(1, Ordering::SeqCst);
        } else {
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            std::thread::yield_now();
        }
    });
    member(&place, "tiny.c", &[]);
    through(&place, "through", &[]);
    let (first, second) = (Opened::folder(&place, true), Opened::folder(&place, false));
    for pool_bytes in [0, 64 << 20] {
        table::set_options(table::Options { pool_bytes, ..table::options() });
        let before = table::statistics();
        let turns = 300;
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let library = if thread % 2 == 0 { &first } else { &second };
                scope.spawn(move || {
                    for turn in 0..turns {
                        let loaded = library.load("through", Form::Fresh).expect("loaded");
                        assert!(RUNNING.load(Ordering::SeqCst) > 0);
                        assert_eq!(ask(loaded, c"through", turn), turn + 1);
                        let tiny = library.load("tiny", Form::Shared).expect("loaded");
                        assert_eq!(ask(tiny, c"tiny", turn), turn + 1);
                        delete(loaded);
                        delete(tiny);
                    }
                });
            }
        });
        table::purge();
        assert_eq!(RUNNING.load(Ordering::SeqCst), 0, "each has ended");
        assert_eq!(since(&before, |all| all.fetches), 8 * 2 * turns as u64);
        assert_eq!(since(&before, |all| all.deletes), 8 * 2 * turns as u64);
        assert_eq!(table::pooled(), 0);
        assert_eq!(since(&before, |all| all.staged), since(&before, |all| all.hits_in_pool + all.dropped));
    }
    drop(door);
}

static PARENT: AtomicUsize = AtomicUsize::new(0);
static MET: [std::sync::OnceLock<Barrier>; 2] = [const { std::sync::OnceLock::new() }; 2];

/// Where the first of them arrives, the second one waits for it.
fn meet(number: usize) {
    MET[number].get_or_init(|| Barrier::new(2)).wait();
}

/// A fork while another thread is in a constructor: that thread does not exist in the child, which must not wait for it.
#[test]
fn a_forked_child_loads_what_another_thread_was_beginning() {
    let _alone = alone();
    let place = folder("forked");
    PARENT.store(std::process::id() as usize, Ordering::Relaxed);
    let door = Door::open(&place, |number| {
        if number == 1 && PARENT.load(Ordering::Relaxed) == std::process::id() as usize {
            meet(0);
            meet(1);
        }
    });
    through(&place, "through", &[]);
    // Found by its entry, and by its bytes; the child must not wait for either.
    fork_while_it_begins(&place);
    through(&place, "through", &["-Wl,-z,nodelete"]);
    fork_while_it_begins(&place);
    drop(door);
}

fn fork_while_it_begins(place: &Path) {
    let library = Opened::folder(place, true);
    std::thread::scope(|scope| {
        scope.spawn(|| delete(library.load("through", Form::Fresh).expect("loaded")));
        meet(0);
        // SAFETY: the child LOADs, calls, DELETEs and ends; if it waited forever, the alarm would end it.
        let status = unsafe {
            let child = fork();
            if child == 0 {
                alarm(60);
                let done = library.load("through", Form::Fresh).map(|loaded| {
                    let result = ask(loaded, c"through", 5);
                    delete(loaded);
                    result
                });
                _exit(if done == Ok(6) { 0 } else { 1 });
            }
            let mut status = -1;
            waitpid(child, &raw mut status, 0);
            status
        };
        meet(1);
        assert_eq!(status, 0);
    });
}

/// A constructor that forks continues in the child, which is the same thread: the program is unchanged.
#[test]
fn a_constructor_that_forks_goes_on_in_the_child() {
    static CHILD: AtomicI64 = AtomicI64::new(-1);
    let _alone = alone();
    let place = folder("forking");
    let door = Door::open(&place, |number| {
        if number == 1 {
            // SAFETY: the child continues as the parent does, and ends below.
            CHILD.store(i64::from(unsafe { fork() }), Ordering::Relaxed);
        }
    });
    through(&place, "through", &["-Wl,-z,nodelete"]);
    let library = Opened::folder(&place, true);
    let loaded = library.load("through", Form::Fresh);
    if CHILD.load(Ordering::Relaxed) == 0 {
        // SAFETY: if it waited forever, the alarm would end it.
        unsafe {
            alarm(60);
            let again = library.load("through", Form::Fresh);
            _exit(if again.is_ok() && again == loaded { 0 } else { 1 });
        }
    }
    let mut status = -1;
    // SAFETY: our own child.
    unsafe { waitpid(CHILD.load(Ordering::Relaxed) as c_int, &raw mut status, 0) };
    assert_eq!(status, 0);
    delete(loaded.expect("loaded"));
    drop(door);
}

#[test]
fn copies_of_one_program_have_data_of_their_own() {
    let _alone = alone();
    let (one, two) = (folder("one"), folder("two"));
    let file = member(&one, "tiny.c", &["-Wl,-soname,tiny.so"]);
    std::fs::copy(&file, two.join("tiny.so")).expect("a copy");
    let (first, second) = (Opened::folder(&one, true), Opened::folder(&two, true));
    let here = first.load("tiny", Form::Fresh).expect("loaded");
    let there = second.load("tiny", Form::Fresh).expect("loaded");
    assert_ne!(here, there);
    assert_eq!((table::is_of_system(here), table::is_of_system(there)), (Ok(false), Ok(false)));
    assert_eq!((ask(here, c"next", 0), ask(here, c"next", 0), ask(there, c"next", 0)), (41, 42, 41));
    assert!(!delete(here));
    assert_eq!(ask(there, c"next", 0), 42, "the other one's end is not its own");
    delete(there);
    // A LINK of a program in use also gets another copy: a job within a job does not disturb it.
    let place = folder("nested");
    member(&place, "job.c", &[]);
    let library = Opened::folder(&place, true);
    let loaded = library.load("job", Form::Fresh).expect("loaded");
    for _ in 0..3 {
        assert_eq!(common::link(library.0, &["job", "runs"], None), Ok(1), "fresh data each time");
    }
    assert!(!delete(loaded));
}

/// A member's DT_NEEDED is searched where the system's loader searches, with `$ORIGIN` for the library's folder; other members
/// are not searched. A library that is not found is named.
#[test]
fn what_a_member_needs_is_found_beside_its_library_or_named() {
    let _alone = alone();
    let place = folder("needed");
    let door = member(&place, "door.c", &["-Wl,-soname,needed-door.so"]);
    std::fs::rename(door, place.join("needed-door.so")).expect("renamed");
    let here = format!("-L{}", place.display());
    let needs = |name: &str, path: &str| {
        member_as(&place, "through.c", name, &[&here, "-l:needed-door.so", path]);
    };
    needs("beside", "-Wl,--enable-new-dtags,-rpath,$ORIGIN");
    needs("nowhere", "-Wl,-z,defs");
    // Otherwise the image in the pool would keep its needed libraries.
    table::set_options(table::Options { pool_bytes: 0, ..table::options() });
    let library = Opened::folder(&place, true);
    let loaded = library.load("beside", Form::Fresh).expect("loaded");
    assert_eq!(table::is_of_system(loaded), Ok(false));
    assert_eq!(ask(loaded, c"through", 1), 2);
    delete(loaded);
    let refused = library.load("nowhere", Form::Fresh).expect_err("nobody has it");
    let Error::System(Reason::Needed, message) = refused else { panic!("{refused}") };
    assert!(message.to_string().contains("needed-door.so"), "{message}");
    // The attempt leaves nothing.
    assert_eq!(library.load("nobody", Form::Fresh), Err(Error::NotFound(Text::new(b"nobody"))));
    let again = library.load("beside", Form::Fresh).expect("loaded");
    delete(again);
}

/// A library that a program needs may keep data from the program's constructors. It begins again with the program, or the
/// program begins only once.
#[test]
fn what_a_needed_library_was_told_is_not_told_twice() {
    let _alone = alone();
    let place = folder("told");
    let needs: Vec<String> =
        [format!("-L{}", place.display()), "-Wl,-rpath,$ORIGIN".to_owned()].into_iter().collect();
    // As a library that dlclose gives back, and as one that stays.
    for (kind, registry_flags) in [("goes", &[][..]), ("stays", &["-Wl,-z,nodelete"][..])] {
        let registry = format!("libregistry_{kind}");
        member_as(&place, "registry.c", &registry, registry_flags);
        let link = format!("-lregistry_{kind}");
        let with = |more: &[&'static str]| -> Vec<String> {
            needs
                .iter()
                .cloned()
                .chain([link.clone()])
                .chain(more.iter().map(|&flag| flag.to_owned()))
                .collect()
        };
        let kept: &[(&str, &[&str], bool)] = match kind {
            "goes" => &[
                ("plain", &[], false),
                ("unique", &["-DUNIQUE"], true),
                ("nodelete", &["-Wl,-z,nodelete"], true),
            ],
            _ => &[
                ("plain", &[], true),
                ("unique", &["-DUNIQUE"], true),
                ("nodelete", &["-Wl,-z,nodelete"], true),
            ],
        };
        for (name, flags, begins_once) in kept {
            let name = format!("{name}_{kind}");
            let mut flags = with(flags);
            flags.push(format!("-DNAME={name}"));
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            member_as(&place, "registrant.cc", &name, &flags);
            let mut so_far = 40;
            for pool_bytes in [0, 64 << 20, 0] {
                table::set_options(Options { pool_bytes, keep_after: 1, lookaside: true });
                let library = Opened::folder(&place, true);
                for turn in 0..3 {
                    let loaded = library.load(&name, Form::Fresh).expect("loaded");
                    assert_eq!(table::is_of_system(loaded), Ok(false));
                    assert_eq!(ask(loaded, c"registrant", 0), 0, "{name} was entered twice in turn {turn}");
                    so_far = if *begins_once { so_far + 1 } else { 41 };
                    assert_eq!(ask(loaded, c"calls_so_far", 0), so_far, "{name}");
                    delete(loaded);
                    table::purge();
                }
            }
        }
    }
}

/// The needs of a needed library count, too, and so does a library after two hundred others.
#[test]
fn libraries_behind_others_are_found_whatever_names_them() {
    let _alone = alone();
    let place = folder("behind");
    let here = format!("-L{}", place.display());
    let path = "-Wl,-rpath,$ORIGIN";
    // Libraries between: more than a table of a fixed size would contain.
    let between = 300;
    let script = format!(
        "set -e; cd '{}'; : | cc -xc -c -o empty.o -; i=0; while [ $i -lt {between} ]; do \
         ld -shared -soname libbetween$i.so -o libbetween$i.so empty.o; i=$((i+1)); done",
        place.display()
    );
    let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let many: Vec<String> = (0..between).map(|number| format!("-lbetween{number}")).collect();
    let kinds: [(&str, Vec<&str>, Vec<&str>); 4] = [
        ("nameless", vec!["-Wl,-z,nodelete"], vec![]),
        ("named", vec!["-Wl,-z,nodelete", "-Wl,-soname,libregistry_named.so"], vec![]),
        ("unique", vec!["-Wl,--hash-style=sysv", "-DUNIQUE", "-Wl,-soname,libregistry_unique.so"], vec![]),
        (
            "last",
            vec!["-Wl,-z,nodelete", "-Wl,-soname,libregistry_last.so"],
            many.iter().map(String::as_str).collect(),
        ),
    ];
    for (kind, registry_flags, others) in kinds {
        let registry = format!("libregistry_{kind}");
        member_as(&place, "registry.c", &registry, &registry_flags);
        // Between the program and the registry.
        let link = format!("-lregistry_{kind}");
        let (middle, middle_link) = (format!("libmiddle_{kind}"), format!("-lmiddle_{kind}"));
        let mut flags = vec!["-DPAGES=1", "-Wl,--no-as-needed", &here, path];
        flags.extend(others);
        flags.push(&link);
        member_as(&place, "written.c", &middle, &flags);
        // The program itself is bound to the registry by the middle one alone.
        let name = format!("program_{kind}");
        let define = format!("-DNAME={name}");
        let flags = [&define, "-Wl,--no-as-needed", &here, path, &middle_link];
        member_as(&place, "registrant.cc", &name, &flags);
        for pool_bytes in [0, 64 << 20] {
            table::set_options(Options { pool_bytes, keep_after: 1, lookaside: true });
            let library = Opened::folder(&place, true);
            for turn in 0..3 {
                let loaded = library.load(&name, Form::Fresh).expect("loaded");
                assert_eq!(table::is_of_system(loaded), Ok(false));
                assert_eq!(ask(loaded, c"registrant", 0), 0, "{name} was entered twice in turn {turn}");
                delete(loaded);
                table::purge();
            }
        }
    }
}
