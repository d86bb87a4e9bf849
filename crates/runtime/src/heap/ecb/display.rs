//! One ECB that is alive: what it has, and which lists filled its requests.
//!
//! ```text
//! figures ── the caller's own visit is counted so far ──> control block, under its lock ──> `Shown`
//! display ── figures, names, pairs ──> lines in the layout of ZDECB HAVL, as `report --report ztpf` has it for a class
//! show    ── display, asked for by the host's control page ──> a file next to the ledger
//! ```
//!
//! Requests are counted by the list when a thread leaves. So those of a thread that is inside, and is not the caller, are missing since it
//! entered. Nothing is done for a display before one is asked for: ECBs of a class are counted themselves from the first one on, or by RPTSTG
//! or a name-value pair. An ECB that began before has all figures but those of its lists.
//!
//! Invariant: figures are of one moment, at which the ECB has not ended.
//! Not here: figures of classes (`figures`), and the same layout for a class (`underbar_report::ztpf`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::classes::LISTS;
use underbar_ledger::control::{DISPLAY_BYTES, EVERY_ECB};
use underbar_sys::syscall;

use super::super::home;
use super::super::text::Text;
use super::control_block::ControlBlock;
use super::lists::AVAILABLE;
use super::seat::Seat;
use super::tags::{self, Tags};
use super::{Number, Refused, block_of, innermost, number_of, ready};
use crate::ledger;

/// Names of buffers in a display.
const NAMES: usize = 32;

/// An ECB, as a program in C sees it (`struct underbar_ecb_figures`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The name of its class, with zeros behind it.
    pub class: [u8; 40],
    /// 1: its lists are counted; 0: they are not, since it began before its class was counted so.
    pub counted: u32,
    /// Threads that are inside.
    pub threads: u32,
    /// Bytes of a buffer of AVL1 to AVL5; 0: not in use.
    pub sizes: [u64; AVAILABLE],
    /// Buffers that AVL1 to AVL5 and all other lists dispensed.
    pub dispensed: [u64; LISTS],
    /// Those of them that were freed.
    pub freed: [u64; LISTS],
    /// Requests that lists shared by its threads filled.
    pub shared: [u64; LISTS],
    /// Requests for which a thread made room for new buffers.
    pub carved: [u64; LISTS],
    /// Buffers in use.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes of storage that it had.
    pub high_water: u64,
    /// The same below 2 GiB.
    pub high_water_31: u64,
    /// Frames of 1 MiB.
    pub frames: u64,
    /// Names of buffers.
    pub names: u64,
    /// For how many the table has room.
    pub name_table: u64,
}

impl Shown {
    const NOTHING: Self = Self {
        class: [0; 40],
        counted: 0,
        threads: 0,
        sizes: [0; AVAILABLE],
        dispensed: [0; LISTS],
        freed: [0; LISTS],
        shared: [0; LISTS],
        carved: [0; LISTS],
        buffers: 0,
        bytes: 0,
        high_water: 0,
        high_water_31: 0,
        frames: 0,
        names: 0,
        name_table: 0,
    };
}

/// A name of a buffer.
#[derive(Clone, Copy)]
struct Tagged {
    buffer: usize,
    name: [u8; tags::LONGEST],
    length: usize,
}

/// Names and rows of pairs, for a display.
struct More {
    names: [Tagged; NAMES],
    pairs: [usize; 4],
    pair_count: usize,
}

/// The figures of an ECB that is alive.
pub fn figures(number: Number) -> Result<Shown, Refused> {
    gather(number).map(|(shown, _)| shown)
}

fn gather(number: Number) -> Result<(Shown, More), Refused> {
    let (block, generation) = block_of(number)?;
    let seat = own_seat(block);
    // SAFETY: null, or this thread's, which is inside.
    unsafe {
        if let Some(seat) = seat.as_mut() {
            seat.count_visit();
        }
    }
    let class = block.class();
    let mut shown = Shown::NOTHING;
    let name = class.name();
    shown.class[..name.len()].copy_from_slice(name);
    for (to, size) in shown.sizes.iter_mut().zip(&class.lists.sizes[1..]) {
        *to = (*size).into();
    }
    let nothing = Tagged { buffer: 0, name: [0; tags::LONGEST], length: 0 };
    let mut more = More { names: [nothing; NAMES], pairs: [0; 4], pair_count: 0 };
    let shared = block.shared.lock();
    // An end takes the lock after it has closed the gate.
    if block.gate.generation() != generation {
        return Err(Refused::Unknown);
    }
    shown.threads = block.gate.inside(generation) as u32;
    // SAFETY: under the lock, the ECB's storage is its own; the seat is null or this thread's.
    unsafe {
        let region = seat.as_ref().map(Seat::region);
        let area = &*block.area.load(Ordering::Relaxed);
        shown.high_water = (shared.most(area) - shared.unused(region)) as u64;
        shown.high_water_31 = shared.low.as_ref().map_or(0, |head| head.handed) as u64;
        shown.frames = shared.frames();
        shown.buffers = u64::try_from(shared.in_use).unwrap_or(0);
        shown.bytes = 16 * u64::try_from(shared.units).unwrap_or(0);
        if !shared.tags.is_null() {
            shown.name_table = Tags::capacity(shared.tags) as u64;
            Tags::each(shared.tags, |buffer, name| {
                if let Some(to) = more.names.get_mut(shown.names as usize) {
                    (to.buffer, to.length) = (buffer, name.len());
                    to.name[..name.len()].copy_from_slice(name);
                }
                shown.names += 1;
            });
        }
        match block.named() {
            Some(named) => {
                let counts = &named.counts;
                // Some of its visits would be no figures of the ECB.
                shown.counted = (!counts.is_late).into();
                let [from_shared, carved] = &counts.refills;
                for (to, from) in [
                    (&mut shown.dispensed, &counts.got),
                    (&mut shown.freed, &counts.freed),
                    (&mut shown.shared, from_shared),
                    (&mut shown.carved, carved),
                ] {
                    *to = if counts.is_late { [0; LISTS] } else { from.map(u64::from) };
                }
                for (to, row) in more.pairs.iter_mut().zip(named.rows()) {
                    *to = row;
                    more.pair_count += 1;
                }
            }
            None => class.count_ecbs(),
        }
    }
    Ok((shown, more))
}

/// The calling thread's seat in an ECB; null if it is not inside.
fn own_seat(block: &ControlBlock) -> *mut Seat {
    let Some(home) = home() else { return core::ptr::null_mut() };
    let mut seat = innermost(home);
    // SAFETY: seats are this thread's.
    unsafe {
        while !seat.is_null() && !core::ptr::eq((*seat).block, block) {
            seat = (*seat).outer;
        }
    }
    seat
}

/// Passes the lines of a display to `write`, one by one.
pub fn display(number: Number, mut write: impl FnMut(&[u8])) -> Result<(), Refused> {
    let (shown, more) = gather(number)?;
    let mut line = |fill: &dyn Fn(&mut Text)| {
        let mut text = Text::new();
        fill(&mut text);
        text.put("\n");
        write(text.as_bytes());
    };
    line(&|text| _ = text.put("DECB0125I COUNT OF ECB HEAP AVAILABLE LIST REQUESTS FILLED FOR"));
    let digits = hexadecimal(number);
    line(&|text| {
        text.put("ECB ").put_bytes(&digits).put("   MAIN THREAD ECB ").put_bytes(&digits);
    });
    line(&|text| _ = put_name(text.put("SETNAME = "), &shown.class));
    line(&|text| {
        text.put("ECB HEAP AVL LIST BUFFER SIZES: ");
        for (at, size) in sizes(&shown) {
            text.put(if at == 0 { "AVL" } else { " , AVL" })
                .number(at as u64 + 1, 0)
                .put(" ")
                .number(size, 0);
        }
    });
    line(&|_| ());
    line(&|text| {
        text.put("LIST         31 BIT  SHARED AVLS       64 BIT  SHARED AVLS  NEW STORAGE        FREED    DISPENSED");
    });
    if shown.counted == 0 {
        line(&|text| _ = text.put("NOT COUNTED: THE ECB BEGAN BEFORE ITS CLASS WAS COUNTED BY ECB"));
    } else {
        for at in 0..LISTS {
            if at < AVAILABLE && shown.sizes[at] == 0 {
                continue;
            }
            let [all, from_shared, carved] = [shown.dispensed[at], shown.shared[at], shown.carved[at]];
            let own = all.saturating_sub(from_shared + carved);
            line(&|text| {
                match at {
                    AVAILABLE => text.put("OTHER "),
                    at => text.put("AVL").number(at as u64 + 1, 0).put("  "),
                };
                for figure in [0, 0, own, from_shared, carved, shown.freed[at], own + from_shared + carved] {
                    text.number(figure, 13);
                }
            });
        }
    }
    line(&|_| ());
    for (label, figure) in [
        ("THREADS INSIDE", shown.threads.into()),
        ("BUFFERS IN USE", shown.buffers),
        ("BYTES IN USE", shown.bytes),
        ("NAMES OF BUFFERS", shown.names),
        ("NAMES THAT THE HASH TABLE HOLDS", shown.name_table),
    ] {
        line(&|text| _ = put_label(text, label, 48).number(figure, 10));
    }
    line(&|_| ());
    line(&|text| _ = put_label(text, "", 38).put("    31-BIT").put("          64-BIT"));
    for (label, low, figure) in [
        ("1 MB FRAMES OBTAINED", 0, shown.frames),
        ("HIGH-WATER MARK OF ONE ECB, BYTES", shown.high_water_31, shown.high_water),
    ] {
        line(&|text| _ = put_label(text, label, 38).number(low, 10).number(figure, 16));
    }
    let told = (shown.names as usize).min(NAMES);
    for tagged in &more.names[..told] {
        line(&|text| {
            text.put("BUFFER ").address(tagged.buffer).put(" NAMED ");
            put_name(text, &tagged.name[..tagged.length]);
        });
    }
    if shown.names as usize > told {
        line(&|text| _ = text.put("AND FURTHER NAMES: ").number(shown.names - told as u64, 0));
    }
    if let Some(pairs) = ledger::pairs::pages() {
        for row in more.pairs[..more.pair_count].iter().filter_map(|row| pairs.rows.get(*row)) {
            line(&|text| {
                put_name(text.put("NAME-VALUE PAIR "), &row.name.bytes());
                put_name(text.put(" = "), &row.value.bytes());
            });
        }
    }
    line(&|text| _ = text.put("END OF DISPLAY"));
    Ok(())
}

/// Obeys the host: writes the display of an ECB, or of all that are alive, to a file next to the ledger. False if there can be none.
#[cold]
pub(in crate::heap) fn show(which: u64) -> bool {
    let Some(place) = ledger::beside::make(c"ecbs", DISPLAY_BYTES) else { return false };
    let mut length = 0;
    let mut put = |line: &[u8]| {
        // What does not fit ends with the last whole line.
        if length + line.len() <= DISPLAY_BYTES - size_of::<u64>() {
            // SAFETY: the mapping has so many bytes, and nobody else writes it.
            unsafe {
                place.add(size_of::<u64>() + length).copy_from_nonoverlapping(line.as_ptr(), line.len())
            };
            length += line.len();
        }
    };
    if which == EVERY_ECB {
        ready::each_block(|block| {
            if !block.is_waiting() {
                let _ = display(number_of(block), &mut put);
            }
        });
    } else {
        let _ = display(which, &mut put);
    }
    // SAFETY: the mapping begins with a word that is 0, and is this thread's alone; nobody uses it after this.
    unsafe {
        AtomicU64::from_ptr(place.cast()).store(length as u64 + 1, Ordering::Release);
        let _ = syscall::munmap(place, DISPLAY_BYTES);
    }
    true
}

/// The available lists that are in use, from 0, with their sizes.
fn sizes(shown: &Shown) -> impl Iterator<Item = (usize, u64)> {
    shown.sizes.into_iter().enumerate().filter(|(_, size)| *size > 0)
}

fn hexadecimal(number: u64) -> [u8; 16] {
    core::array::from_fn(|at| b"0123456789ABCDEF"[(number >> (60 - 4 * at) & 15) as usize])
}

/// A label, and spaces up to a column.
fn put_label<'a>(text: &'a mut Text, label: &str, width: usize) -> &'a mut Text {
    text.put(label);
    for _ in label.len()..width {
        text.put(" ");
    }
    text
}

/// A name up to its first zero, without what would break a line.
fn put_name<'a>(text: &'a mut Text, name: &[u8]) -> &'a mut Text {
    for byte in name.iter().take_while(|byte| **byte != 0) {
        text.put_bytes(&[if byte.is_ascii_graphic() || *byte == b' ' { *byte } else { b'?' }]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::{ONE_AT_A_TIME, free, malloc};
    use super::super::{Refused, create, end, enter, leave, name, tag};
    use super::*;
    use std::string::String;

    fn get(size: usize) -> *mut u8 {
        // SAFETY: as malloc of C.
        unsafe { malloc(size) }
    }

    fn text(number: Number) -> String {
        let mut all = std::vec::Vec::new();
        display(number, |line| all.extend_from_slice(line)).expect("alive");
        String::from_utf8(all).expect("a text")
    }

    #[test]
    fn an_ecb_that_is_alive_shows_what_its_lists_did() {
        let _turn = ONE_AT_A_TIME.lock();
        // The first one begins before its class is counted by ECB.
        let first = create(b"SIZES").expect("memory");
        let _ = figures(first).expect("alive");
        end(first).expect("nobody is inside");
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        let buffers: [_; 6] = core::array::from_fn(|_| get(50));
        let large = get(3_000_000);
        // SAFETY: the buffers are in use, and freed once.
        unsafe {
            tag(buffers[0], b"SESSION").expect("a buffer");
            free(buffers[1]);
            free(large);
        }
        leave().expect("inside");
        enter(ecb).expect("alive");
        let again = get(50);
        assert_eq!(again, buffers[1], "the last one that was freed");
        name(b"TRANSACTION", b"PAY").expect("room");
        // The visit of the caller is included, as far as it has come.
        let shown = figures(ecb).expect("alive");
        // The table of names is a buffer of another list.
        assert_eq!(shown.counted, 1);
        assert_eq!((shown.dispensed[1], shown.freed[1]), (7, 1));
        assert_eq!((shown.dispensed[5], shown.freed[5]), (2, 1));
        assert_eq!((shown.threads, shown.buffers, shown.names, shown.name_table), (1, 7, 1, 8));
        assert!(shown.high_water > 3_000_000 && shown.bytes >= 6 * 64, "{shown:?}");
        assert_eq!(&shown.class[..6], b"SIZES\0");
        assert_eq!(figures(ecb), Ok(shown), "a look changes nothing");
        let text = text(ecb);
        for line in [
            "SETNAME = SIZES\n",
            "ECB HEAP AVL LIST BUFFER SIZES: AVL1 32 , AVL2 64 , AVL3 128 , AVL4 256 , AVL5 512\n",
            " NAMED SESSION\n",
            "NAME-VALUE PAIR TRANSACTION = PAY\n",
            "END OF DISPLAY\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        end(ecb).expect("the thread leaves first");
        assert_eq!(figures(ecb), Err(Refused::Unknown));
        // The next ECB begins with nothing.
        let next = create(b"SIZES").expect("memory");
        let shown = figures(next).expect("alive");
        assert_eq!((shown.counted, shown.dispensed, shown.buffers, shown.high_water), (1, [0; 6], 0, 0));
        end(next).expect("nobody is inside");
    }
}
