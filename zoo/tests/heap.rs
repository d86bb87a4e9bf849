//! The heap under programs that use it in every way that C and C++ allow, and some that they do not.
//!
//! Each program runs by itself and with the preload under several option texts; its output must be the same.

use std::process::Command;

use underbar_zoo::heap::{OPTIONS, check, cpp, on_heap, plain, preload, program, text};
use underbar_zoo::{Left, compiled, skip};

fn wrong(output: &str) -> bool {
    output.contains("WRONG") || output.contains("CHANGED") || output.contains("OVERLAP")
}

#[test]
fn the_whole_c_family_keeps_to_its_conventions() {
    let program = text(compiled("heap/family", "heap-family", &FAMILY));
    let output = check(&[&program]);
    assert!(output.ends_with("done\n") && !wrong(&output), "{output}");
}

/// The compiler must not know malloc, or it removes calls; and old functions are called, too.
const FAMILY: [&str; 4] =
    ["-fno-builtin", "-Wno-deprecated-declarations", "-Wno-alloc-size-larger-than", "-Wno-use-after-free"];

#[test]
fn operators_new_and_delete_in_all_forms() {
    let output = check(&[&cpp("new", &[])]);
    assert!(
        !wrong(&output) && output.contains("form 0: std::bad_alloc, 3 handled, 11 destroyed"),
        "{output}"
    );
}

#[test]
fn out_of_storage_is_null_and_enomem() {
    let program = program("limits");
    let plain = plain(&[&program]);
    assert!(plain.output.ends_with("done\n") && !plain.output.contains("FEW"), "{plain:?}");
    for options in ["", "HEAP(1M,512K,,FREE)", "STORAGE(AA)", "HEAP(4M,1M,,KEEP)"] {
        let left = on_heap(options, &[&program]);
        assert!(left.status.success(), "under {options:?}: {left:?}");
        // Storage kept in increments of 1M cannot serve 3000000 bytes, and KEEP demands to keep it.
        let keeps = "3000000 bytes: FEW";
        let expected = if left.output.contains(keeps) && options.contains("KEEP") {
            plain.output.replace("3000000 bytes: enough", keeps)
        } else {
            plain.output.clone()
        };
        assert_eq!(left.output, expected, "under {options:?}");
    }
}

#[test]
fn a_small_request_is_refused_only_where_a_large_one_is() {
    let program = program("full");
    assert_eq!(plain(&[&program]).output, "done\n");
    for options in ["", "HEAP(64K,32K,,FREE)", "HEAP(4M,1M,,KEEP)"] {
        assert_eq!(on_heap(options, &[&program]).output, "done\n", "under {options:?}");
    }
}

#[test]
fn the_last_2_mib_of_address_space_are_the_program_s() {
    let program = program("far");
    for size in ["100", "5000", "20000", "100000", "1200000"] {
        for options in ["", "HEAP(64K,32K,,FREE)"] {
            assert_eq!(plain(&[&program, size]).output, "enough\n", "{size} plain");
            // Rarely the part of the address space that the heap knows is full but for some kilobytes: its start is random.
            let once = (0..4).any(|_| on_heap(options, &[&program, size]).output == "enough\n");
            assert!(once, "{size} under {options:?}");
        }
    }
}

/// A stack that may grow to half a gigabyte has no heap storage in its way, although the heap knows hardly another place.
/// Without randomised addresses the kernel's mappings begin right below it.
#[test]
fn no_segment_is_where_the_stack_may_grow() {
    let program = program("far");
    let line = "ulimit -s 500000 && exec \"$@\"";
    if !Command::new("setarch").args(["-R", "true"]).status().is_ok_and(|status| status.success()) {
        return skip("the room of a large stack: needs setarch -R");
    }
    for size in ["100", "20000", "1200000"] {
        for options in ["", "HEAP(64K,32K,,FREE)"] {
            let left = on_heap(options, &["sh", "-c", line, "sh", "setarch", "-R", &program, size]);
            let fits = ["enough\n", "FEW\n"].contains(&left.output.as_str());
            assert!(fits, "{size} under {options:?}: {left:?}");
        }
    }
}

#[test]
fn before_constructors_and_after_main() {
    let library = text(compiled("heap/early_library", "libheap-early.so", &["-shared", "-fPIC"]));
    let program = text(compiled("heap/early", "heap-early", &[&library]));
    let output = check(&[&program]);
    assert_eq!(
        output,
        "before all constructors, from a constructor, 42\nin an exit handler\nin a destructor\n"
    );
}

#[test]
fn threads_that_use_the_heap_while_they_end() {
    assert!(check(&[&program("ends")]).starts_with("32000 destructors, 0 wrong"));
}

#[test]
fn children_made_while_others_get_and_free() {
    let program = program("forks");
    assert_eq!(check(&[&program]), "fork: 0 failures\nvfork and exec: 0 failures\nclone: 0 failures\n");
}

#[test]
fn an_end_from_a_signal_handler_comes() {
    assert_eq!(check(&[&program("interrupted")]), "150 ended\n");
}

#[test]
fn a_signal_handler_may_fork_whatever_it_interrupts() {
    assert_eq!(check(&[&program("forks_in_handler")]), "400 forks, 0 wrong\n");
}

#[test]
fn a_fork_waits_for_streams_before_it_holds_the_heap() {
    let program = program("streams");
    assert_eq!(check(&[&program]), "20 forks, 0 wrong\n");
    assert_eq!(check(&[&program, "allocating"]), "20 forks, 0 wrong\n");
}

#[test]
fn handlers_of_fork_that_libraries_registered_before_us_may_get_storage_and_wait() {
    let library = text(compiled("heap/handlers_library", "libheap-handlers.so", &["-shared", "-fPIC"]));
    let program = text(compiled("heap/handlers", "heap-handlers", &["-pthread", &library]));
    assert_eq!(check(&[&program]), "21 forks, 0 wrong\n");
}

#[test]
fn libraries_come_and_go() {
    let library = text(compiled("heap/early_library", "libheap-early.so", &["-shared", "-fPIC"]));
    let program = text(compiled("heap/plugin", "heap-plugin", &["-pthread", "-ldl"]));
    assert_eq!(check(&[&program, &library]), "loaded and unloaded\n");
}

#[test]
fn the_library_may_come_late() {
    let program = text(compiled("heap/late", "heap-late", &["-pthread", "-ldl"]));
    let left = plain(&[&program, preload().to_str().expect("a path of text")]);
    assert_eq!(left.output, "served late\n", "{left:?}");
}

#[test]
fn a_program_with_half_an_allocator_of_its_own() {
    let program = text(compiled("heap/own_malloc", "heap-own_malloc", &["-pthread", "-fno-builtin"]));
    assert_eq!(check(&[&program]), "got along, foreign ones seen\n");
}

#[test]
fn pointers_of_strangers_are_left_alone() {
    let program =
        text(compiled("heap/strangers", "heap-strangers", &["-fno-builtin", "-Wno-free-nonheap-object"]));
    for options in OPTIONS {
        let left = on_heap(options, &[&program]);
        assert_eq!(left.output, "untouched null 0\n".repeat(5) + "done\n", "under {options:?}: {left:?}");
    }
}

/// The figure in a program's standard error.
fn figure(error: &str) -> u64 {
    error.trim().parse().expect("a number")
}

/// Resident memory at most this many times that without us, and 8 MiB for our own.
fn resident_is_bounded(name: &str, times: u64) {
    let program = program(name);
    let alone = figure(&plain(&[&program]).error);
    for options in ["", "HEAP(4M,1M,,KEEP)", "HEAP(64K,32K,,FREE)"] {
        let left = on_heap(options, &[&program]);
        assert!(left.status.success(), "{left:?}");
        let ours = figure(&left.error);
        assert!(ours <= alone * times + 8192, "{ours} KiB under {options:?}, {alone} KiB without");
    }
}

#[test]
fn ten_thousand_threads_in_turn() {
    resident_is_bounded("turns", 2);
}

/// The page map has 8 bytes for each page, which would be 6 MiB here.
#[test]
fn what_is_got_and_not_touched_takes_no_memory() {
    let program = program("untouched");
    let grown = |left: &Left| left.output.trim().parse::<i64>().expect("KiB");
    let alone = grown(&plain(&[&program]));
    for options in ["", "HEAP(4M,1M,,KEEP)", "HEAP(64K,32K,,FREE)", "HEAPCHK(ON)"] {
        let left = on_heap(options, &[&program]);
        assert!(left.status.success(), "{left:?}");
        assert!(grown(&left) <= alone + 256, "{} KiB under {options:?}, {alone} KiB without", grown(&left));
    }
}

#[test]
fn storage_that_always_crosses_threads() {
    resident_is_bounded("belts", 2);
}

#[test]
fn emptied_increments_are_kept_or_returned_as_heap_says() {
    let program = program("returns");
    for by in ["same", "other"] {
        for (options, bytes, number, what) in [
            ("HEAP(64K,64K,,FREE)", "1000", "5000", "returned"),
            ("HEAP(64K,64K,,FREE)", "30000", "500", "returned"),
            ("HEAP(64K,64K,,FREE)", "1000000", "20", "returned"),
            ("HEAP(1M,1M,,KEEP)", "1000", "20000", "kept"),
            ("HEAP(64K,64K,,KEEP)", "30000", "500", "kept"),
            ("HEAP(64K,64K,,KEEP)", "1000000", "20", "kept"),
        ] {
            let left = on_heap(options, &[&program, bytes, number, by]);
            assert_eq!(left.output.trim(), what, "{number} of {bytes} under {options}, freed by {by}");
        }
    }
}

/// Under AUTO unneeded storage goes back while the program continues, also if it has only small requests left, a few large ones, or
/// two hundred small ones in a second.
#[test]
fn a_program_that_becomes_small_gives_its_storage_back() {
    let program = program("returns");
    for (bytes, number) in [("1000", "20000"), ("30000", "500"), ("1000000", "40")] {
        for then in ["later", "few", "rare"] {
            let left = on_heap("", &[&program, bytes, number, then]);
            assert_eq!(left.output.trim(), "returned", "{number} of {bytes}, {then}");
        }
    }
}

/// Large blocks that come and go stay for the next one, but not beside something else that the program needs: another large block
/// for which they have no room, or a library.
#[test]
fn large_blocks_that_come_and_go_cost_no_memory() {
    let program = text(compiled("heap/come_and_go", "heap-come-and-go", &["-fno-builtin"]));
    for then in ["another", "library"] {
        let alone = figure(&plain(&[&program, then]).output);
        let left = on_heap("", &[&program, then]);
        assert!(left.status.success(), "{left:?}");
        let ours = figure(&left.output);
        assert!(ours <= alone + 6 * 1024, "{ours} KiB, {alone} KiB without us, before {then}");
    }
}

#[test]
fn storage_is_filled_as_asked() {
    let program = text(compiled("heap/filled", "heap-filled", &["-fno-builtin", "-Wno-uninitialized"]));
    for (options, got) in [("STORAGE(AA)", "aa"), ("STORAGE(00)", "00"), ("STORAGE(7F,55)", "7f")] {
        let left = on_heap(options, &[&program]);
        let expected = format!("got {got}, calloc 00\n");
        assert_eq!(left.output, expected, "under {options}: {left:?}");
    }
}

#[test]
fn torture_with_every_byte_checked() {
    let program = program("torture");
    for (shape, operations) in
        [("small", "20000"), ("mixed", "8000"), ("large", "400"), ("pass", "20000"), ("churn", "10000")]
    {
        for (seed, options) in (1..).zip(OPTIONS) {
            for threads in ["1", "4"] {
                let words = [&program, threads, operations, shape, &seed.to_string()];
                let left = on_heap(options, &words.map(|word| word));
                assert!(left.status.success(), "{words:?} under {options:?}: {left:?}");
            }
        }
    }
}

/// A key that the program did not make is refused, and it can make as many as without us.
#[test]
fn the_program_s_keys_are_its_own() {
    let program = text(compiled("heap/keys", "heap-keys", &["-pthread"]));
    let output = check(&[&program]);
    for line in [
        "key 0 set without being made: 22",
        "with one key: 160 rounds, 0 wrong",
        "1024 keys, one more: 11, 1",
        "with all keys: 160 rounds, 0 wrong",
        "with one key again: 160 rounds, 0 wrong",
    ] {
        assert!(output.contains(line), "{line} is missing: {output}");
    }
    // Stacks, and the command's accounts.
    let run = Command::new(underbar_zoo::underbar())
        .args(["run", "-q", "--", &program])
        .env_remove("LD_PRELOAD")
        .env_remove("UNDERBAR_OPTS")
        .output()
        .expect("runs");
    assert_eq!(String::from_utf8_lossy(&run.stdout), output, "{run:?}");
}
