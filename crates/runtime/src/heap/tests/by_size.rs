//! Requests by size: the rows of the ledger have what was got, exactly once figures are settled.

use super::*;
use underbar_ledger::sizes::{ROWS, TABLE};

/// Requests of each row, and all gets, figures settled.
fn requests() -> (Vec<u64>, u64) {
    settle();
    let slot = ledger::slot();
    let of = |cell: &core::sync::atomic::AtomicU64| cell.load(Ordering::Relaxed);
    (slot.sizes.iter().map(of).collect(), of(slot.cell(Key::HeapGets)))
}

fn row(size: usize) -> usize {
    let size = size.max(1) as u64;
    TABLE.iter().position(|row| row.from < size && size <= row.limit).expect("a row")
}

/// What was counted since then; the rows together must be the gets.
fn since(before: &(Vec<u64>, u64)) -> Vec<u64> {
    let now = requests();
    let more: Vec<u64> = now.0.iter().zip(&before.0).map(|(now, before)| now - before).collect();
    assert_eq!(more.iter().sum::<u64>(), now.1 - before.1, "the rows together are the gets");
    more
}

#[test]
fn each_request_counts_in_the_row_of_its_size() {
    let _turn = turn();
    let mut expect = std::vec![0; ROWS];
    let before = requests();
    let mut random = Random(7);
    let mut held = Vec::new();
    for at in 0..60_000 {
        let size = if at % 97 == 0 { 30_000 + random.below(300_000) } else { random.size(11, 50, 18) };
        expect[row(size)] += 1;
        held.push(Block::get(size, 1));
        if held.len() > 300 {
            held.swap_remove(random.below(300)).free();
        }
    }
    // Of other threads, one of which gives back what this one got, and in a heap that ends.
    let theirs = held.split_off(100);
    expect[row(48)] += 5000;
    let thread = std::thread::spawn(move || {
        theirs.into_iter().for_each(Block::free);
        (0..5000).for_each(|_| Block::get(48, 2).free());
    });
    thread.join().expect("its end");
    let heap = new(KEEP);
    expect[row(300)] += 700;
    within(heap, || (0..700).for_each(|_| _ = Block::get(300, 3)));
    assert_eq!(end(heap), Ok(()));
    held.into_iter().for_each(Block::free);
    assert_eq!(since(&before), expect);
}

/// Under FREE each request is an element.
#[test]
fn a_request_without_a_cell_counts_by_its_own_size() {
    let _turn = turn();
    let heap = new(FREE);
    let sizes = [0, 1, 16, 17, 100, 1024, 1025, 32_768, 32_769, 65_536, 65_537, 1 << 20];
    let before = requests();
    within(heap, || sizes.map(|size| Block::get(size, 4)).into_iter().for_each(Block::free));
    let more = since(&before);
    for size in sizes {
        assert!(more[row(size)] > 0, "{size}: {more:?}");
    }
    assert_eq!(more.iter().sum::<u64>(), sizes.len() as u64);
    assert_eq!(end(heap), Ok(()));
}

/// A look counts what was got from a list that is not used up.
#[test]
fn a_look_counts_nothing_twice() {
    let _turn = turn();
    let before = requests();
    let blocks: Vec<Block> =
        (0..20_000).map(|at| Block::get(if at % 2 == 0 { 80 } else { 3000 }, 5)).collect();
    let more = since(&before);
    assert_eq!((more[row(80)], more[row(3000)]), (10_000, 10_000));
    blocks.into_iter().for_each(Block::free);
    assert_eq!(since(&before), more);
}
