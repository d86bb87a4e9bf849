//! Tests of the tables of loaded libraries.

use super::*;

unsafe extern "C" {
    fn qsort();
}

#[test]
fn the_c_library_is_found_with_its_functions() {
    let mut found = std::vec::Vec::new();
    each(&mut |object| {
        object.functions(c"qsort", &mut |symbol, is_default| {
            // SAFETY: a symbol of a library that is loaded.
            let address = object.base + unsafe { (*symbol).value };
            assert!(object.holds(address));
            found.push((address, is_default));
        });
    });
    assert_eq!(found, [(qsort as *const () as usize, true)]);
}

/// Several versions: all are found, and one of them is the default.
#[test]
fn every_version_of_a_name_is_found() {
    let mut found = std::vec::Vec::new();
    each(&mut |object| object.functions(c"posix_spawn", &mut |_, is_default| found.push(is_default)));
    assert!(found.len() > 1 && found.iter().filter(|&&is_default| is_default).count() == 1, "{found:?}");
}

/// The C library before 2.34 has `dlsym` in a library of its own, which need not be there.
#[test]
fn the_next_function_is_found_without_dlsym() {
    let here = next_after as *const () as usize;
    for (name, address) in [
        (c"qsort", qsort as *const () as usize),
        (c"pthread_create", libc_address(c"pthread_create")),
        (c"posix_spawn", libc_address(c"posix_spawn")),
    ] {
        assert_eq!(next_after(here, name), Some((address, true)), "{name:?}");
    }
    assert_eq!(next_after(here, c"no such function"), None);
    assert_eq!(next_after(qsort as *const () as usize, c"qsort"), None, "the C library has none behind it");
}

/// What is remembered is what a look at all finds; and a library behind the C library has none.
#[test]
fn remembered_libraries_have_the_same_functions() {
    let (here, kept) = (next_after as *const () as usize, Kept::new());
    for name in [c"qsort", c"pthread_create", c"posix_spawn", c"_Unwind_Resume", c"no such function"] {
        let whole = next_after(here, name).map(|(address, _)| address);
        assert_eq!(kept.next_after(here, name), whole, "{name:?}");
    }
    assert!(kept.state.load(Ordering::Relaxed) > KNOWN);
    let none = Kept::new();
    assert_eq!(none.next_after(qsort as *const () as usize, c"qsort"), None);
    assert_eq!(none.state.load(Ordering::Relaxed), KNOWN);
}

/// The loader's answer.
fn libc_address(name: &CStr) -> usize {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: null asks for the first definition; the name is a C string.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) as usize }
}

#[test]
fn what_a_library_exports_it_also_finds() {
    let mut counted = 0;
    each(&mut |object| {
        if !object.holds(qsort as *const () as usize) {
            return;
        }
        object.exports(&mut |name, address| {
            let mut is_there = false;
            object.functions(name, &mut |symbol, _| {
                // SAFETY: a symbol of a library that is loaded.
                is_there |= object.base.wrapping_add(unsafe { (*symbol).value }) == address;
            });
            assert!(is_there, "{name:?}");
            counted += 1;
        });
    });
    assert!(counted > 1000, "{counted}");
}

#[test]
fn the_program_is_told_from_its_libraries() {
    assert!(is_in_program(is_in_program as *const () as usize));
    assert!(!is_in_program(qsort as *const () as usize) && !is_in_program(0));
    assert!(!program_has_runtime());
}

#[test]
fn a_name_that_nobody_has_is_not_found() {
    each(&mut |object| object.functions(c"no such function", &mut |_, _| panic!("found")));
}
