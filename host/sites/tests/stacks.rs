//! Stacks that are unwound here, from registers and a copied piece of stack, are those that the program's own C library finds.

mod programs_of_test;

use programs_of_test::{Taken, built, take};
use underbar_sites::walk::{End, MOST_FRAMES, Place};
use underbar_sites::{Registers, Stack};

/// The walk over the raw stack, and that over the C library's addresses, must give the same places.
fn check(taken: &Taken) {
    let (raw, expected) = (taken.walk(&taken.raw), taken.walk(&taken.frames));
    assert!(expected.places.len() >= 4, "{expected:?}");
    assert_eq!((raw.end, raw.places.len()), (End::Whole, expected.places.len()));
    same(&raw.places, &expected.places);
}

/// The same places. Behind a call both are one byte before the address; if a signal interrupted the function, only the walk knows it.
fn same(raw: &[Place], expected: &[Place]) {
    let mut interrupted = 0;
    for (at, (raw, expected)) in raw.iter().zip(expected).enumerate() {
        match (raw, expected) {
            (Place::File(file, address), Place::File(other, before))
                if file == other && *address == before + 1 =>
            {
                interrupted += 1;
            }
            _ => assert_eq!(raw, expected, "frame {at}"),
        }
    }
    assert!(interrupted <= 1, "{interrupted}");
}

#[test]
fn of_c_programs_without_frame_pointers() {
    for (flags, name) in [
        (&["-O2", "-fomit-frame-pointer"][..], "o2"),
        (&["-O1", "-fno-omit-frame-pointer"], "o1"),
        (&["-O2", "-fomit-frame-pointer", "-static"], "static"),
    ] {
        let Some(program) = built(name, "callers.c", flags) else { continue };
        for how in ["plain", "recurse", "callback", "signal", "thread"] {
            println!("{name} {how}");
            check(&take(&program, how, &[]));
        }
    }
}

#[test]
fn of_cpp_programs_with_exceptions() {
    let Some(program) = built("cpp", "callers.cc", &["-O2", "-fomit-frame-pointer"]) else { return };
    for how in ["exception", "template"] {
        println!("{how}");
        check(&take(&program, how, &[]));
    }
}

#[test]
fn of_rust_programs() {
    let flags = ["-Copt-level=3", "-Cforce-frame-pointers=no"];
    let Some(program) = built("rust", "callers.rs", &flags) else { return };
    check(&take(&program, "", &[]));
}

#[test]
fn a_piece_that_is_too_short_is_cut_and_not_guessed() {
    let Some(program) = built("cut", "callers.c", &["-O2", "-fomit-frame-pointer"]) else { return };
    let taken = take(&program, "deep", &[("MOST", "16384")]);
    let (raw, expected) = (taken.walk(&taken.raw), taken.walk(&taken.frames));
    assert_eq!(raw.end, End::Cut);
    assert!(raw.places.len() > 50 && raw.places.len() < expected.places.len());
    same(&raw.places, &expected.places[..raw.places.len()]);
    let taken = take(&program, "deep", &[]);
    let (raw, expected) = (taken.walk(&taken.raw), taken.walk(&taken.frames));
    assert_eq!((raw.end, expected.end, raw.places.len()), (End::Deep, End::Deep, MOST_FRAMES));
    same(&raw.places, &expected.places);
}

#[test]
fn a_stack_of_signals_ends_the_walk() {
    let Some(program) = built("alternative", "callers.c", &["-O2", "-fomit-frame-pointer"]) else { return };
    let taken = take(&program, "altstack", &[("MOST", "2048"), ("TOP", "1")]);
    let (raw, expected) = (taken.walk(&taken.raw), taken.walk(&taken.frames));
    assert!(matches!(raw.end, End::Cut | End::Wrong), "{raw:?}");
    assert!(raw.places.len() >= 5, "{raw:?}");
    same(&raw.places, &expected.places[..raw.places.len()]);
}

#[test]
fn damaged_stacks_and_registers_end_the_walk() {
    let Some(program) = built("damaged", "callers.c", &["-O2", "-fomit-frame-pointer"]) else { return };
    let taken = take(&program, "recurse", &[]);
    let Stack::Raw { registers, stack } = &taken.raw else { panic!("raw") };
    let whole = taken.walk(&taken.raw).places.len();
    for at in (0..stack.len()).step_by(8) {
        for value in [0_u64, u64::MAX, registers.rsp, registers.rip] {
            let mut stack = stack.clone();
            if let Some(word) = stack.get_mut(at..at + 8) {
                word.copy_from_slice(&value.to_le_bytes());
            }
            let walk = taken.walk(&Stack::Raw { registers: *registers, stack });
            assert!(walk.places.len() <= whole + 200, "{at}");
        }
    }
    for rsp in [0, u64::MAX, u64::MAX - 8] {
        let registers = Registers { rsp, ..*registers };
        let _ = taken.walk(&Stack::Raw { registers, stack: stack.clone() });
    }
    let nowhere = Registers { rip: 1, ..*registers };
    let walk = taken.walk(&Stack::Raw { registers: nowhere, stack: stack.clone() });
    assert_eq!((walk.end, walk.places.len()), (End::Wrong, 0));
}
