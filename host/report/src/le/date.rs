//! Dates as in headings: `11/20/26 10:15:07 AM`; as C prints them: `Fri Nov 20 10:15:07 2026`; as ISO 8601 writes them: `2026-11-20 10:15`.
//!
//! Invariant: a date comes from the report, in the local time of the host that made it.

use crate::model::Report;

/// The date and time of the run's start.
#[must_use]
pub fn date(report: &Report) -> String {
    date_after(report, 0)
}

/// The date and time this long after the run's start.
pub(super) fn date_after(report: &Report, nanoseconds: u64) -> String {
    date_and_time(local(report, nanoseconds))
}

/// Day and time of the run's start as Natural prints them: `2026-11-20` and `10:15:07`.
pub(crate) fn day_and_time(report: &Report) -> (String, String) {
    let seconds = local(report, 0);
    let [year, month, day] = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let time = format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
    (format!("{year:04}-{month:02}-{day:02}"), time)
}

/// Day and minute of the run's start, as `2026-11-20 10:15`.
#[must_use]
pub fn iso_date(report: &Report) -> String {
    let (day, time) = day_and_time(report);
    format!("{day} {}", time.get(..5).unwrap_or_default())
}

/// The same as C prints it.
pub(super) fn c_date_after(report: &Report, nanoseconds: u64) -> String {
    c_date(local(report, nanoseconds))
}

fn local(report: &Report, nanoseconds: u64) -> i64 {
    let seconds = report.run.started_unix_ns.saturating_add(nanoseconds) / 1_000_000_000;
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(report.host.utc_offset_seconds)
}

/// Seconds since 1970 as `Fri Nov 20 10:15:07 2026`.
fn c_date(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let [year, month, day] = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let name =
        |names: &[&'static str], at: i64| usize::try_from(at).ok().and_then(|at| names.get(at).copied());
    format!(
        "{} {} {day:>2} {:02}:{:02}:{:02} {year}",
        name(&DAYS, seconds.div_euclid(86_400).rem_euclid(7)).unwrap_or_default(),
        name(&MONTHS, month - 1).unwrap_or_default(),
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

/// Year, month and day, that many days after 1970 began. The calendar is Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> [i64; 3] {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    [era * 400 + year_of_era + i64::from(month <= 2), month, day]
}

/// Seconds since 1970 as `11/20/26 10:15:07 AM`.
fn date_and_time(seconds: i64) -> String {
    let [year, month, day] = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let hour = second / 3_600;
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
    format!(
        "{month:02}/{day:02}/{:02} {hour:02}:{:02}:{:02} {half}",
        year.rem_euclid(100),
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let check = |seconds, text: &str| assert_eq!(date_and_time(seconds), text);
        check(0, "01/01/70 12:00:00 AM");
        check(951_827_696, "02/29/00 12:34:56 PM");
        check(1_795_169_707, "11/20/26 10:15:07 AM");
        check(4_107_542_399, "02/28/00 11:59:59 PM");
        check(4_107_542_400, "03/01/00 12:00:00 AM");
        check(-1, "12/31/69 11:59:59 PM");
        assert_eq!(c_date(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(c_date(1_347_873_982), "Mon Sep 17 09:26:22 2012");
        assert_eq!(c_date(1_795_169_707), "Fri Nov 20 10:15:07 2026");
    }
}
