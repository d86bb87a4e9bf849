//! What a class counts of its ECBs.

use std::thread;

use underbar_ledger::Key;

use super::*;

#[test]
fn a_class_has_a_row_with_all_that_its_ecbs_did() {
    let _turn = turn();
    let mut of = None;
    let figures = || {
        crate::heap::turn::settle();
        let heap = class::of(b"COUNTED").expect("memory").heap();
        let row = heap.account.row().expect("a row");
        [Key::HeapGets, Key::HeapFrees, Key::HeapUsed]
            .map(|key| row.cell(key).expect("a counter").load(Ordering::Relaxed))
    };
    for round in 1..=100_u64 {
        let ecb = create(b"COUNTED").expect("memory");
        enter(ecb).expect("alive");
        let kept: Vec<_> = (0..50).map(|number| get(number * 20)).collect();
        kept[..20].iter().for_each(|&buffer| give(buffer));
        let large = get(300_000);
        // Bytes of the lists, of what is left.
        if round == 1 {
            let lists = &class::of(b"COUNTED").expect("memory").lists;
            let left: u32 = (20..50).map(|number| lists.sizes[lists.of(number * 20)]).sum();
            assert_eq!(figures(), [51, 20, u64::from(left) + 300_000]);
            of = Some(left);
        }
        give(large);
        leave().expect("inside");
        end(ecb).expect("nobody is inside");
        if round % 33 == 0 {
            assert_eq!(figures(), [51 * round, 51 * round, 0]);
        }
    }
    assert!(of.is_some());
}

#[test]
fn a_class_counts_what_its_ecbs_did() {
    use underbar_ledger::classes::{OfList, Sum, request_row, use_row};
    let _turn = turn();
    let page = || {
        crate::heap::turn::settle();
        class::of(b"PAGE").expect("memory").row().expect("a page")
    };
    const ECBS: u64 = 96;
    for number in 0..ECBS {
        let ecb = create(b"PAGE").expect("memory");
        if number % 3 != 0 {
            enter(ecb).expect("alive");
            let kept: Vec<_> = (0..10).map(|_| get(64)).collect();
            kept[..4].iter().for_each(|&buffer| give(buffer));
            get(200);
            if number % 3 == 2 {
                // More than the area holds, in other lists.
                for _ in 0..5 {
                    get(9_000);
                }
                let large = get(300_000);
                give(large);
                for name in 0..9_u8 {
                    // SAFETY: the buffer is in use.
                    unsafe { tag(kept[9], &[b'N', name]).expect("memory") };
                }
            }
            leave().expect("inside");
        }
        end(ecb).expect("nobody is inside");
    }
    let page = page();
    let sums = [Sum::Created, Sum::Ended, Sum::WithBuffer, Sum::ExpandedTags, Sum::WithFrame, Sum::Frames];
    let sums = sums.map(|sum| page.sum(sum).load(Ordering::Relaxed));
    let third = ECBS / 3;
    assert_eq!(sums, [ECBS, ECBS, 2 * third, third, third, third]);
    let of = |of: OfList| page.of_lists[of as usize].each_ref().map(|word| word.load(Ordering::Relaxed));
    let (got, freed, shared) = (of(OfList::Got), of(OfList::Freed), of(OfList::Shared));
    assert_eq!((got[1], got[3], freed[1]), (2 * third * 10, 2 * third, 2 * third * 4));
    // Five buffers, a large one, and the tables of names, of which the first one is given back.
    assert_eq!((got[5], freed[5]), (third * 8, third * 2));
    assert_eq!(shared.iter().sum::<u64>(), 0, "no other thread left buffers");
    let carved = of(OfList::Carved);
    assert!((1..got[1]).contains(&carved[1]) && carved[1] >= 2 * third, "{carved:?}");
    let uses = |bytes| page.uses[use_row(bytes)].load(Ordering::Relaxed);
    assert_eq!((uses(0), uses(4096)), (third, third));
    let most = page.sum(Sum::HighWater).load(Ordering::Relaxed) as usize;
    assert!((32_768 + 300_000..32_768 + 300_000 + 70_000).contains(&most), "{most}");
    assert_eq!(uses(most), third);
    // One ECB in 32 is counted request by request.
    let counted = page.sum(Sum::Counted).load(Ordering::Relaxed);
    assert_eq!((counted, page.counted_one_in.load(Ordering::Relaxed)), (ECBS / 32, 32));
    let requests = |size| page.requests[request_row(size)].load(Ordering::Relaxed);
    let inside = (0..ECBS).filter(|number| number % 32 == 31 && number % 3 != 0).count() as u64;
    assert_eq!((requests(64), requests(200)), (10 * inside, inside));
}

#[test]
fn chains_of_other_threads_are_counted_as_shared() {
    use underbar_ledger::classes::OfList;
    let _turn = turn();
    let ecb = create(b"CHAINS").expect("memory");
    let work = move || {
        enter(ecb).expect("alive");
        let all: Vec<_> = (0..30).map(|_| get(64)).collect();
        all.iter().for_each(|&buffer| give(buffer));
        leave().expect("inside");
    };
    thread::spawn(work).join().expect("no panic");
    work();
    crate::heap::turn::settle();
    let page = class::of(b"CHAINS").expect("memory").row().expect("a page");
    let figure = |of: OfList| page.of_lists[of as usize][1].load(Ordering::Relaxed);
    assert_eq!((figure(OfList::Got), figure(OfList::Freed), figure(OfList::Shared)), (60, 60, 1));
    end(ecb).expect("nobody is inside");
}
