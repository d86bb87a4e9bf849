//! Pages of classes of ECBs in a real ledger file, of a process and of its child by fork: one test, since the ledger is the
//! process's.

use std::ffi::CString;

use underbar_ledger::classes::{OTHERS, OfList, Sum};
use underbar_ledger::pairs::{OWN, PairSum};
use underbar_ledger::{LedgerView, SlotView};
use underbar_runtime::{ecb, heap, ledger, start};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// An ECB of that class with so many requests, the thread still inside.
fn begin(class: &[u8], requests: usize, size: usize) -> ecb::Number {
    let ecb = ecb::create(class).expect("memory");
    ecb::enter(ecb).expect("alive");
    for _ in 0..requests {
        // SAFETY: the buffer ends with its ECB.
        assert!(!unsafe { heap::malloc(size) }.is_null());
    }
    ecb
}

/// Name, created, ended, requests for the second list, and their greatest use of each class.
fn classes(slot: &SlotView<'_>) -> Vec<(String, [u64; 4])> {
    slot.classes()
        .map(|class| {
            let name = String::from_utf8_lossy(class.name()).into_owned();
            let sums = [class.sum(Sum::Created), class.sum(Sum::Ended)];
            let got = class.of_lists(OfList::Got)[1];
            (name, [sums[0], sums[1], got, class.sum(Sum::HighWater)])
        })
        .collect()
}

type Pair<T> = (T, T, T, u64, u64);

fn owned(pair: Pair<&str>) -> Pair<String> {
    (pair.0.to_owned(), pair.1.to_owned(), pair.2.to_owned(), pair.3, pair.4)
}

/// Class, name, value, ECBs and buffers of the second list of each pair of a process.
fn pairs(view: &LedgerView<'_>, process: u32) -> Vec<Pair<String>> {
    let slot = view.slots().find(|slot| slot.process.number == process).expect("a slot");
    let classes: Vec<_> = slot.classes().collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    slot.pairs()
        .map(|pair| {
            let (name, value) = pair.pair().expect("a pair");
            let class = text(classes[pair.class() as usize].name());
            (class, text(name), text(value), pair.sum(PairSum::Ecbs), pair.lists()[0][1])
        })
        .collect()
}

#[test]
fn a_process_and_its_child_have_classes_of_their_own() {
    let path = std::env::temp_dir().join(format!("underbar-ecb-classes-{}", std::process::id()));
    let name = CString::new(path.to_str().expect("text")).expect("no zero");
    ledger::attach::make(&name, b"");
    // SAFETY: no list is given. Other threads are the test harness's, which wait.
    unsafe { start::constructor(core::ptr::null(), core::ptr::null()) };
    let read = || std::fs::read(&path).expect("the ledger");
    let blocks = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&path).expect("the ledger").blocks() * 512
    };
    let before = (read(), blocks());
    let view = LedgerView::new(&before.0).expect("a good ledger");
    assert!(view.slots().all(|slot| slot.classes().count() == 0), "a process without ECBs has no classes");

    for _ in 0..100 {
        ecb::end(begin(b"SSL", 20, 40)).expect("the thread leaves first");
    }
    assert!(blocks() > before.1, "the page is there when a class is made, and not before");
    let kept = begin(b"SSL", 1, 40);
    ecb::name(b"USER", b"ANN").expect("inside");
    ecb::leave().expect("inside");
    heap::settle();

    // SAFETY: the child makes system calls, and calls the heap.
    let child = unsafe { fork() };
    if child == 0 {
        ecb::end(kept).expect("nobody is inside");
        let java = begin(b"JAVA", 3, 50);
        ecb::name(b"USER", b"BOB").expect("inside");
        ecb::end(java).expect("the thread leaves first");
        start::destructor();
        // SAFETY: ends the child.
        unsafe { _exit(0) };
    }
    let mut status = -1;
    // SAFETY: the call fills the local `status`.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    ecb::end(kept).expect("it is this process's, too");
    heap::settle();

    let bytes = read();
    let view = LedgerView::new(&bytes).expect("a good ledger");
    let of = |process: i32| {
        let slot = view.slots().find(|slot| i64::from(slot.process.number) == i64::from(process));
        slot.map(|slot| classes(&slot)).expect("a slot")
    };
    let row = |name: &str, figures| (name.to_owned(), figures);
    let mine = of(std::process::id() as i32);
    assert_eq!(mine.len(), 1, "{mine:?}");
    assert_eq!((&mine[0].0[..], &mine[0].1[..3]), ("SSL", &[101, 101, 2001][..]));
    assert!((20 * 64..4096).contains(&mine[0].1[3]), "{mine:?}");
    // The child has the ECB that was alive, and its end.
    let (got, most) = (of(child), 64 * 8);
    assert_eq!(got[0], row("SSL", [1, 1, 0, got[0].1[3]]));
    assert_eq!(got[1], row("JAVA", [1, 1, 3, got[1].1[3]]));
    assert!(got.iter().all(|class| (1..=most).contains(&class.1[3])), "{got:?}");
    // The ECB that is alive in both counts in both, by the pair that it had before the fork.
    assert_eq!(pairs(&view, std::process::id()), [("SSL", "USER", "ANN", 1, 1)].map(owned));
    assert_eq!(
        pairs(&view, child as u32),
        [("SSL", "USER", "ANN", 1, 1), ("JAVA", "USER", "BOB", 1, 3)].map(owned)
    );

    // Classes for which there is no page left have one together, which says how many they are.
    for number in 0..30 {
        for _ in 0..2 {
            let class = format!("CLASS{number}");
            ecb::end(begin(class.as_bytes(), 1, 40)).expect("the thread leaves first");
        }
    }
    for number in 0..200 {
        let value = format!("number {number}");
        let ecb = begin(b"SSL", 1, 40);
        ecb::name(b"VALUE", value.as_bytes()).expect("inside");
        ecb::end(ecb).expect("the thread leaves first");
    }
    heap::settle();
    let bytes = read();
    let view = LedgerView::new(&bytes).expect("a good ledger");
    let slot = view.slots().find(|slot| slot.process.number == std::process::id()).expect("a slot");
    let all: Vec<_> = slot.classes().collect();
    let last = all.last().expect("classes");
    assert_eq!((all.len(), last.name(), last.sharing()), (16, OTHERS, 30 - 14));
    assert_eq!(last.sum(Sum::Ended), 2 * (30 - 14));
    assert!(all[..15].iter().all(|class| class.sharing() == 0));
    let values = slot.pairs().filter(|pair| pair.pair().is_some_and(|pair| pair.0 == b"VALUE")).count();
    let others: Vec<_> = slot.pairs().filter(|pair| pair.pair().is_none()).collect();
    assert_eq!((values, others.len()), (OWN - 1, 1), "USER=ANN has a row");
    assert_eq!((others[0].class(), others[0].sum(PairSum::Ecbs)), (0, 200 - values as u64));
    std::fs::remove_file(&path).expect("removed");
}
