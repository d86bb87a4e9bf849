//! Rows of heaps in a real ledger file, of a process and of its child by fork: one test, since the ledger is the process's.

use std::ffi::CString;

use underbar_ledger::{HeapKind, Key, LedgerView, RowState, SlotView};
use underbar_runtime::heap::{self, Policy};
use underbar_runtime::{ledger, start};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// Puts this many cells of 112 bytes into a heap; they stay in use.
fn fill(handle: heap::Handle, cells: usize) {
    let entered = heap::enter(handle).expect("a live heap");
    for _ in 0..cells {
        // SAFETY: no code gives it back.
        assert!(!unsafe { heap::malloc(100) }.is_null());
    }
    heap::leave(entered);
}

/// Kind, state and name of each heap of a process, gets, and bytes in use.
fn heaps(slot: &SlotView<'_>) -> Vec<(HeapKind, RowState, String, u64, u64)> {
    slot.heaps()
        .map(|heap| {
            let figure = |key| heap.get(key).expect("a sum of heaps");
            let name = String::from_utf8_lossy(heap.name()).into_owned();
            (heap.kind, heap.state, name, figure(Key::HeapGets), figure(Key::HeapUsed))
        })
        .collect()
}

#[test]
fn a_process_and_its_child_have_rows_of_their_own() {
    use HeapKind::{Additional, Default, Enclave};
    use RowState::{Ended, Live};
    let path = std::env::temp_dir().join(format!("underbar-heap-rows-{}", std::process::id()));
    let name = CString::new(path.to_str().expect("text")).expect("no zero");
    ledger::attach::make(&name, b"");
    // SAFETY: no list is given. Other threads are the test harness's, which wait.
    unsafe { start::constructor(core::ptr::null(), core::ptr::null()) };
    let read = || std::fs::read(&path).expect("the ledger");
    let blocks = |path: &std::path::Path| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).expect("the ledger").blocks() * 512
    };
    let before = (read(), blocks(&path));
    let slots: Vec<_> =
        LedgerView::new(&before.0).expect("a good ledger").slots().map(|slot| heaps(&slot)).collect();
    assert_eq!(slots, [vec![]], "a process with its default heap only has no rows");

    let ended = heap::create_named(Additional, b"scratch", Policy::AUTO).expect("memory");
    assert!(blocks(&path) > before.1, "the page is there when a heap is created, and not before");
    fill(ended, 3);
    heap::end(ended).expect("nobody is inside");
    let parser = heap::create_named(Enclave, b"parser", Policy::AUTO).expect("memory");
    fill(parser, 1_000);
    heap::settle();

    // SAFETY: the child makes system calls, and calls the heap.
    let child = unsafe { fork() };
    if child == 0 {
        fill(parser, 5);
        fill(heap::create_named(Additional, b"child's", Policy::AUTO).expect("memory"), 7);
        start::destructor();
        // SAFETY: ends the child.
        unsafe { _exit(0) };
    }
    let mut status = -1;
    // SAFETY: the call fills the local `status`.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    fill(parser, 1);
    heap::settle();

    let bytes = read();
    let view = LedgerView::new(&bytes).expect("a good ledger");
    let of = |process: i32| {
        let slot = view.slots().find(|slot| i64::from(slot.process.number) == i64::from(process));
        slot.map(|slot| heaps(&slot)).expect("a slot")
    };
    let mine = of(std::process::id() as i32);
    let row = |kind, state, name: &str, gets, used| (kind, state, name.to_owned(), gets, used);
    assert_eq!(
        mine[1..],
        [row(Additional, Ended, "scratch", 3, 0), row(Enclave, Live, "parser", 1_001, 1_001 * 112)]
    );
    assert_eq!((mine[0].0, mine[0].1), (Default, Live));
    // The cells inherited from the parent are in use, and do not count as the child's gets.
    assert_eq!(
        of(child),
        [
            row(Default, Live, "", 0, 0),
            row(Additional, Live, "child's", 7, 7 * 112),
            row(Enclave, Live, "parser", 5, 1_005 * 112),
        ]
    );
    std::fs::remove_file(&path).expect("removed");
}
