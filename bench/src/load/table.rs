//! The results of a run, for a person: medians, and ratios to `dlopen` with intervals. Losses have the same words as gains.

use super::Run;
use super::rows::{Row, SMALL};
use std::fmt::Write as _;
use underbar_loading::Role;

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "underbar bench load: {} rounds, {}", run.request.rounds, run.host);
    let _ = writeln!(
        out,
        "Medians of microseconds for LOAD, call and DELETE; dlopen, call and dlclose. Ratios to dlopen of the same program,\n\
         lower is better. VLF: images kept. LLA: directories kept; without it the library is searched each time."
    );
    let _ = writeln!(out, "Others used {:.0} % of the processors meanwhile.", run.others * 100.0);
    let mut heading = String::new();
    for (place, row) in run.rows.iter().enumerate() {
        let now = heading_of(row);
        if now != heading {
            let _ = writeln!(out, "\n{now:<44}{:>12}  to dlopen, 95 % interval", "us");
            heading = now;
        }
        let ratio = run
            .base(place)
            .filter(|base| *base != place)
            .map(|base| run.samples.against(place, base).ratio());
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio} {}", ratio.word()));
        let line = format!("  {:<42}{:>12.3}  {ratio}", row.way.about, run.samples.median(place));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// The block of a row.
fn heading_of(row: &Row) -> String {
    match row.library {
        Some(stored) if row.way.role == Role::Ours && (stored != SMALL || row.program.name == "tiny") => {
            format!("{}, {} of {} members", row.program.about, stored.organisation.text(), stored.members)
        }
        _ => {
            format!("{}, {} times", row.program.about, if row.program.name == "tiny" { 5_000 } else { 1_000 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::load::tests::run;

    #[test]
    fn losses_are_named_like_gains() {
        let text = text(&run(|row| {
            if row.way.name == "memfd" {
                60.0
            } else if row.way.name == "shared" {
                1.0
            } else {
                30.0
            }
        }));
        assert!(
            text.contains(
                "memfd, dlopen, dlclose                          60.000  2.000 [2.000, 2.000] loss"
            ),
            "{text}"
        );
        assert!(text.contains("0.033 [0.033, 0.033] gain"), "{text}");
    }
}
