//! Dates as in headings: `11/20/26 10:15:07 AM`.
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
    let seconds = report.run.started_unix_ns.saturating_add(nanoseconds) / 1_000_000_000;
    let local = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(report.host.utc_offset_seconds);
    date_and_time(local)
}

/// Seconds since 1970 as `11/20/26 10:15:07 AM`. The calendar is Howard Hinnant's `civil_from_days`.
fn date_and_time(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
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
    }
}
