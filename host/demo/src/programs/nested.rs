//! Programs of a library in each other, by LINK or by CALL, and what the innermost one can still get; and the cost of one level
//! next to that of a thread.
//!
//! Invariant: figures are taken in the innermost program, while all programs around it run.
//! Not here: the programs (`module`), the nest (`underbar_fetch::nested`).

use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustix::process::{Resource, Rlimit, setrlimit};
use underbar_contention::threads::process_cpu;
use underbar_fetch::Error;
use underbar_fetch::nested::{self, By};
use underbar_fetch::table::{self, Library};
use underbar_shown::Shown;
use underbar_sys::thread::Thread;

use super::{Parameters, complain, say, virtual_bytes};

/// The names of the programs, the outermost first.
pub const NAMES: [&str; 10] = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN"];

/// The pieces in which the innermost program gets what is left.
const PIECE: usize = 64 << 10;

/// Bytes of address space that the process may have more than at its start; 0: no limit.
static LIMIT: AtomicU64 = AtomicU64::new(0);

fn by(parameters: &Parameters) -> By {
    if parameters.way == "call" { By::Call } else { By::Link }
}

fn open(parameters: &Parameters) -> Library {
    let path = CString::new(parameters.library).unwrap_or_default();
    match table::open(&path, true) {
        Ok(library) => library,
        Err(error) => fail(parameters, &error),
    }
}

fn fail(parameters: &Parameters, error: &Error) -> ! {
    complain(format_args!("{}: {error}", parameters.library.shown()));
    std::process::exit(1);
}

fn nest(parameters: &Parameters, library: Library, levels: usize, innermost: fn()) {
    let names = NAMES.map(str::as_bytes);
    let names = names.get(..levels).unwrap_or(&names);
    if let Err(error) = nested::nested(library, by(parameters), names, innermost) {
        fail(parameters, &error);
    }
}

/// So many programs, one in the other; the innermost one gets all that the limit leaves.
pub fn nested(parameters: &Parameters) {
    let library = open(parameters);
    LIMIT.store(parameters.limit, Ordering::Relaxed);
    if parameters.limit > 0 {
        let most = Some(virtual_bytes() + parameters.limit);
        if let Err(error) = setrlimit(Resource::As, Rlimit { current: most, maximum: most }) {
            complain(format_args!("a limit of the address space: {error}"));
            std::process::exit(1);
        }
    }
    let before = virtual_bytes();
    nest(parameters, library, parameters.times as usize, || {
        let limit = LIMIT.load(Ordering::Relaxed) as usize;
        let mut pieces: Vec<Vec<u8>> = Vec::with_capacity(limit / PIECE);
        let inside = virtual_bytes();
        // Kept until all is got, and never more than there is room for in the list.
        while pieces.len() < pieces.capacity() {
            let mut piece = Vec::new();
            if piece.try_reserve_exact(PIECE).is_err() {
                break;
            }
            pieces.push(piece);
        }
        say(format_args!("inside={inside} left={}\n", pieces.len() * PIECE));
    });
    say(format_args!("before={before}\n"));
}

/// So many times one program, or one thread that is made and has ended.
pub fn one_after_the_other(parameters: &Parameters) {
    let library = open(parameters);
    let work = |times: u64| {
        for _ in 0..times {
            match parameters.way {
                "thread" => {
                    if let Ok(thread) = Thread::start(|| 0) {
                        let _ = thread.join();
                    }
                }
                _ => nest(parameters, library, 1, || ()),
            }
        }
    };
    work(10);
    let (cpu, begun) = (process_cpu(), Instant::now());
    work(parameters.times);
    let (elapsed, cpu) = (begun.elapsed().as_nanos() as u64, process_cpu() - cpu);
    say(format_args!("loads={} elapsed_ns={elapsed} cpu_ns={cpu}\n", parameters.times));
}
