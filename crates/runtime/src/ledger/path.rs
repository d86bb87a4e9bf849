//! Which ledger this process writes to: the one that the environment names, or one that MSGFILE names and that is made here.
//!
//! Invariant: if neither names one, the process runs without.
//! Not here: moving into it (`attach`).

use core::ffi::CStr;
use core::sync::atomic::Ordering;

use underbar_preloadable::LEDGER;
use underbar_sys::syscall;

use super::{attach, own_reads};
use crate::ledger;
use crate::orders::Orders;

/// Finds the ledger, if accounts are requested, and records in the slot the number of complaints about the options.
pub(crate) fn configure(orders: &Orders<'_>) {
    if orders.is_accounted {
        find(orders);
    }
    ledger::slot().option_errors.store(orders.errors, Ordering::Relaxed);
}

fn find(orders: &Orders<'_>) {
    if let Some(path) = orders.environment.value_c(LEDGER) {
        attach::attach(path);
        return;
    }
    let mut host = [0; 64];
    let mut room = [0; 512];
    if let Some(pattern) = orders.settings.message_file()
        && let Some(length) = pattern
            .fill_in(syscall::getpid() as u32, orders.program, host_name(&mut host), &mut room[..511])
            .map(<[u8]>::len)
        && let Ok(path) = CStr::from_bytes_until_nul(&room[..=length])
    {
        attach::make(path, orders.text);
    }
}

fn host_name(room: &mut [u8]) -> &[u8] {
    let Ok(fd) = syscall::open(c"/proc/sys/kernel/hostname", syscall::O_RDONLY | syscall::O_CLOEXEC, 0)
    else {
        return b"";
    };
    let length = own_reads::read(fd, room).unwrap_or(0);
    let _ = syscall::close(fd);
    room.get(..length).unwrap_or_default().trim_ascii()
}
