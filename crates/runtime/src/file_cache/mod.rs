//! Caches of files: small writes of the program to files that PRINT and WORKFILE name are gathered, and reach the kernel together.
//!
//! ```text
//! program ── its word for write ──────> `calls` ── into the buffer, which the supervisor shares
//! fputs, in the C library ── table ───> `calls` ── the same
//! program ── fstat, fork, open ... ───> `stubs` ── `before` empties buffers ──> the function
//! the process is killed ──────────────> the supervisor writes what is in the buffer
//! ```
//!
//! A cache is where bytes enter the kernel, not where the program prints: no FILE is touched, and `fflush` costs the copy of the stream's
//! bytes into the buffer. So `std::endl`, `flush=True` and `$|` of any language are one case.
//!
//! | module | holds |
//! |---|---|
//! | `entries` | what is known of each descriptor |
//! | `slot` | buffers of files that are written |
//! | `learn` | which files get one |
//! | `files` | what calls do to those files |
//! | `others` | files of which other processes may have a buffer |
//! | `reads` | buffers of files that are read |
//! | `calls` | the functions that a cache takes the place of |
//! | `names`, `stubs`, `before` | the functions before which buffers are emptied |
//! | `waits` | waits for children |
//! | `streams` | the C library's tables of streams |
//! | `vfork` | children in this process's memory |
//! | `lock` | the lock, which knows its owner |
//! | `supervisor` | messages |
//!
//! Invariant: after a buffer is emptied, kernel and program agree on content and place, so that anything that is not followed needs no more
//! than that. What could make a difference later makes the file plain for good, counted with its reason. Off, nothing of this is done.
//! Not here: the steps of a buffer (`underbar_filecache`), the supervisor (`host/launch`), the figures (`underbar_ledger::caches`).
//! Limits: a program that makes system calls without the C library's functions is not seen. A bad address is a fault here, where the
//! kernel would refuse it.

mod before;
mod calls;
mod entries;
mod files;
mod learn;
mod lock;
mod names;
mod others;
mod reads;
mod slot;
mod streams;
mod stubs;
mod supervisor;
mod vfork;
mod waits;

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::caches::{Flush, Plain};
use underbar_ledger::fingerprint::fingerprint;
use underbar_options::TEXT_ROOM;
use underbar_preloadable::LEDGER;

use crate::environment::{Environment, OPTION_TEXT};
use crate::orders::{Given, Orders};
use crate::sandbox;
use crate::switch;
use crate::switch::bind::{Binding, bind};
use supervisor::Name;

/// The options, as far as they concern files.
struct Settings {
    /// Bytes of the cache of printed output; 0: none.
    print: usize,
    /// Bytes for work files that are read, and that are written, if their pattern has none.
    read: usize,
    write: usize,
    files: WorkFiles,
    supervisor: Name,
    /// Whether the options of another program may be others.
    has_sections: bool,
}

/// The text of WORKFILE.
struct WorkFiles {
    text: [u8; TEXT_ROOM],
    length: usize,
}

impl WorkFiles {
    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn get(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or(&[])
    }
}

struct Once(UnsafeCell<Settings>);
// SAFETY: written once, before the program begins and before anyone reads.
unsafe impl Sync for Once {}
static SETTINGS: Once = Once(UnsafeCell::new(Settings {
    print: 0,
    read: 0,
    write: 0,
    files: WorkFiles { text: [0; TEXT_ROOM], length: 0 },
    supervisor: Name::NONE,
    has_sections: false,
}));

fn settings() -> &'static Settings {
    // SAFETY: written once, by `configure`, before any call comes here.
    unsafe { &*SETTINGS.0.get() }
}

/// Obeys PRINT, WORKFILE and PWCSIZE.
pub(crate) fn configure(orders: &Orders<'_>) {
    let options = orders.settings;
    if !options.caches_files() {
        return;
    }
    let sizes = options.cache_sizes();
    let [print, read, write] = [sizes.print, sizes.read, sizes.write].map(|bytes| bytes as usize);
    let text = options.work_files_text();
    let mut files = WorkFiles { text: [0; TEXT_ROOM], length: text.len().min(TEXT_ROOM) };
    files.text.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    let has_sections = orders.text.contains(&b'[');
    OPTIONS.store(options_of(orders.environment), Ordering::Relaxed);
    let supervisor = orders.environment.value_c(LEDGER).map_or(Name::NONE, Name::of);
    // SAFETY: called once, before the program's first request is served; nobody else reads or writes yet.
    unsafe { *SETTINGS.0.get() = Settings { print, read, write, files, supervisor, has_sections } };
    if !text.is_empty() {
        switch::work_files_are(learn::is_work_file);
    }
}

/// Takes the functions' places.
pub(crate) fn at_start(_: &Given) {
    let settings = settings();
    if (settings.print == 0 && settings.files.is_empty()) || sandbox::is_closed() {
        return;
    }
    bind(names::FUNCTIONS + calls::CALLS + waits::WAITS, |number| {
        if let Some(wait) = number.checked_sub(names::FUNCTIONS + calls::CALLS) {
            let (name, ours) = waits::call(wait)?;
            let original = waits::REAL.get(wait)?;
            return Some(Binding { name, hash: names::hash_of(name), ours, original });
        }
        if let Some(call) = number.checked_sub(names::FUNCTIONS) {
            let (name, ours) = calls::call(call)?;
            return Some(Binding {
                name,
                hash: names::hash_of(name),
                ours,
                original: calls::REAL.get(call)?,
            });
        }
        Some(Binding {
            name: names::name(number)?,
            hash: names::hash(number)?,
            ours: stubs::address(number),
            original: stubs::REAL.get(number)?,
        })
    });
    let are_there = calls::REAL.iter().all(|real| real.load(Ordering::Relaxed) != 0);
    if streams::bind() && are_there {
        reads::begin();
        entries::ACTIVE.store(1, Ordering::Relaxed);
    }
}

/// The process is about to end, or to forbid itself system calls: no file is cached any more.
pub(crate) fn finish() {
    if !entries::is_active() || vfork::is_child() {
        return;
    }
    let _held = lock::enter();
    reads::end();
    files::end();
}

/// Before a fork: the child has all descriptors, too. Returns whether the lock is held across the fork.
pub(crate) fn before_fork() -> bool {
    if !entries::is_active() || vfork::is_child() {
        return false;
    }
    let held = lock::enter();
    files::flush_all(Flush::Fork);
    reads::make_all_plain(Plain::Fork);
    files::share_with_child();
    lock::hold(held)
}

/// After it, in the parent.
pub(crate) fn after_fork(is_held: bool) {
    if is_held {
        lock::release();
    }
}

/// After it, in the child.
pub(crate) fn after_fork_in_child(_: bool) {
    if entries::is_active() {
        lock::forget_owner();
        reads::forget_all();
        slot::forget_all();
        entries::forget_all();
        others::forget_all();
    }
}

/// A program is about to be executed, or started, with that environment. If its caches are not those of this process, the files that it gets
/// are cached no more.
pub(crate) fn before_program(environment: Environment<'_>, is_followed: bool) {
    let has_our_options = || options_of(environment) == OPTIONS.load(Ordering::Relaxed);
    if entries::is_active() && !(is_followed && !settings().has_sections && has_our_options()) {
        others::escapes();
    }
}

/// [`options_of`] the environment that this process got. Written once, before the program begins; relaxed.
static OPTIONS: AtomicU64 = AtomicU64::new(0);

/// The fingerprint of the option text of an environment; 0: it has none.
fn options_of(environment: Environment<'_>) -> u64 {
    environment.value(OPTION_TEXT).map_or(0, |text| fingerprint(text.iter().copied()))
}
