//! Caches of files: the program knows how many lines it wrote, and strace how many writes the kernel saw.

use super::*;

/// Lines of known lengths into a file, and writes of the kernel.
pub(super) fn calls_of_caches_are_the_program_s_and_the_kernel_s() {
    let program = compiled("caches/calls", "caches-calls", &["-pthread", "-fno-builtin", "-Wno-nonnull"]);
    let folder = scratch("figures-caches");
    let file = folder.join("w.out");
    let line = [text(&program), "write", text(&file), "3000"];
    let account = account("WORKFILE(*.out,,16)", &line);
    let length = fs::metadata(&file).expect("the file").len();
    exact(&account, Key::CacheCalls, 3000);
    exact(&account, Key::CacheBytes, length);
    exact(&account, Key::CacheNotWritten, 0);
    exact(&account, Key::CacheLeftPlain, 0);
    // Each write is as full as whole lines allow: at most 33 bytes of 16 KiB stay free.
    let least = length.div_ceil(16 << 10);
    let writes = account.get(Key::CacheKernelCalls);
    assert!((least..=least + 1).contains(&writes), "{writes} for {length} bytes");
    let appended = account_of_mode(&program, &file, "append");
    exact(&appended, Key::CacheLeftPlain, 1);
}

fn account_of_mode(program: &Path, file: &Path, mode: &str) -> Account {
    account("WORKFILE(*.out,,16)", &[text(program), mode, text(file), "10"])
}
