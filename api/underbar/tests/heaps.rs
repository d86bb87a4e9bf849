//! Additional heaps in a Rust program that runs on underbar's heap: this test starts itself again with the preload library.

use std::cell::Cell;
use std::process::Command;
use std::thread;

use underbar::heaps::{Disposition, Error, Heap, set_report_heading};

const INSIDE: &str = "UNDERBAR_TEST_INSIDE";

#[test]
fn heaps_are_created_used_and_discarded() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "heaps_are_created_used_and_discarded", "--nocapture"]);
    let output = again.env(INSIDE, "1").env("LD_PRELOAD", underbar_zoo::heap::preload()).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("all held"));
}

fn inside() {
    set_report_heading("From Rust").expect("under underbar");
    set_report_heading("Again").expect("a replaced heading is no error");
    let heap = Heap::with_sizes(65_536, 4_096, Disposition::Keep).expect("a heap");
    assert!(heap.id() > 0);
    let mut element = heap.get(4_000).expect("storage");
    assert!(element.iter().all(|byte| *byte == 0) && element.len() == 4_000);
    element.fill(7);
    let behind = heap.get(100).expect("storage");
    element.resize(300_000).expect("storage");
    assert!(element[..4_000].iter().all(|byte| *byte == 7) && element[4_000..].iter().all(|byte| *byte == 0));
    element.resize(10).expect("less");
    assert_eq!((&*element, behind.len()), (&[7; 10][..], 100));
    assert_eq!(element.resize(usize::MAX), Err(Error::Condition { severity: 3, message: 813 }));
    assert_eq!(element.len(), 10, "it stays as it is");
    assert!(heap.get(0).expect("storage").is_empty());

    // Values are dropped where they are, and their storage is used again.
    struct Counts<'a>(&'a Cell<u32>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let mut place = heap.put(Counts(&dropped)).expect("storage");
    *place = Counts(&dropped);
    assert_eq!(dropped.get(), 1);
    drop(place);
    assert_eq!(dropped.get(), 2);
    assert_eq!(*heap.put([1_u64, 2, 3]).expect("storage"), [1, 2, 3]);

    // Threads share a heap; a leaked value goes with it.
    let texts: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let heap = &heap;
                scope.spawn(move || heap.put(format!("thread {number}")).expect("storage"))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
    });
    assert!(texts.iter().enumerate().all(|(number, text)| **text == format!("thread {number}")));
    std::mem::forget(heap.get(1_000).expect("storage"));
    drop((texts, element, behind));
    let id = heap.id();
    drop(heap);
    assert_ne!(Heap::new().expect("a heap").id(), id);
    println!("all held");
}
