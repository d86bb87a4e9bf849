//! What may go wrong with ECBs in a Rust program: each error is named, and nothing else changes. Each test starts itself again with the
//! preload library.
//!
//! Not here: what the borrow checker refuses: an end while a thread is inside, and a second end.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::{Command, Output};
use std::ptr::NonNull;
use std::thread;

use underbar::ecb::{self, Ecb, Error};

const INSIDE: &str = "UNDERBAR_TEST_INSIDE_ECB_FAULTS";

/// Runs `inside` in a process that carries the library; None: this is that process, and it has run.
fn on_heap(test: &str, shell: &str, inside: impl FnOnce()) -> Option<Output> {
    if std::env::var_os(INSIDE).is_some() {
        inside();
        println!("all held");
        return None;
    }
    let own = std::env::current_exe().expect("this program");
    let mut again = Command::new("sh");
    again.args(["-c", &format!("{shell} exec \"$0\" --exact {test} --nocapture")]).arg(own);
    again
        .env(INSIDE, "1")
        .env("LD_PRELOAD", underbar_zoo::heap::preload())
        .env("UNDERBAR_OPTS", "STORAGE(AA,55)");
    Some(again.output().expect("it runs"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn held(output: Option<Output>) {
    if let Some(output) = output {
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("all held"), "{}", text(&output.stdout));
    }
}

/// Takes over what ended ECBs left, and writes there.
fn overwrite() {
    for _ in 0..3 {
        let ecb = Ecb::new("RUST").expect("an ECB");
        // SAFETY: nothing of it is kept.
        unsafe { ecb.run(|| (0..400).for_each(|size| std::mem::forget(vec![0xdb_u8; size * 9]))) };
    }
}

#[test]
fn a_panic_leaves_the_ecb_and_later_ones_are_served() {
    held(on_heap("a_panic_leaves_the_ecb_and_later_ones_are_served", "", || {
        for round in 0..50 {
            let ecb = Ecb::new("RUST").expect("an ECB");
            // SAFETY: what the panic carries is dropped before the ECB ends.
            let panicked = catch_unwind(AssertUnwindSafe(|| unsafe {
                ecb.run(|| {
                    let inner = Ecb::new("RUST").expect("an ECB");
                    inner.run(|| ecb::outside(|| panic!("round {round}")))
                })
            }));
            let payload = panicked.expect_err("a panic");
            assert_eq!(ecb::current(), None);
            assert_eq!(payload.downcast_ref::<String>(), Some(&format!("round {round}")));
            drop(payload);
            drop(ecb);
            overwrite();
        }
    }));
}

/// The panic's message and the table of symbols for its backtrace are made by std, which keeps the table.
#[test]
fn a_backtrace_that_is_printed_in_an_ecb_outlives_it() {
    let set = "export RUST_BACKTRACE=1;";
    held(on_heap("a_backtrace_that_is_printed_in_an_ecb_outlives_it", set, || {
        for round in 0..5 {
            let ecb = Ecb::new("RUST").expect("an ECB");
            // SAFETY: what the panic carries is dropped before the ECB ends.
            let panicked = catch_unwind(AssertUnwindSafe(|| unsafe { ecb.run(|| panic_any(round)) }));
            drop(panicked.expect_err("a panic"));
            drop(ecb);
            overwrite();
        }
    }));
}

#[test]
fn values_that_grow_stay_where_they_were_made() {
    held(on_heap("values_that_grow_stay_where_they_were_made", "", || {
        let (first, second) = (Ecb::new("RUST").expect("an ECB"), Ecb::new("RUST").expect("an ECB"));
        let mut of_process = vec![1_u64];
        // SAFETY: the vector of the first ECB is dropped before it ends, and that of the process is the process's.
        let of_first = unsafe {
            let mut of_first = first.run(|| vec![2_u64]);
            second.run(|| {
                for at in 0..100_000 {
                    of_process.push(at);
                    of_first.push(at + 1);
                }
            });
            of_first
        };
        second.end().expect("nobody is inside");
        overwrite();
        assert!(of_process[1..].iter().zip(0..).all(|(one, at)| *one == at));
        assert!(of_first[1..].iter().zip(1..).all(|(one, at)| *one == at));
        drop(of_first);
        first.end().expect("nobody is inside");
        assert_eq!(of_process.len(), 100_001);
    }));
}

#[test]
fn names_and_buffers_that_are_none_are_told_apart() {
    held(on_heap("names_and_buffers_that_are_none_are_told_apart", "", || {
        assert_eq!(Ecb::new("NUL\0").err(), Some(Error::Invalid));
        let mut process = Box::new([0_u8; 64]);
        let foreign = NonNull::from(&mut *process).cast::<u8>();
        let ecb = Ecb::new("RUST").expect("an ECB");
        // SAFETY: all buffers are in use, or none; those of the ECB end with it.
        unsafe {
            assert_eq!(ecb::tag(foreign, b"NAME"), Err(Error::Outside));
            ecb.run(|| {
                let buffer = NonNull::from(Box::leak(Box::new([0_u8; 64]))).cast::<u8>();
                assert_eq!(ecb::tag(foreign, b"NAME"), Err(Error::Invalid));
                assert_eq!(ecb::tag(buffer.add(16), b"NAME"), Err(Error::Invalid));
                assert_eq!(ecb::tag(buffer, b""), Err(Error::Invalid));
                assert_eq!(ecb::tag(buffer, &[b'N'; 41]), Err(Error::LongName));
                assert_eq!(ecb::tag(buffer, &[b'N'; 4_096]), Err(Error::LongName));
                assert_eq!(ecb::tag(buffer, &[b'N'; 40]), Ok(()));
                assert_eq!(ecb::locate(&[b'N'; 40]).collect::<Vec<_>>(), [buffer]);
                assert_eq!(ecb::locate(&[b'N'; 4_096]).count() + ecb::locate(b"").count(), 0);
            });
        }
    }));
}

#[test]
fn threads_and_programs_are_started_in_an_ecb() {
    held(on_heap("threads_and_programs_are_started_in_an_ecb", "", || {
        for _ in 0..20 {
            let ecb = Ecb::new("RUST").expect("an ECB");
            // SAFETY: the thread and the child have ended before the ECB does.
            unsafe {
                ecb.run(|| {
                    let thread = thread::spawn(|| (ecb::current(), vec![3_u8; 100_000].len()));
                    assert_eq!(thread.join().expect("no panic"), (None, 100_000));
                    let output = Command::new("echo").arg("child").output().expect("a child");
                    assert_eq!(output.stdout, b"child\n");
                });
            }
            drop(ecb);
            overwrite();
        }
    }));
}

#[test]
fn without_memory_requests_fail_and_the_ecb_ends() {
    let limit = "ulimit -v 700000;";
    held(on_heap("without_memory_requests_fail_and_the_ecb_ends", limit, || {
        let ecb = Ecb::new("RUST").expect("an ECB");
        // SAFETY: nothing of it is kept.
        unsafe {
            ecb.run(|| {
                let kept = vec![7_u8; 1_000];
                let mut all = Vec::new();
                for size in [30 << 20, 1 << 20, 10_000, 100] {
                    let mut part = Vec::<u8>::new();
                    while all.try_reserve(1).is_ok() && part.try_reserve_exact(size).is_ok() {
                        all.push(std::mem::take(&mut part));
                    }
                }
                assert!(Vec::<u8>::new().try_reserve(30 << 20).is_err());
                assert!(kept.iter().all(|byte| *byte == 7));
                std::mem::forget(all);
            });
        }
        ecb.end().expect("nobody is inside");
        overwrite();
        assert!(Vec::<u8>::new().try_reserve(30 << 20).is_ok(), "it is back");
    }));
}

#[test]
fn a_value_that_is_dropped_after_its_ecb_is_named() {
    let output = on_heap("a_value_that_is_dropped_after_its_ecb_is_named", "", || {
        let ecb = Ecb::new("RUST").expect("an ECB");
        // SAFETY: none: the value is dropped after its ECB, which is what is tested.
        let value = unsafe { ecb.run(|| vec![1_u8; 1_000]) };
        drop(ecb);
        drop(value);
    });
    if let Some(output) = output {
        assert!(!output.status.success(), "{}", text(&output.stdout));
        let error = text(&output.stderr);
        assert!(error.contains("free(): invalid pointer") && error.contains("its ECB has ended"), "{error}");
    }
}
