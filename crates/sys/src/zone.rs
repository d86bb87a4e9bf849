//! The local time of this host, as the C library knows it: from TZ, and else from /etc/localtime.
//!
//! Invariant: if the C library does not know the local time, it is UTC.
//! Not here: calendars (`host/report`). Only the command uses this: the C library allocates here.

use core::ffi::{c_char, c_int, c_long};

/// The C library's `struct tm`.
#[repr(C)]
struct Broken {
    /// Seconds, minutes, hours, day, month, year, day of the week and of the year, summer time.
    parts: [c_int; 9],
    offset: c_long,
    name: *const c_char,
}

unsafe extern "C" {
    fn localtime_r(moment: *const i64, into: *mut Broken) -> *mut Broken;
}

/// The offset of local time from UTC in seconds at that moment, which is in seconds since 1970.
#[must_use]
pub fn utc_offset_seconds(moment: u64) -> i64 {
    let Ok(moment) = i64::try_from(moment) else { return 0 };
    let mut broken = Broken { parts: [0; 9], offset: 0, name: core::ptr::null() };
    // SAFETY: both point to values of this frame, and `Broken` has the layout of `struct tm` in glibc and musl on x86-64.
    let known = unsafe { localtime_r(&raw const moment, &raw mut broken) };
    if known.is_null() { 0 } else { broken.offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::string::String;
    use std::string::ToString;

    /// The output of `date`, for the same zone: that of the test's user.
    #[test]
    fn it_is_the_offset_that_date_prints() {
        let _turn = crate::process_wide();
        for moment in [0_u64, 951_827_696, 1_720_000_000, 1_795_169_707] {
            let output = Command::new("date").args(["-d", &std::format!("@{moment}"), "+%z"]).output();
            let said = String::from_utf8(output.expect("date runs").stdout).expect("text");
            let number: i64 = said.trim().parse().expect("as +0130");
            let seconds = number / 100 * 3600 + number % 100 * 60;
            assert_eq!(utc_offset_seconds(moment).to_string(), seconds.to_string(), "{moment}");
        }
        assert_eq!(utc_offset_seconds(u64::MAX), 0);
    }
}
