//! ECBs in a Rust program that runs on underbar's heap: this test starts itself again with the preload library.

use std::process::Command;
use std::ptr::NonNull;
use std::sync::Barrier;
use std::thread;

use underbar::ecb::{self, Ecb, Error};

const INSIDE: &str = "UNDERBAR_TEST_INSIDE_ECB";

#[test]
fn ecbs_serve_the_allocator_of_rust() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "ecbs_serve_the_allocator_of_rust", "--nocapture"]);
    let output = again.env(INSIDE, "1").env("LD_PRELOAD", underbar_zoo::heap::preload()).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("all held"));
}

/// Where a new piece comes from.
fn place() -> usize {
    let piece = Box::new([1_u8; 64]);
    (&raw const *piece).addr()
}

fn inside() {
    // The storage of an ECB is used again for the next one of the thread, and not for the process.
    let mut places = Vec::with_capacity(3);
    for _ in 0..3 {
        let ecb = Ecb::new("UNIT").expect("an ECB");
        assert_eq!(ecb::current(), None);
        // SAFETY: the place is a number.
        let at = unsafe {
            ecb.run(|| {
                assert_eq!(ecb::current(), Some(ecb.number()));
                std::mem::forget(vec![7_u8; 100_000]);
                place()
            })
        };
        places.push(at);
        assert_ne!(place(), at);
        ecb.end().expect("nobody is inside");
    }
    assert!(places.windows(2).all(|two| two[0] == two[1]), "{places:?}");

    // What is made outside outlives the ECB, wherever it is dropped.
    let ecb = Ecb::new("UNIT").expect("an ECB");
    // SAFETY: the text is made outside; the other one is dropped inside.
    let text = unsafe {
        ecb.run(|| {
            let text = ecb::outside(|| format!("made {}", "outside"));
            let inside = format!("{text}, read inside");
            assert!(inside.ends_with("inside") && ecb::current() == Some(ecb.number()));
            text
        })
    };
    drop(ecb);
    assert_eq!(text, "made outside");

    // Names; the last one first.
    let ecb = Ecb::new("UNIT").expect("an ECB");
    // SAFETY: the buffers are in use while they have a name, and end with the ECB.
    unsafe {
        ecb.run(|| {
            let buffers = [1, 2].map(|byte: u8| NonNull::from(Box::leak(Box::new([byte; 100]))).cast::<u8>());
            for buffer in buffers {
                ecb::tag(buffer, b"SESSION").expect("a buffer of this ECB");
            }
            assert_eq!(ecb::locate(b"SESSION").collect::<Vec<_>>(), [buffers[1], buffers[0]]);
            assert_eq!(ecb::locate(b"OTHER").next(), None);
            assert_eq!(ecb::tag(buffers[0], b""), Err(Error::Invalid));
        });
    }
    assert_eq!(ecb::locate(b"SESSION").next(), None, "outside of all ECBs");

    // Name-value pairs: four at most, each with one value.
    // SAFETY: nothing of it is kept.
    unsafe {
        ecb.run(|| {
            for pair in ["A", "B", "C", "D", "A"] {
                assert_eq!(ecb::name(pair, "1"), Ok(()));
            }
            assert_eq!(ecb::name("E", "1"), Err(Error::Invalid));
            assert_eq!((ecb::name("D", ""), ecb::name("E", "1")), (Ok(()), Ok(())));
            assert_eq!(ecb::name("", "1"), Err(Error::Invalid));
            assert_eq!(ecb::name("A", &"1".repeat(33)), Err(Error::LongName));
        });
    }
    assert_eq!(ecb::name("A", "1"), Err(Error::Outside));

    // One that is alive: what it has now, as numbers and as the display of ZDECB HAVL.
    let of_names = ecb.figures().expect("alive");
    assert!(!of_names.are_counted(), "it had visits before the first pair of its class");
    let one = Ecb::new("UNIT").expect("an ECB");
    let before = one.figures().expect("alive");
    assert_eq!((before.are_counted(), before.dispensed, before.buffers), (true, [0; 6], 0));
    // SAFETY: nothing of it is kept.
    unsafe { one.run(|| std::mem::forget([Box::new([0_u8; 60]), Box::new([1; 60])])) };
    let after = one.figures().expect("alive");
    assert!(after.are_counted() && after.class() == "UNIT" && after.sizes[1] == 64, "{after:?}");
    assert_eq!((after.dispensed[1], after.buffers, after.threads), (2, 2, 0));
    assert_eq!((of_names.names, of_names.name_table), (2, 8));
    let shown = std::env::temp_dir().join(format!("underbar-ecb-shown-{}", std::process::id()));
    let file = std::fs::File::create(&shown).expect("a file");
    one.display(&file).expect("alive");
    let text = std::fs::read_to_string(&shown).expect("a text");
    std::fs::remove_file(&shown).expect("removed");
    let line = format!("AVL2  {:>13}{:>13}", 0, 0);
    drop(one);
    assert!(
        text.contains(&line) && text.contains("SETNAME = UNIT\n") && text.ends_with("END OF DISPLAY\n"),
        "{text}"
    );

    // It does not end while a thread is in it.
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        // SAFETY: the thread keeps nothing that it allocates inside.
        scope.spawn(|| unsafe {
            ecb.run(|| {
                barrier.wait();
                barrier.wait();
            });
        });
        barrier.wait();
        // By its number, since `end` takes an ECB that nobody borrows.
        assert_eq!(end(ecb.number()), 16, "EBUSY");
        barrier.wait();
    });
    ecb.end().expect("nobody is inside");
    println!("all held");
}

fn end(number: u64) -> i32 {
    unsafe extern "C" {
        #[link_name = "dlsym"]
        fn find(handle: *mut u8, name: *const std::ffi::c_char) -> Option<unsafe extern "C" fn(u64) -> i32>;
    }
    // SAFETY: a null handle means all libraries; the function of this name has this type.
    unsafe { find(std::ptr::null_mut(), c"underbar_ecb_end".as_ptr()).expect("under underbar")(number) }
}
