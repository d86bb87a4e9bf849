//! `Alloc` as the allocator of this very program (`cargo test -p underbar --features global-allocator`): alone, under the preload library,
//! and in a library that a C program loads.

use std::alloc::{GlobalAlloc, Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use underbar::Alloc;

#[global_allocator]
static ALLOC: Alloc = Alloc;

/// `struct mallinfo2` of glibc.
#[repr(C)]
struct Info([usize; 10]);

unsafe extern "C" {
    safe fn mallinfo2() -> Info;
    safe fn fork() -> i32;
    safe fn _exit(status: i32) -> !;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
}

/// Bytes in use in the heap of C's malloc.
fn used_by_c() -> usize {
    mallinfo2().0[7]
}

/// Starts this test again, alone, with the preload library.
fn again_under_preload(test: &str) {
    const INSIDE: &str = "UNDERBAR_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", test, "--nocapture"]);
    let output = again.env(INSIDE, "1").env("LD_PRELOAD", underbar_zoo::heap::preload()).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

fn is_preloaded() -> bool {
    std::env::var_os("LD_PRELOAD").is_some_and(|value| value.to_string_lossy().contains("libunderbar"))
}

/// Places in a block: the first and the last bytes, and some in between.
fn places(bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes.min(64)).chain((64..bytes).step_by(509)).chain(bytes.saturating_sub(64)..bytes)
}

/// Marks places of a block.
fn fill(address: *mut u8, bytes: usize, seed: usize) {
    for at in places(bytes) {
        // SAFETY: the caller's block has that many bytes.
        unsafe { address.add(at).write((at + seed) as u8) };
    }
}

/// Whether a block that was marked has the marks of its first bytes.
fn is_filled(address: *mut u8, marked: usize, bytes: usize, seed: usize) -> bool {
    // SAFETY: the caller's block has that many bytes.
    let is_marked = |at| unsafe { address.add(at).read() } == (at + seed) as u8;
    places(marked).filter(|&at| at < bytes).all(is_marked)
}

#[test]
fn one_heap_serves_the_program() {
    let before = used_by_c();
    let blocks: Vec<Vec<u8>> = (0..40_000).map(|_| vec![1; 1_000]).collect();
    let grown = used_by_c().saturating_sub(before);
    assert_eq!(grown > 30_000_000, is_preloaded(), "{grown} bytes more in C's heap");
    drop(blocks);
    again_under_preload("one_heap_serves_the_program");
}

#[test]
fn every_alignment_and_size_is_served_and_keeps_its_content() {
    for align in (0..=16).map(|bits| 1_usize << bits) {
        for size in [1, 8, 24, 100, 1_024, 5_000, 33_000, 300_000] {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            // SAFETY: the layout is that of the block throughout; its size is not 0.
            unsafe {
                let first = alloc(layout);
                assert!(!first.is_null() && first.addr().is_multiple_of(align), "{layout:?}");
                fill(first, size, align);
                let mut block = (first, size);
                for new in [size * 3, size * 40, size + 1, size.div_ceil(2), 1] {
                    let layout = Layout::from_size_align(block.1, align).expect("a layout");
                    let moved = realloc(block.0, layout, new);
                    assert!(!moved.is_null() && moved.addr().is_multiple_of(align), "{layout:?} to {new}");
                    assert!(is_filled(moved, block.1, new, align), "{layout:?} to {new}");
                    fill(moved, new, align);
                    block = (moved, new);
                }
                dealloc(block.0, Layout::from_size_align(block.1, align).expect("a layout"));
                let zeroed = alloc_zeroed(layout);
                assert!(zeroed.addr().is_multiple_of(align));
                assert!(places(size).all(|at| zeroed.add(at).read() == 0), "{layout:?}");
                dealloc(zeroed, layout);
            }
        }
    }
    again_under_preload("every_alignment_and_size_is_served_and_keeps_its_content");
}

#[test]
fn what_cannot_be_served_is_null_and_the_old_block_stays() {
    let small = Layout::from_size_align(64, 64).expect("a layout");
    let huge = isize::MAX as usize - 64;
    // SAFETY: the layouts are those of the blocks.
    unsafe {
        let block = ALLOC.alloc(small);
        fill(block, 64, 3);
        assert!(ALLOC.realloc(block, small, huge).is_null());
        assert!(is_filled(block, 64, 64, 3));
        ALLOC.dealloc(block, small);
        assert!(ALLOC.alloc(Layout::from_size_align(huge, 1).expect("a layout")).is_null());
        assert!(ALLOC.alloc_zeroed(Layout::from_size_align(huge, 32).expect("a layout")).is_null());
    }
}

/// Allocates when its thread ends: thread-locals end before the thread's cells do, or after.
struct AtEnd(Vec<String>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        let more: Vec<String> = self.0.iter().map(|text| text.repeat(3)).collect();
        LATER.with(|later| later.borrow_mut().extend(more));
    }
}

thread_local! {
    static LATER: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static ENDING: RefCell<AtEnd> = const { RefCell::new(AtEnd(Vec::new())) };
}

#[test]
fn threads_come_and_go_and_free_what_others_got() {
    let (sender, receiver) = mpsc::channel::<Vec<Box<[u8; 200]>>>();
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let sender = sender.clone();
            scope.spawn(move || {
                ENDING.with(|ending| ending.borrow_mut().0.push(format!("thread {number}")));
                for _ in 0..50 {
                    let blocks = (0..100).map(|at| Box::new([number.wrapping_add(at); 200])).collect();
                    sender.send(blocks).expect("a receiver");
                }
            });
        }
        drop(sender);
        let mut sum = 0;
        while let Ok(blocks) = receiver.recv() {
            sum += blocks.iter().filter(|block| block.iter().all(|byte| *byte == block[0])).count();
        }
        assert_eq!(sum, 8 * 50 * 100);
    });
    again_under_preload("threads_come_and_go_and_free_what_others_got");
}

#[test]
fn a_child_by_fork_has_the_heap_whatever_other_threads_did() {
    static END: AtomicBool = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !END.load(Ordering::Relaxed) {
                    drop(std::hint::black_box(vec![0_u8; 100_000]));
                }
            });
        }
        for _ in 0..50 {
            let child = fork();
            if child == 0 {
                let blocks: Vec<Vec<u8>> = (1..200).map(|size| vec![7; size * 500]).collect();
                _exit(i32::from(blocks.iter().any(|block| block[0] != 7)));
            }
            let mut status = -1;
            // SAFETY: the status is a local.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        END.store(true, Ordering::Relaxed);
    });
    again_under_preload("a_child_by_fork_has_the_heap_whatever_other_threads_did");
}

/// `examples/alloc_library.rs`, a shared library whose allocator is `Alloc`.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--features", "global-allocator", "--example", "alloc_library"])
        .args(["--profile", if profile.ends_with("debug") { "dev" } else { "release" }, "--target-dir"])
        .arg(profile.parent().expect("a target folder"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.expect("cargo").success());
    profile.join("examples/liballoc_library.so")
}

#[test]
fn a_library_takes_its_storage_from_the_process_that_loads_it() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loads-alloc");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(own.join("tests/loads_alloc.c"))
        .args(["-ldl", "-pthread"])
        .status();
    assert!(compiled.expect("a compiler").success());
    let library = library();
    for preload in [Path::new(""), underbar_zoo::heap::preload()] {
        let output = Command::new(&program).arg(&library).env("LD_PRELOAD", preload).output().expect("run");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "all held\n", "{output:?}");
        assert!(output.status.success(), "{output:?}");
    }
}
