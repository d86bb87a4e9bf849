//! Name-value pairs of ECBs: what is counted for them, by one thread and by several.

use std::thread;

use super::*;

/// ECBs, high-water mark, bytes, and buffers that lists dispensed and got back, of the row of a pair.
fn figures_of(class: &[u8], name: &[u8], value: &[u8]) -> Option<(u64, u64, u64, [[u64; 6]; 2])> {
    use underbar_ledger::pairs::PairSum::{Bytes, Ecbs, HighWater};
    let pairs = crate::ledger::pairs::pages()?;
    let class = class::of(class).expect("a class").index();
    let row = &pairs.rows[pairs.find(class, name, value)?];
    let load = |word: &core::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
    let lists = [&row.got, &row.freed].map(|of| of.each_ref().map(load));
    let [ecbs, most, bytes] = [Ecbs, HighWater, Bytes].map(|sum| load(row.sum(sum)));
    Some((ecbs, most, bytes, lists))
}

#[test]
fn ecbs_are_counted_by_their_name_value_pairs() {
    let _turn = turn();
    const CLASS: &[u8] = b"PAIRS";
    assert_eq!(name(b"TRANSACTION", b"PAY"), Err(Refused::Outside));
    for (value, buffers) in [(&b"PAY"[..], 3), (b"PAY", 5), (b"LOG", 7)] {
        let ecb = create(CLASS).expect("memory");
        enter(ecb).expect("alive");
        // What the visit got before the pair is attached counts, too.
        let first = get(40);
        assert_eq!(name(b"TRANSACTION", b"TRY"), Ok(()));
        assert_eq!(name(b"TRANSACTION", value), Ok(()), "in place of the other value");
        for _ in 1..buffers {
            get(40);
        }
        give(first);
        give(get(3_000_000));
        leave().expect("inside");
        enter(ecb).expect("alive");
        end(ecb).expect("the thread leaves first");
    }
    let large = 3_000_000;
    let (ecbs, most, bytes, [got, freed]) = figures_of(CLASS, b"TRANSACTION", b"PAY").expect("a row");
    assert_eq!((ecbs, bytes), (2, 8 * 64 + 2 * large));
    assert!((3_000_000..3_100_000).contains(&most), "{most}");
    assert_eq!((got, freed), ([0, 8, 0, 0, 0, 2], [0, 2, 0, 0, 0, 2]));
    let log = figures_of(CLASS, b"TRANSACTION", b"LOG").expect("a row");
    assert_eq!((log.0, log.3[0]), (1, [0, 7, 0, 0, 0, 1]));
    assert_eq!(figures_of(CLASS, b"TRANSACTION", b"TRY").map(|row| row.0), Some(0));
}

#[test]
fn an_ecb_has_four_pairs_and_no_more() {
    let _turn = turn();
    const CLASS: &[u8] = b"PAIRS";
    let ecb = create(CLASS).expect("memory");
    enter(ecb).expect("alive");
    for pair in [b"A", b"B", b"C", b"D"] {
        assert_eq!(name(pair, b"1"), Ok(()));
    }
    assert_eq!(name(b"E", b"1"), Err(Refused::Full));
    assert_eq!(name(b"A", b"2"), Ok(()), "in place of another");
    assert_eq!((name(b"B", b""), name(b"B", b"")), (Ok(()), Ok(())), "taken away, and nothing to take away");
    assert_eq!(name(b"E", b"1"), Ok(()));
    assert_eq!(name(b"", b"1"), Err(Refused::Name));
    assert_eq!(
        (name(&[b'N'; 33], b"1"), name(b"N", &[b'1'; 33])),
        (Err(Refused::LongName), Err(Refused::LongName))
    );
    end(ecb).expect("the thread leaves first");
    let ecbs = |name: &[u8], value: &[u8]| figures_of(CLASS, name, value).map(|row| row.0);
    let found = [ecbs(b"A", b"1"), ecbs(b"A", b"2"), ecbs(b"B", b"1"), ecbs(b"E", b"1"), ecbs(b"F", b"1")];
    assert_eq!(found, [Some(0), Some(1), Some(0), Some(1), None]);
    // The next ECB of the block has none of them.
    let next = create(CLASS).expect("memory");
    end(next).expect("nobody is inside");
    assert_eq!(ecbs(b"A", b"2"), Some(1));
}

/// Threads attach pairs, some to ECBs that they share, and count what they get.
#[test]
fn pairs_of_many_threads_are_exact() {
    let _turn = turn();
    const CLASS: &[u8] = b"PAIRS";
    const THREADS: usize = 4;
    const ROUNDS: usize = 200;
    let shared = create(CLASS).expect("memory");
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let value = [b'0' + ((thread + round) % 3) as u8];
                    enter(shared).expect("alive");
                    name(b"SHARED", &value).expect("the one pair");
                    get(100);
                    leave().expect("inside");
                    let ecb = create(CLASS).expect("memory");
                    enter(ecb).expect("alive");
                    name(b"MANY", &value).expect("room");
                    for _ in 0..=round % 5 {
                        get(100);
                    }
                    end(ecb).expect("the thread leaves first");
                }
                crate::heap::turn::settle();
            });
        }
    });
    end(shared).expect("nobody is inside");
    let mut expect = [(0, 0); 3];
    for (thread, round) in (0..THREADS).flat_map(|thread| (0..ROUNDS).map(move |round| (thread, round))) {
        let of = &mut expect[(thread + round) % 3];
        (of.0, of.1) = (of.0 + 1, of.1 + round as u64 % 5 + 1);
    }
    let found = [b"0", b"1", b"2"].map(|value| {
        let (ecbs, _, bytes, [got, _]) = figures_of(CLASS, b"MANY", value).expect("a row");
        assert_eq!(bytes, got[2] * 128);
        (ecbs, got[2])
    });
    assert_eq!(found, expect);
    let of = |value: &[u8]| figures_of(CLASS, b"SHARED", value).expect("a row");
    let (ecbs, got) = [&b"0"[..], b"1", b"2"].iter().fold((0, 0), |sum, value| {
        let row = of(value);
        (sum.0 + row.0, sum.1 + row.3[0][2])
    });
    assert_eq!((ecbs, got), (1, (THREADS * ROUNDS) as u64), "one value at its end");
}

/// Under ECB(CHECK) the storage of an ended ECB is kept; it counts when it ends, and once.
#[test]
fn an_ecb_whose_storage_is_kept_is_counted_at_its_end() {
    let _turn = turn();
    const CLASS: &[u8] = b"PAIRS";
    given::set_check(1 << 20);
    let ecb = create(CLASS).expect("memory");
    enter(ecb).expect("alive");
    name(b"KEPT", b"1").expect("room");
    get(100);
    end(ecb).expect("the thread leaves first");
    let of = || figures_of(CLASS, b"KEPT", b"1").map(|(ecbs, _, bytes, _)| (ecbs, bytes));
    assert_eq!(of(), Some((1, 128)));
    given::set_check(0);
    // The block serves again.
    for _ in 0..20 {
        end(create(CLASS).expect("memory")).expect("nobody is inside");
    }
    assert_eq!(of(), Some((1, 128)));
}

#[test]
fn buffers_below_2_gib_count_for_a_pair_under_the_other_sizes() {
    let _turn = turn();
    const CLASS: &[u8] = b"PAIRS";
    let ecb = create(CLASS).expect("memory");
    enter(ecb).expect("alive");
    name(b"LOW", b"1").expect("room");
    let buffers = [100, 100, 5_000].map(|size| super::super::super::below::BAR.get(size));
    assert!(buffers.iter().all(|buffer| !buffer.is_null()));
    give(buffers[0]);
    end(ecb).expect("the thread leaves first");
    let (_, _, bytes, [got, freed]) = figures_of(CLASS, b"LOW", b"1").expect("a row");
    assert_eq!((got, freed), ([0, 0, 0, 0, 0, 3], [0, 0, 0, 0, 0, 1]));
    // What was asked for, in units of 16.
    assert_eq!(bytes, 96 + 96 + 4_992);
}

/// From the first pair of a class on, visits before an ECB's own pair count, too. Those that were alive then are told.
#[test]
fn visits_before_the_pair_are_counted_or_told() {
    let _turn = turn();
    const CLASS: &[u8] = b"LATE";
    let late = |value: &[u8]| {
        let pairs = crate::ledger::pairs::pages().expect("a pair");
        let row = pairs.find(class::of(CLASS).expect("a class").index(), b"WHEN", value).expect("a row");
        let late = pairs.rows[row].sum(underbar_ledger::pairs::PairSum::Late).load(Ordering::Relaxed);
        (late, figures_of(CLASS, b"WHEN", value).expect("a row").3[0][1])
    };
    let visit = |ecb| {
        enter(ecb).expect("alive");
        get(40);
        get(40);
        leave().expect("inside");
    };
    let first = create(CLASS).expect("memory");
    visit(first);
    enter(first).expect("alive");
    get(40);
    name(b"WHEN", b"FIRST").expect("room");
    end(first).expect("the thread leaves first");
    assert_eq!(late(b"FIRST"), (1, 1), "the earlier visit is missing, and that is told");
    for _ in 0..3 {
        let ecb = create(CLASS).expect("memory");
        visit(ecb);
        enter(ecb).expect("alive");
        get(40);
        name(b"WHEN", b"THEN").expect("room");
        end(ecb).expect("the thread leaves first");
    }
    assert_eq!(late(b"THEN"), (0, 9));
}
