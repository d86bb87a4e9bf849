//! Rows of heaps in the ledger: each has the figures of its heap, and no others.

use super::*;
use underbar_ledger::heaps::{HeapRow, ROWS};
use underbar_ledger::{HeapKind, RowState};

fn row(handle: Handle) -> &'static HeapRow {
    handle.heap.account.row().expect("a row")
}

fn figure(row: &HeapRow, key: Key) -> u64 {
    row.cell(key).expect("a counter of heaps").load(Ordering::Relaxed)
}

/// Gets, frees, bytes in use; segments got and given back, and their bytes.
fn of(row: &HeapRow) -> [u64; 6] {
    settle();
    [
        Key::HeapGets,
        Key::HeapFrees,
        Key::HeapUsed,
        Key::HeapSegmentsAllocated,
        Key::HeapSegmentsFreed,
        Key::HeapSegmentBytes,
    ]
    .map(|key| figure(row, key))
}

/// What the heap was given so far, whatever part of it is in use.
fn have_all_come_back(row: &HeapRow) -> bool {
    let [gets, frees, used, got, freed, bytes] = of(row);
    gets == frees && used == 0 && got == freed && bytes == 0
}

#[test]
fn a_heap_has_a_row_with_what_was_done_in_it() {
    let _turn = turn();
    let heap = create_named(HeapKind::Enclave, b"parser", KEEP).expect("memory");
    let row = row(heap);
    assert_eq!(row.get(), Some((HeapKind::Enclave, RowState::Live)));
    assert_eq!(of(row), [0; 6]);
    assert_eq!(figure(row, Key::HeapInitialSize), 256 * 1024);
    let outside: Vec<Block> = (0..50).map(|_| Block::get(100, 1)).collect();
    let inside: Vec<Block> = within(heap, || {
        let large = Block::get(100_000, 2);
        (0..200).map(|_| Block::get(100, 2)).chain([large]).collect()
    });
    let [gets, frees, used, got, freed, bytes] = of(row);
    assert_eq!((gets, frees, got, freed), (201, 0, 1, 0), "not what was got outside");
    assert!((200 * 112 + 100_000..200 * 112 + 100_100).contains(&used), "{used}");
    assert_eq!(bytes, 256 * 1024);
    assert!(figure(row, Key::HeapUsedPeak) >= used && figure(row, Key::HeapLargestRequest) == 100_000);
    // Given back outside, and by another thread.
    outside.into_iter().for_each(Block::free);
    let mut mine = inside;
    let theirs = mine.split_off(50);
    mine.into_iter().for_each(Block::free);
    std::thread::spawn(move || theirs.into_iter().for_each(Block::free)).join().expect("its end");
    within(heap, || Block::get(100, 3).free());
    let [gets, frees, used, ..] = of(row);
    assert_eq!((gets, frees, used), (202, 202, 0));
    assert_eq!(end(heap), Ok(()));
    assert!(have_all_come_back(row), "{:?}", of(row));
    assert_eq!(row.get(), Some((HeapKind::Enclave, RowState::Ended)));
}

/// Each heap is counted once, in a row or in `others`, and so are the bytes in use when a heap ends.
#[test]
fn more_heaps_than_rows_are_counted_together() {
    let _turn = turn();
    let others = || {
        let page = ledger::heaps::page().expect("made for the first heap");
        settle();
        let ended = page.rows.iter().filter(|row| matches!(row.get(), Some((_, RowState::Ended))));
        ended.chain([&page.others]).map(|row| figure(row, Key::HeapGets)).sum::<u64>()
    };
    // Elements that a damaged heap of another test lost stay counted.
    let in_use = || {
        let page = ledger::heaps::page().expect("made for the first heap");
        page.all().fold([0; 3], |[count, used, segments], row| {
            let [gets, frees, bytes, got, freed, _] = of(row);
            let count = gets.wrapping_sub(frees).wrapping_add(count);
            [count, bytes.wrapping_add(used), (got - freed) + segments]
        })
    };
    assert_eq!(end(new(KEEP)), Ok(()), "the page is there");
    let (before, in_use_before) = (others(), in_use());
    // Classes of ECBs keep theirs.
    let page = ledger::heaps::page().expect("a page");
    let lives = |row: &&HeapRow| matches!(row.get(), Some((_, RowState::Live)));
    let taken = page.rows.iter().filter(lives).count();
    let first = page.rows.iter().position(|row| !lives(&row)).expect("a row for others");
    let heaps: Vec<Handle> = (0..ROWS + 5).map(|_| new(KEEP)).collect();
    for &heap in &heaps {
        within(heap, || {
            for _ in 0..7 {
                let _ = Block::get(64, 4);
            }
        });
    }
    assert_eq!(page.rows.iter().filter(lives).count(), ROWS);
    assert_eq!(page.others.get(), Some((HeapKind::Others, RowState::Live)));
    assert_eq!(others() - before, (taken as u64 + 5) * 7);
    heaps.into_iter().for_each(|heap| assert_eq!(end(heap), Ok(())));
    assert_eq!(others() - before, (ROWS as u64 + 5) * 7);
    assert_eq!(in_use(), in_use_before);
    assert!(core::ptr::eq(row(new_and_ended()), &raw const page.rows[first]), "rows are used again");

    fn new_and_ended() -> Handle {
        let heap = new(KEEP);
        let first = row(heap);
        assert_eq!(end(heap), Ok(()));
        assert!(matches!(first.get(), Some((_, RowState::Ended))));
        new(KEEP)
    }
}

/// The sums of the process are those of all heaps: an operation in one heap changes both equally.
#[test]
fn a_row_and_the_process_agree() {
    let _turn = turn();
    let heap = new(FREE);
    let row = row(heap);
    let before = figures();
    let mut random = Random(11);
    let mut blocks: Vec<Block> = Vec::new();
    within(heap, || {
        for _ in 0..3_000 {
            match random.below(5) {
                0 | 1 => blocks.push(Block::get(random.size(11, 50, 18), 7)),
                2 if !blocks.is_empty() => {
                    let which = random.below(blocks.len());
                    blocks[which].resize(random.size(11, 50, 18));
                }
                _ if !blocks.is_empty() => {
                    let which = random.below(blocks.len());
                    blocks.swap_remove(which).free();
                }
                _ => {}
            }
        }
    });
    let after = figures();
    let [gets, frees, used, got, freed, bytes] = of(row);
    let change: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!([gets - frees, used, got - freed, bytes], change[..]);
    assert_eq!(gets - frees, blocks.len() as u64);
    assert!(figure(row, Key::HeapGrownInPlace) + figure(row, Key::HeapMoved) > 0);
    blocks.into_iter().for_each(Block::free);
    assert_eq!(end(heap), Ok(()));
    assert!(have_all_come_back(row));
}
