//! The possible fates of an unused program: whether it can begin again.
//!
//! Libraries that a program needs keep data that the program gave them: options that its constructors registered, factories,
//! addresses of its functions. These libraries belong to the system's loader, and are not restored with the program. So a
//! program begins again
//!
//! ```text
//! from the pool               if it needs only the C runtime, or only libraries that the process itself needs
//! with all its dependencies   if dlclose gives these back: they are loaded anew each time
//! never                       if part of it stays forever: the program then stays too, as it was left
//! ```
//!
//! dlclose does the same in the last case: a library that stays is bound to the libraries loaded with it, and keeps them.
//!
//! Invariant: no program begins twice with a library that was loaded for it and has stayed.
//! Cost: nothing for programs that need only the C runtime; else an examination of the symbols of all dependencies.
//! Not here: the consequences (`table`).

use core::ffi::CStr;

use super::needed;
use crate::closure::{Libraries, PROCESS};
use crate::elf::{Dynamic, Tables};
use crate::error::{Error, Failure};
use crate::link_map::LinkMap;
use crate::system::Handle;

/// The fate of an unused program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// It can begin again any number of times.
    BeginsAgain,
    /// It begins again with the libraries that it needs: all of them are closed and opened anew.
    BeginsWithOthers,
    /// It begins once, and stays until the process ends: it requests this (DF_1_NODELETE), or a library that it needs stays.
    ForEver,
}

/// The fate of a program with these tables, for which these libraries were opened.
///
/// # Errors
/// The name of a library that it needs has no end, or there is no storage.
pub fn lasts(dynamic: &Dynamic, tables: &Tables<'_>, needed: &[Handle]) -> Result<Lasts, Failure> {
    if dynamic.is_kept {
        return Ok(Lasts::ForEver);
    }
    let mut needs_others = false;
    for at in dynamic.needed() {
        needs_others |= !is_runtime(needed::text(tables, *at)?);
    }
    if !needs_others {
        return Ok(Lasts::BeginsAgain);
    }
    let libraries = Libraries::marked(needed).map_err(Error::NoStorage)?;
    if !libraries.is_whole() {
        return Ok(Lasts::ForEver);
    }
    let is_there_anyway =
        |(map, marks): (&LinkMap, u8)| marks & PROCESS != 0 || map.soname().is_some_and(is_runtime);
    if libraries.opened().all(is_there_anyway) {
        return Ok(Lasts::BeginsAgain);
    }
    let mut symbols = (1..tables.count()).filter_map(|number| tables.symbol(number));
    let is_unique = symbols.any(|symbol| symbol.is_defined() && symbol.is_unique());
    let stays = || libraries.opened().any(|one| !is_there_anyway(one) && one.0.is_for_ever());
    Ok(if is_unique || stays() { Lasts::ForEver } else { Lasts::BeginsWithOthers })
}

/// The C and C++ runtime: it keeps no data of a program that the program's next start would query.
fn is_runtime(name: &CStr) -> bool {
    const RUNTIME: [&[u8]; 9] = [
        b"libc.so.6",
        b"libm.so.6",
        b"libpthread.so.0",
        b"libdl.so.2",
        b"librt.so.1",
        b"libutil.so.1",
        b"libgcc_s.so.1",
        b"libstdc++.so.6",
        b"ld-linux-x86-64.so.2",
    ];
    RUNTIME.contains(&name.to_bytes())
}
