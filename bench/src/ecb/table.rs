//! The results of a run, for a person: for each row the arms with their medians, and the ratio of ECBs to each.

use super::Run;
use crate::ecb::rows::What;
use std::fmt::Write as _;

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "underbar bench ecb: {} rounds{}, seed {}, {}",
        run.request.rounds,
        if run.request.quick { " (quick)" } else { "" },
        run.request.seed,
        run.host
    );
    let _ = writeln!(
        out,
        "A heap for each unit of work. Medians; ratios of underbar's ECBs to each arm with 95 % intervals, lower is better.\n\
         An arena serves what it can: those that cannot free a piece, or change its size, do without. CPU of all threads.\n\
         Below arenas of others the C library's malloc keeps what it has; \"malloc, glibc\" is as it is by default.\n\
         Others used {:.0} % of the processors meanwhile.",
        run.others * 100.0
    );
    for (name, reason) in &run.missing {
        let _ = writeln!(out, "  - {name} NOT MEASURED: {reason}");
    }
    let _ = writeln!(out, "\nVersions");
    for arm in &run.arms {
        let _ = writeln!(out, "  {:<34} {}", arm.name, arm.version);
    }
    for row in 0..run.rows.len() {
        block(&mut out, run, row);
    }
    out
}

/// One row.
fn block(out: &mut String, run: &Run, row: usize) {
    let what = run.rows[row].what;
    let arms = run.arms_of(row);
    if arms.is_empty() {
        let _ = writeln!(out, "\n{}: NOT MEASURED", run.rows[row].about);
        return;
    }
    let _ = writeln!(out, "\n{}", run.rows[row].about);
    if what == What::Tls {
        caveat(out, run);
    }
    if what == What::Handshake {
        let _ = writeln!(out, "  {:.0} requests, as OpenSSL makes them", run.handshake_requests);
    }
    let ours = run.ours(row);
    for figure in run.rows[row].figures {
        let heading = format!("{}, {}", figure.heading, figure.unit);
        let _ = writeln!(out, "  {:<34}{:>12}  ECB to it", "", heading);
        let best = run.best(row, figure);
        for &arm in &arms {
            let ratio =
                ours.filter(|ours| *ours != arm).map(|ours| run.against(row, figure, ours, arm).ratio());
            let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio} {}", ratio.word()));
            let mark = if best == Some(arm) { "  (the best of the others)" } else { "" };
            let width = 12.max(heading.len());
            let line = format!(
                "  {:<34}{:>width$.3}  {ratio}{mark}",
                run.arms[arm].name,
                run.median(row, arm, figure)
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    if what == What::Threads {
        calls(out, run);
    }
}

/// What a heap can gain with TLS, before any figure of it.
fn caveat(out: &mut String, run: &Run) {
    match &run.share {
        Ok(share) => {
            let _ = writeln!(
                out,
                "  The heap's share of the instructions, over the C library's malloc: {:.1} % of a handshake, {:.1} % of a message.\n  \
                 No heap can gain more than its share.",
                share.handshake * 100.0,
                share.message * 100.0
            );
        }
        Err(why) => {
            let _ = writeln!(out, "  The heap's share of the instructions: NOT MEASURED: {why}");
        }
    }
    let _ = writeln!(
        out,
        "  The driver contains no business logic to process messages, as the document says of its own: mileage varies."
    );
}

/// The kernel calls of threads in one arena.
fn calls(out: &mut String, run: &Run) {
    match &run.calls {
        Ok(all) => {
            for (arm, calls) in all {
                let _ = writeln!(
                    out,
                    "  {:<34} {} kernel calls in {} more turns",
                    run.arms[*arm].name, calls.calls, calls.turns
                );
            }
        }
        Err(why) => {
            let _ = writeln!(out, "  kernel calls: NOT COUNTED: {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::ecb::tests::run;

    #[test]
    fn losses_are_named_like_gains_and_the_missing_are_named() {
        let text = text(&run([20, 5, 10]));
        assert!(text.contains("0.500 [0.500, 0.500] gain"), "{text}");
        assert!(text.contains("2.000 [2.000, 2.000] loss  (the best of the others)"), "{text}");
        assert!(text.contains("talloc NOT MEASURED: apt-get install"), "{text}");
        assert!(
            text.contains("NOT MEASURED: no valgrind") && text.contains("NOT COUNTED: no strace"),
            "{text}"
        );
    }
}
