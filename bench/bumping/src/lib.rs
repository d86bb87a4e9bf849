//! Units of work over bumpalo: the requests of a script, and the end of the unit.
//!
//! The loop, the script and the output are those of `bench/ecb/driver.c`, which serves every arena of C: `unit SCRIPT TURNS`,
//! with `reset` in place of `unit` the arena is kept and reset. Pieces are aligned to 16 bytes, as malloc's are, and never freed.
//!
//! Invariant: the first bytes of a piece are what was written when it is freed or moved; else the run fails.
//! Not here: the script (`underbar-bench`), and other arenas.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::time::Instant;

use bumpalo::Bump;
use rustix::time::{ClockId, clock_gettime};

/// One request.
#[derive(Clone, Copy)]
struct Op {
    kind: Kind,
    slot: usize,
    size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Get,
    Zeroed,
    Resize,
    Free,
}

/// The requests of one unit.
#[derive(Default)]
struct Unit {
    ops: Vec<Op>,
    slots: usize,
}

/// Where the pieces of a unit are.
struct Pieces {
    addresses: Vec<*mut u8>,
    sizes: Vec<usize>,
}

/// Runs the arguments of a command line, and returns the output.
///
/// # Errors
/// Invalid arguments or script, or a piece with other contents than were written.
pub fn program(words: &[&str]) -> Result<String, String> {
    let [what @ ("unit" | "reset"), script, turns] = words else {
        return Err("unit|reset SCRIPT TURNS".to_owned());
    };
    let turns: usize = turns.parse().ok().filter(|turns| *turns > 0).ok_or("TURNS of at least 1")?;
    let text = std::fs::read_to_string(script).map_err(|error| format!("{script}: {error}"))?;
    let units = parse(&text)?;
    let slots = units.iter().map(|unit| unit.slots).max().unwrap_or(0);
    let mut pieces = Pieces { addresses: vec![std::ptr::null_mut(); slots], sizes: vec![0; slots] };
    let is_kept = *what == "reset";
    let mut kept = Bump::new();
    let mut serve = |turn: usize| {
        let unit = &units[turn % units.len()];
        if is_kept {
            let is_right = pieces.serve(&kept, unit);
            kept.reset();
            is_right
        } else {
            pieces.serve(&Bump::new(), unit)
        }
    };
    let warm = (0..turns / 8).all(&mut serve);
    let (start, cpu) = (Instant::now(), cpu_ns());
    let right = (turns / 8..turns / 8 + turns).all(&mut serve);
    let (cpu, elapsed) = (cpu_ns() - cpu, start.elapsed().as_nanos());
    if warm && right {
        Ok(format!("turns={turns}\nelapsed_ns={elapsed}\ncpu_ns={cpu}"))
    } else {
        Err("a piece has other contents than were written".to_owned())
    }
}

fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn parse(text: &str) -> Result<Vec<Unit>, String> {
    let mut units = Vec::new();
    let mut unit = Unit::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, slot, size) = match words.as_slice() {
            ["e"] => {
                units.push(std::mem::take(&mut unit));
                continue;
            }
            ["g", slot, size] => (Kind::Get, slot, *size),
            ["z", slot, size] => (Kind::Zeroed, slot, *size),
            ["r", slot, size] => (Kind::Resize, slot, *size),
            ["f", slot] => (Kind::Free, slot, "0"),
            _ => return Err(format!("no request: {line}")),
        };
        let number = |text: &str| text.parse().map_err(|_| format!("no number: {line}"));
        let op = Op { kind, slot: number(slot)?, size: number(size)? };
        unit.slots = unit.slots.max(op.slot + 1);
        unit.ops.push(op);
    }
    if units.is_empty() { Err("an empty script".to_owned()) } else { Ok(units) }
}

impl Pieces {
    /// Serves all requests of a unit; false: a piece had other contents.
    fn serve(&mut self, bump: &Bump, unit: &Unit) -> bool {
        let get = |size: usize| -> *mut u8 {
            Layout::from_size_align(size, 16).map_or(std::ptr::null_mut(), |layout| {
                bump.try_alloc_layout(layout).map_or(std::ptr::null_mut(), NonNull::as_ptr)
            })
        };
        for op in &unit.ops {
            let mut piece = self.addresses[op.slot];
            let old = self.sizes[op.slot];
            match op.kind {
                Kind::Get => piece = get(op.size),
                Kind::Zeroed => {
                    piece = get(op.size);
                    if !piece.is_null() {
                        // SAFETY: the arena gave so many bytes just now, and nobody else has their address.
                        unsafe { piece.write_bytes(0, op.size) };
                    }
                }
                Kind::Resize => {
                    if !is_written(piece, old.min(op.size), op.slot) {
                        return false;
                    }
                    let now = get(op.size);
                    if !now.is_null() {
                        // SAFETY: both pieces have at least so many bytes, in the same arena, which lives; they are two pieces, so
                        // they do not overlap.
                        unsafe { now.copy_from_nonoverlapping(piece, old.min(op.size)) };
                    }
                    piece = now;
                }
                Kind::Free => {
                    if !is_written(piece, old, op.slot) {
                        return false;
                    }
                    self.addresses[op.slot] = std::ptr::null_mut();
                    continue;
                }
            }
            if piece.is_null() {
                return false;
            }
            write(piece, op.size, op.slot);
            self.addresses[op.slot] = piece;
            self.sizes[op.slot] = op.size;
        }
        true
    }
}

/// Writes the first bytes of a piece of this size.
fn write(piece: *mut u8, size: usize, slot: usize) {
    if size >= 8 {
        // SAFETY: the arena gave so many bytes, aligned to 16, for this slot alone.
        unsafe { piece.cast::<u64>().write(slot as u64) };
    } else if size > 0 {
        // SAFETY: as above.
        unsafe { piece.write(slot as u8) };
    }
}

/// Whether the first bytes are what was written.
fn is_written(piece: *const u8, size: usize, slot: usize) -> bool {
    if piece.is_null() {
        return false;
    }
    if size >= 8 {
        // SAFETY: a script frees and moves only what its unit got; the arena lives until the unit's end.
        unsafe { piece.cast::<u64>().read() == slot as u64 }
    } else {
        // SAFETY: as above.
        size == 0 || unsafe { piece.read() } == slot as u8
    }
}

#[cfg(test)]
mod tests {
    use super::{Bump, Kind, Pieces, parse, program};

    #[test]
    fn a_script_is_served_and_wrong_ones_are_refused() {
        let units = parse("g 0 100\nz 1 7\nr 0 300\nf 1\ne\n").expect("a script");
        assert_eq!((units.len(), units[0].ops.len(), units[0].slots), (1, 4, 2));
        assert!(units[0].ops[2].kind == Kind::Resize);
        let mut pieces = Pieces { addresses: vec![std::ptr::null_mut(); 2], sizes: vec![0; 2] };
        let bump = Bump::new();
        assert!(pieces.serve(&bump, &units[0]));
        assert!(pieces.addresses[1].is_null() && pieces.sizes[0] == 300);
        for wrong in ["", "g 0\ne", "x 0 1\ne", "g -1 1\ne"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(program(&["unit", "/nonexistent/script", "1"]).is_err());
        assert!(program(&["unit"]).is_err());
    }

    #[test]
    fn other_contents_end_the_run() {
        let units = parse("g 0 100\ne\nf 0\ne\n").expect("a script");
        let mut pieces = Pieces { addresses: vec![std::ptr::null_mut()], sizes: vec![0] };
        let bump = Bump::new();
        assert!(pieces.serve(&bump, &units[0]));
        let mut other = [7_u64; 2];
        pieces.addresses[0] = other.as_mut_ptr().cast();
        assert!(!pieces.serve(&bump, &units[1]));
    }
}
