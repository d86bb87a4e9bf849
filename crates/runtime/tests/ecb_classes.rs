//! Pages of classes of ECBs in a real ledger file, of a process and of its child by fork: one test, since the ledger is the
//! process's.

use std::ffi::CString;

use underbar_ledger::classes::{OfList, Sum};
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
    ecb::leave().expect("inside");
    heap::settle();

    // SAFETY: the child makes system calls, and calls the heap.
    let child = unsafe { fork() };
    if child == 0 {
        ecb::end(kept).expect("nobody is inside");
        ecb::end(begin(b"JAVA", 3, 50)).expect("the thread leaves first");
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
    std::fs::remove_file(&path).expect("removed");
}
