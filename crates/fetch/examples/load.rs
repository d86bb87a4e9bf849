//! The cost of a LOAD, a call and a DELETE, compared with dlopen and memfd with dlopen: one run, alternating, medians of rounds.
//!
//! `cargo run --release -p underbar-fetch --example load -- [ROUNDS [tiny|plain|relocated]]`; needs a C compiler.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use underbar_fetch::table::{self, Library, Options};
use underbar_fetch::{Form, Statistics};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
}

type Entry = unsafe extern "C" fn(i64) -> i64;

const TINY: &str = "int tiny(int x) { return x + 1; }\n";
const PLAIN: &str = "#define R 1,2,3,4,5,6,7,8
#define R2 R,R,R,R,R,R,R,R
#define R3 R2,R2,R2,R2,R2,R2,R2,R2
#define R4 R3,R3,R3,R3,R3,R3,R3,R3
#define R5 R4,R4,R4,R4,R4,R4,R4,R4
__attribute__((section(\".text\"))) const int rows[] = {R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5,R5};
int plain(int x) { return x + 1; }\n";
const RELOCATED: &str = "struct row { const char *text; char rest[56]; };
static const char text[] = \"relocated\";
#define R {text, {0}}
#define R2 R,R,R,R,R,R,R,R,R,R,R,R,R,R,R,R
#define R3 R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2,R2
#define R4 R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3,R3
struct row rows[65536] = {R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4,R4};
int relocated(int x) { return x + 1; }\n";

fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(7, |text| text.parse().expect("a number of rounds"));
    let folder = std::env::temp_dir().join(format!("underbar-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    println!("{:<40} {:>12} {:>12} {:>8}", "microseconds for LOAD, call, DELETE", "median", "least", "ratio");
    let only = std::env::args().nth(2);
    for (name, source, times) in
        [("tiny", TINY, 5000), ("plain", PLAIN, 1000), ("relocated", RELOCATED, 1000)]
    {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let path = compile(&folder, name, source);
        measure(name, &path, times, rounds);
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (from, to) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    std::fs::write(&from, source).expect("written");
    let done = Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&to).arg(&from).status();
    assert!(done.expect("a C compiler").success());
    to
}

/// A way of loading, running and giving back.
type Way<'a> = (&'a str, Box<dyn Fn() + 'a>);

fn measure(name: &str, path: &Path, times: usize, rounds: usize) {
    let c = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path");
    let symbol = CString::new(name).expect("a name");
    let folder =
        CString::new(path.parent().expect("a folder").as_os_str().as_encoded_bytes()).expect("a path");
    let frozen = table::open(&folder, true).expect("a library");
    let thawed = table::open(&folder, false).expect("a library");
    let pdse = table::open(&pdse(path, name), true).expect("a library");
    let bytes = std::fs::read(path).expect("a program");
    let pool = |pool_bytes| table::set_options(Options { pool_bytes, keep_after: 1, lookaside: true });
    let ways: Vec<Way<'_>> = vec![
        ("dlopen, dlclose", Box::new(|| by_system(&c, &symbol))),
        ("memfd, dlopen, dlclose", Box::new(|| by_memory(&bytes, &symbol))),
        ("own, shared, from the pool", Box::new(|| ours(frozen, name, Form::Shared))),
        ("own, fresh, from the pool", Box::new(|| ours(frozen, name, Form::Fresh))),
        ("own, fresh, library not frozen", Box::new(|| ours(thawed, name, Form::Fresh))),
        ("own, nothing kept", Box::new(|| ours(frozen, name, Form::Fresh))),
        ("own, nothing kept, from a PDSE", Box::new(|| ours(pdse, name, Form::Fresh))),
    ];
    let mut figures = vec![Vec::new(); ways.len()];
    for _ in 0..rounds {
        for ((title, way), figures) in ways.iter().zip(&mut figures) {
            pool(0);
            if title.contains("from the pool") || title.contains("frozen") {
                pool(64 << 20);
            }
            way();
            let before = table::statistics();
            let start = Instant::now();
            (0..times).for_each(|_| way());
            figures.push(start.elapsed().as_secs_f64() * 1e6 / times as f64);
            check(&before, title, times as u64);
        }
    }
    let median = |figures: &mut Vec<f64>| {
        figures.sort_by(f64::total_cmp);
        (figures[figures.len() / 2], figures[0])
    };
    let (first, _) = median(&mut figures[0].clone());
    for ((title, _), figures) in ways.iter().zip(&mut figures) {
        let (middle, least) = median(figures);
        println!("{:<40} {middle:>12.3} {least:>12.3} {:>8.1}", format!("{name}: {title}"), first / middle);
    }
    std::io::stdout().flush().expect("written");
    table::close(frozen).expect("open");
    table::close(thawed).expect("open");
    table::close(pdse).expect("open");
}

/// A PDSE with the program as its only member.
fn pdse(path: &Path, name: &str) -> CString {
    use underbar_store::change::{Addition, Edit, apply};
    let library = path.with_extension("pdse");
    underbar_store::make::create(&library, &underbar_store::make::Wanted::usual(0)).expect("made");
    let member = underbar_partitioned::name::Name::new(name.as_bytes()).expect("a name");
    let bytes = std::fs::read(path).expect("a program");
    let addition = Addition::new(member, bytes, Some(name.as_bytes()), 0).expect("a program");
    apply(&library, [Ok(Edit::Add(Box::new(addition)))], 1, 0, true).expect("added");
    CString::new(library.as_os_str().as_encoded_bytes()).expect("a path")
}

/// Counts only programs that our loader loaded, from the source in the title.
fn check(before: &Statistics, title: &str, times: u64) {
    let now = table::statistics();
    assert_eq!(now.fallbacks, before.fallbacks, "{title}");
    let (hits, loads) = (now.hits_in_pool - before.hits_in_pool, now.loads - before.loads);
    match title {
        _ if title.starts_with("own, nothing kept") => assert_eq!((hits, loads), (0, times), "{title}"),
        _ if title.starts_with("own") => assert_eq!((hits, loads), (times, 0), "{title}"),
        _ => assert_eq!((hits, loads), (0, 0), "{title}"),
    }
}

fn ours(library: Library, name: &str, form: Form) {
    // SAFETY: a program of one function, which is used between LOAD and DELETE only.
    unsafe {
        let loaded = table::load(&[library], name.as_bytes(), Some(form)).expect("loaded");
        let entry = table::entry(loaded).expect("an entry");
        assert_eq!(std::mem::transmute::<usize, Entry>(entry)(41) as i32, 42);
        table::delete(loaded).expect("deleted");
    }
}

fn by_system(path: &CStr, symbol: &CStr) {
    // SAFETY: a program of one function.
    unsafe {
        let handle = dlopen(path.as_ptr(), 2);
        assert!(!handle.is_null());
        let entry = dlsym(handle, symbol.as_ptr()) as usize;
        assert_eq!(std::mem::transmute::<usize, Entry>(entry)(41) as i32, 42);
        dlclose(handle);
    }
}

fn by_memory(bytes: &[u8], symbol: &CStr) {
    let fd = underbar_sys::syscall::memfd_create(c"program", false).expect("a file in memory");
    let mut done = 0;
    while done < bytes.len() {
        done += underbar_sys::syscall::write(fd, &bytes[done..]).expect("written");
    }
    by_system(&CString::new(format!("/proc/self/fd/{fd}")).expect("a path"), symbol);
    underbar_sys::syscall::close(fd).expect("closed");
}
