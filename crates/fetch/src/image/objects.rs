//! `_dl_find_object`, which unwinders call to find the program that contains an address (glibc 2.35, libgcc 12 and later). It
//! searches our programs first, then the system's loader.
//!
//! ```text
//! unwinder ──> _dl_find_object ─┬─ one of our rows ──> the address of its table of frames
//! (each frame)                  '─ else ──> the C library's
//!
//! page of the address ─> GUESSES ─> between these two rows? ── yes ──> found, or none: same cost for any number of programs
//!                           ^                              '─ no ──> bisection
//!                           '──────────────── kept ────────────────────'
//!
//! VERSION ── even, odd: the valid one of the two sides     a change is made on the other one, and VERSION goes up
//! ```
//!
//! A reader takes no lock and may be in a signal handler: it reads the valid side, and reads again if VERSION has gone up
//! meanwhile. Each word is an atomic, since a late reader may look at the side that is written. A list that was outgrown is kept,
//! for the same reason.
//!
//! The symbol is weak, and the linker exports it from a program that links `libgcc_s.so` or the C library: no other program is
//! changed. Whether the unwinder calls it is not assumed, but tried (`frames`).
//!
//! Invariant: the rows of the valid side are in order of address and do not overlap. A guess is never trusted.
//! Not here: unwinders that do not call it; each program is registered with them (`frames`).

use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

use underbar_sys::syscall::Errno;

use crate::arena;
use crate::reentrant::Again;
use crate::system;

/// A program: its addresses, and the address of its PT_GNU_EH_FRAME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    pub low: usize,
    pub high: usize,
    pub frames: usize,
}

/// A program in a list.
struct Row {
    low: AtomicUsize,
    high: AtomicUsize,
    frames: AtomicUsize,
}

impl Row {
    fn get(&self) -> Object {
        let of = |word: &AtomicUsize| word.load(Ordering::Relaxed);
        Object { low: of(&self.low), high: of(&self.high), frames: of(&self.frames) }
    }

    fn set(&self, object: Object) {
        for (word, value) in
            [(&self.low, object.low), (&self.high, object.high), (&self.frames, object.frames)]
        {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// A list. Its room only grows, and the count is stored after the list that has room for it.
struct Side {
    rows: AtomicPtr<Row>,
    count: AtomicUsize,
    room: AtomicUsize,
}

impl Side {
    const fn new() -> Side {
        Side { rows: AtomicPtr::new(null_mut()), count: AtomicUsize::new(0), room: AtomicUsize::new(0) }
    }

    fn rows(&self) -> &[Row] {
        let count = self.count.load(Ordering::Acquire);
        let rows = self.rows.load(Ordering::Acquire);
        // SAFETY: a list with room for at least `count` rows, by the order of the stores; zeros or rows at any time, all of
        // them atomics, and kept for ever.
        if rows.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(rows, count) } }
    }

    /// Stores these rows. Only the holder of the lock calls this, for the side that is not valid.
    fn fill(&self, count: usize, objects: impl Iterator<Item = Object>) -> Result<(), Errno> {
        if count > self.room.load(Ordering::Relaxed) {
            let room = count.next_power_of_two().max(64);
            let list = arena::get(room * size_of::<Row>())?;
            // SAFETY: room for that many rows, seen by no other code; zeros are rows.
            unsafe { list.as_ptr().write_bytes(0, room * size_of::<Row>()) };
            self.rows.store(list.as_ptr().cast(), Ordering::Release);
            self.room.store(room, Ordering::Relaxed);
        }
        self.count.store(count, Ordering::Release);
        self.rows().iter().zip(objects).for_each(|(row, object)| row.set(object));
        Ok(())
    }
}

static SIDES: [Side; 2] = [Side::new(), Side::new()];
static VERSION: AtomicU64 = AtomicU64::new(0);
static LOCK: Again<()> = Again::new(());
/// The C library's function: not looked up yet (0), none (1), or its address.
static SYSTEM: AtomicUsize = AtomicUsize::new(0);

/// Takes the lock, for fork.
pub(crate) fn hold() {
    LOCK.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { LOCK.release() }
}

/// Lets unwinders find a program from now on.
pub fn add(object: Object) -> Result<(), Errno> {
    change(|old| {
        let before = old.iter().take_while(move |row| row.get().low < object.low).map(Row::get);
        let after = old.iter().skip_while(move |row| row.get().low < object.low).map(Row::get);
        (old.len() + 1, before.chain([object]).chain(after))
    })
}

/// Removes a program.
pub fn remove(object: Object) {
    // There is room for fewer: the other side had as many rows before, or one less than it has room for.
    let _ = change(|old| {
        let rest = old.iter().map(Row::get).filter(move |row| *row != object);
        (rest.clone().count(), rest)
    });
}

fn change<'a, I: Iterator<Item = Object>>(new: impl FnOnce(&'a [Row]) -> (usize, I)) -> Result<(), Errno> {
    LOCK.with(|_| {
        let version = VERSION.load(Ordering::Relaxed);
        let [now, other] = sides(version);
        // A reader that reads a value stored below also reads the version stored before this.
        fence(Ordering::Release);
        let (count, objects) = new(now.rows());
        other.fill(count, objects)?;
        VERSION.store(version + 1, Ordering::Release);
        Ok(())
    })
}

/// The valid side, and the other.
fn sides(version: u64) -> [&'static Side; 2] {
    let [even, odd] = &SIDES;
    if version.is_multiple_of(2) { [even, odd] } else { [odd, even] }
}

/// The program that contains an address.
pub fn find(address: usize) -> Option<Object> {
    loop {
        let version = VERSION.load(Ordering::Acquire);
        let [rows, _] = sides(version).map(Side::rows);
        // Most questions are about code of the system's loader, which is before or after all of our programs.
        let found = match rows {
            [] => None,
            [first, ..] if address < first.low.load(Ordering::Relaxed) => None,
            [.., last] if last.high.load(Ordering::Relaxed) <= address => None,
            rows => below(rows, address).map(Row::get),
        };
        fence(Ordering::Acquire);
        if VERSION.load(Ordering::Relaxed) == version {
            return found.filter(|object| address < object.high);
        }
    }
}

/// The last row that begins at an address or below it. Bisection alone made a throw 12 % slower with 200 programs: its eight steps
/// are eight jumps that the processor cannot predict.
fn below(rows: &[Row], address: usize) -> Option<&Row> {
    let guess = &GUESSES[place_of_guess(address)];
    let at = guess.load(Ordering::Relaxed);
    let below = rows.get(at);
    let is_below = |row: Option<&Row>| row.is_some_and(|row| row.low.load(Ordering::Relaxed) <= address);
    if is_below(below) && !is_below(rows.get(at + 1)) {
        return below;
    }
    let at = rows.partition_point(|row| row.low.load(Ordering::Relaxed) <= address).checked_sub(1)?;
    guess.store(at, Ordering::Relaxed);
    rows.get(at)
}

const GUESS_BITS: u32 = 8;

/// For pages of code, the row below. Written and read by any caller, relaxed: any value is only a guess.
static GUESSES: [AtomicUsize; 1 << GUESS_BITS] = [const { AtomicUsize::new(0) }; 1 << GUESS_BITS];

/// Programs are one after another: their pages share no place as long as there are places.
fn place_of_guess(address: usize) -> usize {
    /// 2^64 divided by the golden ratio.
    const SPREAD: usize = 0x9E37_79B9_7F4A_7C15;
    (address / 4096).wrapping_mul(SPREAD) >> (usize::BITS - GUESS_BITS)
}

// ---- the C library's interface ---------------------------------------------------------------------------

/// `struct dl_find_object` of glibc for x86-64.
#[repr(C)]
struct Answer {
    flags: u64,
    start: *const c_void,
    end: *const c_void,
    /// For programs of the system's loader; ours have none.
    link_map: *const c_void,
    frames: *const c_void,
    reserved: [u64; 7],
}

// Weak: a program without shared libraries contains the C library's, which then takes precedence.
core::arch::global_asm!(
    ".pushsection .text._dl_find_object,\"ax\",@progbits",
    ".weak _dl_find_object",
    ".type _dl_find_object,@function",
    "_dl_find_object:",
    "jmp {ours}",
    ".size _dl_find_object, . - _dl_find_object",
    ".popsection",
    ours = sym find_object,
);

unsafe extern "C" {
    fn _dl_find_object(address: *const c_void, answer: *mut Answer) -> c_int;
}

unsafe extern "C" fn find_object(address: *const c_void, answer: *mut Answer) -> c_int {
    type Find = unsafe extern "C" fn(*const c_void, *mut Answer) -> c_int;
    if let Some(object) = find(address as usize) {
        // SAFETY: the caller's promise: room for an answer.
        unsafe {
            answer.write(Answer {
                flags: 0,
                start: object.low as *const c_void,
                end: object.high as *const c_void,
                link_map: null(),
                frames: object.frames as *const c_void,
                reserved: [0; 7],
            });
        }
        return 0;
    }
    let mut system = SYSTEM.load(Ordering::Relaxed);
    if system == 0 {
        system = prepare();
    }
    match system {
        1 => -1,
        // SAFETY: the C library's function of this name, and the caller's promise.
        system => unsafe { core::mem::transmute::<usize, Find>(system)(address, answer) },
    }
}

/// Looks up the C library's function: early, since the first call may come in a signal handler.
pub fn prepare() -> usize {
    // The linker leaves out symbols that no code uses.
    core::hint::black_box(_dl_find_object as *const ());
    let found = system::next_symbol(c"_dl_find_object").unwrap_or(1);
    SYSTEM.store(found, Ordering::Relaxed);
    found
}
