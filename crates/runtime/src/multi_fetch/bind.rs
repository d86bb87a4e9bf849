//! The words of the program and of its libraries for functions of libpq.
//!
//! Invariant: a word that is changed held, or would get, the address of libpq's function of that name, which was remembered before; then
//! it holds that of the function here.
//! Not here: the functions.

use core::ffi::CStr;
use core::sync::atomic::Ordering;

use super::{
    ORIGINALS, enter_pipeline, exec, exec_params, finish, get_result, only_counts, prepare, reset,
    reset_start, send, send_params, send_prepare,
};
use crate::by_caller;
use crate::deepbind;
use crate::loaded;
use crate::sandbox;

/// How many names there are.
pub(super) const NAMES: usize = 11;

// The places of the names.
pub(super) const EXEC: usize = 0;
pub(super) const EXEC_PARAMS: usize = 1;
pub(super) const PREPARE: usize = 2;
pub(super) const SEND_PREPARE: usize = 3;
pub(super) const SEND: usize = 4;
pub(super) const SEND_PARAMS: usize = 5;
pub(super) const ENTER_PIPELINE: usize = 6;
pub(super) const FINISH: usize = 7;
pub(super) const RESET: usize = 8;
pub(super) const RESET_START: usize = 9;
pub(super) const GET_RESULT: usize = 10;

/// The names with the functions here.
fn functions() -> [(&'static CStr, usize); NAMES] {
    [
        (c"PQexec", exec as *const () as usize),
        (c"PQexecParams", exec_params as *const () as usize),
        (c"PQprepare", prepare as *const () as usize),
        (c"PQsendPrepare", send_prepare as *const () as usize),
        (c"PQsendQuery", send as *const () as usize),
        (c"PQsendQueryParams", send_params as *const () as usize),
        (c"PQenterPipelineMode", enter_pipeline as *const () as usize),
        (c"PQfinish", finish as *const () as usize),
        (c"PQreset", reset as *const () as usize),
        (c"PQresetStart", reset_start as *const () as usize),
        (c"PQgetResult", get_result as *const () as usize),
    ]
}

/// Binds all libraries that are loaded, and those that come later.
pub(super) fn bind() {
    by_caller::also(bind_loaded);
}

/// Binds what is loaded now. Does nothing if another thread binds words.
pub(super) fn bind_once() {
    if !sandbox::is_closed() {
        deepbind::under_lock(0, bind_loaded);
    }
}

/// Names that are enough to count: the first two.
const COUNTING: usize = EXEC_PARAMS + 1;

/// Under the lock of `deepbind`.
fn bind_loaded() {
    let functions = functions();
    let functions = if only_counts() { &functions[..COUNTING] } else { &functions[..] };
    // libpq, by the name that only it defines.
    let mut libpq = None;
    loaded::each_until(&mut |object| {
        object.functions(functions[EXEC].0, &mut |_, is_default| {
            if is_default {
                libpq = Some(*object);
            }
        });
        libpq.is_some()
    });
    let Some(libpq) = libpq else { return };
    for ((name, _), original) in functions.iter().zip(&ORIGINALS) {
        libpq.functions(name, &mut |symbol, is_default| {
            if is_default {
                // SAFETY: a symbol of a library that is loaded.
                original.store(libpq.base.wrapping_add(unsafe { (*symbol).value }), Ordering::Release);
            }
        });
    }
    loaded::each(&mut |object| {
        if object.base == libpq.base {
            // What libpq does for itself is no statement of the program.
            return;
        }
        let value = |name: &CStr, word: usize| {
            functions.iter().zip(&ORIGINALS).find_map(|((known, ours), original)| {
                let original = original.load(Ordering::Relaxed);
                (original != 0 && (word == original || *known == name)).then_some((*ours, original))
            })
        };
        by_caller::change(object, &mut |reference| {
            let word = reference.word.load(Ordering::Relaxed);
            let is_relocated = word >= object.size();
            let is_left_for_later = reference.is_of_call && object.holds(word) && word != reference.own;
            let (ours, original) = value(reference.name, word)?;
            (word == original || is_relocated && is_left_for_later).then_some(ours)
        });
    });
}
