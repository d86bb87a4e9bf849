//! Builds the preload library, so that the command can carry it in itself: one file is enough.
//!
//! A nested Cargo builds it, into a separate target folder, since Cargo locks the outer one. `nested.rs` has the call.
//!
//! Result: the file named by the environment variable UNDERBAR_PRELOAD_FILE, and a hash of its bytes.
//!
//! The command is linked in a special way, since it starts for each run of a program:
//!
//! - For a fixed address: otherwise it would relocate some 5,000 pointers each time (`readelf --relocs` counts them). The
//!   programs that it runs are at their usual addresses.
//! - With the unwinder of backtraces in itself, if the C compiler has it: `libgcc_s.so` identifies the processor when it is
//!   loaded. In a virtual machine that takes some microseconds for each question, only for a backtrace that no run prints. A
//!   program that throws exceptions loads the library itself.
//! - With the functions of a run next to each other (`layout.ld`, written by `cargo xtask layout`): they are in a tenth of the
//!   pieces by which the kernel maps code. Not if the user chose the linker: not all linkers understand that file.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "Cargo reads what this prints")]

#[allow(dead_code, reason = "Cargo names the platform")]
mod nested;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let out = PathBuf::from(variable("OUT_DIR"));
    let target = nested::target(&out);
    for path in ["crates", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=nested.rs");

    if variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        carry_unwinder();
        if !is_linker_chosen() {
            let layout = here.join("layout.ld");
            println!("cargo::rerun-if-changed={}", layout.display());
            println!("cargo::rustc-link-arg-bins=-T{}", layout.display());
        }
    }

    let wanted = nested::Wanted {
        cargo: variable("CARGO").into(),
        root: &root,
        target: &target,
        triple: &variable("TARGET"),
        features: "artifact",
    };
    // CARGO_NET_OFFLINE reaches it by the environment. After these arguments come only those of rustc.
    match wanted.command().status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("building the preload library: {status}")),
        Err(error) => fail(&format!("starting Cargo for the preload library: {error}")),
    }

    let built = wanted.built();
    let file = out.join("libunderbar.so");
    let file = if nested::strip(&built, &file) { file } else { built };
    let bytes = fs::read(&file).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())));
    println!("cargo::rustc-env=UNDERBAR_PRELOAD_FILE={}", file.display());
    println!("cargo::rustc-env=UNDERBAR_PRELOAD_HASH={:016x}", hash(&bytes));
}

/// Puts a `libgcc_s.so` before the compiler's: a text that names the archive of the same functions. The compiler's is such a
/// text, too, so the linker takes it for the `-lgcc_s` that the standard library asks for.
fn carry_unwinder() {
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let compiler = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let answer = Command::new(compiler).arg("-print-file-name=libgcc_eh.a").output();
    let Ok(path) = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned()) else {
        return;
    };
    // A compiler without the archive repeats the name.
    if !Path::new(&path).is_absolute() || path.contains(char::is_whitespace) {
        return;
    }
    let folder = PathBuf::from(variable("OUT_DIR")).join("unwinder");
    let text = format!("GROUP ( {path} -lgcc -lc )\n");
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("libgcc_s.so"), text));
    written.unwrap_or_else(|error| fail(&format!("{}: {error}", folder.display())));
    println!("cargo::rustc-link-search=native={}", folder.display());
}

/// Did the user name a linker, by Cargo's settings or by flags of the compiler?
fn is_linker_chosen() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    env::var_os("RUSTC_LINKER").is_some() || ["linker", "fuse-ld"].iter().any(|word| flags.contains(word))
}

/// FNV-1a: it identifies builds and has no use in security.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| fail(&format!("{name}: {error}")))
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    exit(1)
}
