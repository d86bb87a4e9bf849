//! A ledger made by hand from the layout, as the host reads it.

extern crate std;
use super::*;
use crate::classes::{OfList, Sum};
use crate::heaps::{self, HeapKind, HeapRow, RowState};
use crate::layout::FILE_BYTES;
use crate::traces::{Entry, Traced};
use std::vec;
use std::vec::Vec;

const OUTER: Identity = Identity { namespace: 0xeffffffc, number: 4711 };

/// A ledger with one live slot, made by hand from the layout's offsets.
fn ledger() -> Vec<u8> {
    let mut bytes = vec![0_u8; FILE_BYTES];
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(offset_of!(Header, magic), MAGIC);
    put(offset_of!(Header, layout_version), u64::from(LAYOUT_VERSION) | (77 << 32));
    put(offset_of!(Header, fingerprint), FINGERPRINT);
    put(offset_of!(Header, directory) + 8 * 3, Directory::word(SlotState::Live, OUTER));
    put(SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, counters) + 8 * Key::HeapFrees as usize, 42);
    put(SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, program), u64::from_le_bytes(*b"/bin/tru"));
    bytes
}

#[test]
fn reads_what_the_layout_says() {
    let bytes = ledger();
    let view = LedgerView::new(&bytes).expect("a good ledger");
    let slots: Vec<_> = view.slots().collect();
    assert_eq!((view.maker(), slots.len()), (77, 1));
    assert_eq!((slots[0].process, slots[0].state), (OUTER, SlotState::Live));
    assert_eq!((slots[0].get(Key::HeapFrees), slots[0].get(Key::HeapGets)), (42, 0));
    assert_eq!(slots[0].program(), b"/bin/tru");
}

/// A thread freed a cell that another had got and not counted yet: the sum was shown as 2^64-1.
#[test]
fn a_figure_that_is_below_zero_for_a_moment_is_none() {
    let mut bytes = ledger();
    let at = SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, counters) + 8 * Key::HeapUsed as usize;
    bytes[at..at + 8].copy_from_slice(&(-64_i64).to_le_bytes());
    let view = LedgerView::new(&bytes).expect("a good ledger");
    assert_eq!(view.slots().next().expect("a slot").get(Key::HeapUsed), 0);
}

/// A ledger whose process has a heap of 40 bytes in use, and `used` bytes in all.
fn ledger_with_a_heap(used: u64) -> Vec<u8> {
    let mut bytes = ledger();
    let slot = SLOTS_OFFSET + 3 * SLOT_BYTES;
    let row = slot + heaps::PAGE_OFFSET + 2 * size_of::<HeapRow>();
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(slot + offset_of!(Slot, heaps), 1);
    put(slot + offset_of!(Slot, counters) + 8 * Key::HeapUsed as usize, used);
    put(slot + offset_of!(Slot, counters) + 8 * Key::HeapInitialSize as usize, 1 << 20);
    put(row + offset_of!(HeapRow, word), HeapRow::word_of(HeapKind::Enclave, RowState::Ended));
    put(row + offset_of!(HeapRow, name), u64::from_le_bytes(*b"parser\0\0"));
    put(row + offset_of!(HeapRow, counters) + 8 * Key::HeapUsed as usize, 40);
    bytes
}

#[test]
fn heaps_are_read_where_there_is_more_than_one() {
    let bytes = ledger();
    assert_eq!(LedgerView::new(&bytes).expect("good").slots().next().expect("a slot").heaps().count(), 0);
    let bytes = ledger_with_a_heap(100);
    let slot = LedgerView::new(&bytes).expect("good").slots().next().expect("a slot");
    let heaps: Vec<_> = slot.heaps().collect();
    let kinds: Vec<_> = heaps.iter().map(|heap| (heap.kind, heap.state, heap.name())).collect();
    assert_eq!(
        kinds,
        [(HeapKind::Default, RowState::Live, &b""[..]), (HeapKind::Enclave, RowState::Ended, &b"parser"[..])]
    );
    let of = |key| heaps.iter().map(|heap| heap.get(key)).collect::<Vec<_>>();
    assert_eq!(of(Key::HeapUsed), [Some(60), Some(40)]);
    assert_eq!(of(Key::HeapUsedPeak), [None, Some(0)], "not known apart");
    assert_eq!(of(Key::HeapInitialSize), [Some(1 << 20), Some(0)]);
    assert_eq!(of(Key::StackLargest), [None, None], "no counter of heaps");
}

/// A process that writes past its own storage can damage its rows like everything else.
#[test]
fn damaged_rows_are_left_out_and_give_no_figure_below_zero() {
    let mut bytes = ledger_with_a_heap(10);
    let row = SLOTS_OFFSET + 3 * SLOT_BYTES + heaps::PAGE_OFFSET;
    for (at, word) in [(0, u64::MAX), (1, 9 << 8 | 1), (3, 2 << 8 | 7)] {
        let at = row + at * size_of::<HeapRow>();
        bytes[at..at + size_of::<HeapRow>()].fill(0xa5);
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    let slot = LedgerView::new(&bytes).expect("good").slots().next().expect("a slot");
    let used: Vec<_> = slot.heaps().map(|heap| heap.get(Key::HeapUsed)).collect();
    assert_eq!(used, [Some(0), Some(40)]);
    // Cut in the middle of the rows: the slot is missing.
    assert_eq!(LedgerView::new(&bytes[..row + 100]).expect("good").slots().count(), 0);
}

#[test]
fn classes_are_read_if_the_process_made_some() {
    let mut bytes = ledger();
    let pages = LedgerView::classes_of(3).start;
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(pages + offset_of!(ClassRow, name), u64::from_le_bytes(*b"SSL\0\0\0\0\0"));
    put(pages + offset_of!(ClassRow, sizes) + 8, 64);
    put(pages + offset_of!(ClassRow, sums) + 8 * Sum::Ended as usize, 7);
    put(pages + offset_of!(ClassRow, of_lists) + 8 * (classes::LISTS + 2), 5);
    let is_there = |bytes: &[u8]| LedgerView::new(bytes).expect("good").has_classes(3);
    assert!(!is_there(&bytes));
    let slot = SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, classes);
    // The second one has no page.
    bytes[slot..slot + 8].copy_from_slice(&2_u64.to_le_bytes());
    assert!(is_there(&bytes));
    let slot = LedgerView::new(&bytes).expect("good").slots().next().expect("a slot");
    let all: Vec<_> = slot.classes().collect();
    assert_eq!(
        (all.len(), all[0].name(), all[0].sizes()[1], all[0].sum(Sum::Ended)),
        (1, &b"SSL"[..], 64, 7)
    );
    assert_eq!(all[0].of_lists(OfList::Freed), [0, 0, 5, 0, 0, 0]);
    // A file that was not read to its end.
    let slot = LedgerView::new(&bytes[..pages]).expect("good").slots().next().expect("a slot");
    assert_eq!(slot.classes().count(), 0);
}

#[test]
fn the_last_requests_of_a_thread_are_read_the_newest_first() {
    let mut bytes = ledger();
    let pages = LedgerView::traces_of(3).start;
    let table = pages + offset_of!(Traces, tables) + size_of::<Table>();
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(pages + offset_of!(Traces, modules) + 32, u64::from_le_bytes(*b"server\0\0"));
    put(table + offset_of!(Table, thread), 4712);
    put(table + offset_of!(Table, requests), 5);
    put(table + offset_of!(Table, limit), 2);
    for (place, kind, caller) in [(0, Traced::Freed, 2 << 48 | 0x1234), (1, Traced::Got, 0x7f00)] {
        let entry = table + offset_of!(Table, entries) + place * size_of::<Entry>();
        put(entry, 0x5000 | kind as u64);
        put(entry + offset_of!(Entry, bytes), 64);
        put(entry + offset_of!(Entry, caller), caller);
    }
    let slot = SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, traces);
    assert!(!LedgerView::new(&bytes).expect("good").has_traces(3));
    bytes[slot..slot + 8].copy_from_slice(&1_u64.to_le_bytes());
    let view = LedgerView::new(&bytes).expect("good");
    assert!(view.has_traces(3));
    let slot = view.slots().next().expect("a slot");
    let all: Vec<_> = slot.traces().collect();
    assert_eq!((all.len(), all[0].thread(), all[0].requests()), (1, 4712, 5));
    let last: Vec<_> = all[0].last().map(|one| (one.kind, one.address, one.module, one.offset)).collect();
    let expect = [(Traced::Freed, 0x5000, &b"server"[..], 0x1234), (Traced::Got, 0x5000, &b""[..], 0x7f00)];
    assert_eq!(last, expect);
    // A file that was not read to its end.
    let slot = LedgerView::new(&bytes[..pages]).expect("good").slots().next().expect("a slot");
    assert_eq!(slot.traces().count(), 0);
}

#[test]
fn pairs_are_read_if_the_process_made_some() {
    let mut bytes = ledger();
    let at = LedgerView::classes_of(3).start + pairs::OFFSET + offset_of!(Pairs, rows);
    let row = at + (classes::ROWS + 2) * size_of::<PairRow>();
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    put(row + offset_of!(PairRow, class), 1);
    put(row + offset_of!(PairRow, name), u64::from_le_bytes(*b"USER\0\0\0\0"));
    put(row + offset_of!(PairRow, value), u64::from_le_bytes(*b"ANN\0\0\0\0\0"));
    put(row + offset_of!(PairRow, sums) + 8 * PairSum::Ecbs as usize, 7);
    put(row + offset_of!(PairRow, freed) + 8, 5);
    put(at + offset_of!(PairRow, sums), 2);
    let read = |bytes: &[u8]| {
        let slot = LedgerView::new(bytes).expect("good").slots().next().expect("a slot");
        let of = |pair: PairView<'_>| {
            let pair_of = pair.pair().map(|(name, value)| (name.to_vec(), value.to_vec()));
            (pair.class(), pair_of, pair.sum(PairSum::Ecbs), pair.lists()[1][1])
        };
        slot.pairs().map(of).collect::<Vec<_>>()
    };
    assert_eq!(read(&bytes), []);
    bytes[SLOTS_OFFSET + 3 * SLOT_BYTES + offset_of!(Slot, pairs)] = 1;
    let ann = (1, Some((b"USER".to_vec(), b"ANN".to_vec())), 7, 5);
    assert_eq!(read(&bytes), [(0, None, 2, 0), ann]);
    assert_eq!(read(&bytes[..row]), [], "cut");
}

#[test]
fn a_cut_or_foreign_or_older_file_is_refused() {
    let good = ledger();
    assert_eq!(LedgerView::new(&good[..4096]).err(), Some(LedgerError::Short));
    let mut foreign = good.clone();
    foreign[0] ^= 1;
    assert_eq!(LedgerView::new(&foreign).err(), Some(LedgerError::NotALedger));
    let mut older = good;
    older[offset_of!(Header, fingerprint)] ^= 1;
    assert_eq!(LedgerView::new(&older).err(), Some(LedgerError::OtherVersion));
}

#[test]
fn noise_behind_a_good_header_never_panics() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200 {
        let mut bytes = ledger();
        bytes.truncate(LedgerView::classes_of(4).end);
        for at in (offset_of!(Header, made_ns)..bytes.len()).step_by(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if at >= offset_of!(Header, fingerprint) + 8 {
                bytes[at..at + 8].copy_from_slice(&state.to_le_bytes());
            }
        }
        let cut = (state as usize % bytes.len()).max(SLOTS_OFFSET);
        let view = LedgerView::new(&bytes[..cut]).expect("the header is untouched");
        for slot in view.slots() {
            let _ = (slot.get(Key::HeapGets), slot.program(), slot.arguments(), slot.owners().count());
            let _ = (slot.pools().count(), slot.pools_head(), slot.steps().map(Iterator::count));
            for table in slot.traces() {
                let _ = (table.thread(), table.last().count());
            }
            for class in slot.classes() {
                let _ = (class.name(), class.sum(Sum::Counted), class.uses(), class.requests());
            }
            for pair in slot.pairs() {
                let _ = (pair.class(), pair.pair(), pair.sum(PairSum::Bytes), pair.lists());
            }
            for heap in slot.heaps() {
                let _ = (heap.name(), crate::table::KEYS.map(|key| heap.get(key)));
            }
        }
        let _ = view.options();
    }
}
