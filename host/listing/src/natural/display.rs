//! Findings of Natural, in short lines.

use std::fmt::Write as _;

use crate::model::{Doubt, Figure};

use crate::model::natural::{BufferUsage, Natural, ThreadUse};

/// In lines.
pub(crate) fn shown(found: &Natural) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = match found {
        Natural::Buffers(report) => buffers(&mut text, report),
        Natural::Parameters(parameters) => {
            let _ = writeln!(text, "{}, line {}", parameters.carrier.words(), parameters.evidence.line);
            for row in &parameters.rows {
                let _ = writeln!(text, "  line {}: {}={}", row.evidence.line, row.name, row.value);
            }
            doubts(&mut text, &parameters.doubts)
        }
        Natural::Switches(table) => {
            let first = table.evidence.first().map_or(0, |evidence| evidence.line);
            let _ = writeln!(text, "switches, line {first}, of {:?}", table.counted);
            for way in &table.ways {
                let cpu = way.cpu.map_or(String::new(), |cpu| format!(", {cpu} ms"));
                let _ = writeln!(text, "  {} records, {} switches{cpu}", way.records, way.switches);
            }
            Ok(())
        }
        Natural::Fetch(clause) => {
            writeln!(text, "multi-fetch, line {}: {:?}", clause.evidence.line, clause.factor)
        }
    };
    text
}

fn buffers(text: &mut String, report: &BufferUsage) -> std::fmt::Result {
    let user = report.user.as_deref().unwrap_or("(no user)");
    let date = report.date.as_deref().unwrap_or("(no date)");
    writeln!(text, "buffer usage of {user}, {date}, lines {} to {}", report.lines.0, report.lines.1)?;
    for row in &report.rows {
        let most = row.max_used.map_or(String::new(), |most| format!(", at most {most}"));
        writeln!(
            text,
            "  line {}: {} {} of {} bytes: used {}{most}",
            row.evidence.line, row.name, row.kind, row.size, row.used
        )?;
    }
    if let Some(ThreadUse { thread, total, used, max_used }) = &report.thread {
        let figure = |name: &str, figure: &Option<Figure>| match figure {
            Some(figure) => format!(" {name} {}{}", figure.value, if figure.likely { "?" } else { "" }),
            None => String::new(),
        };
        let all = figure("size", thread)
            + &figure("buffers", total)
            + &figure("used", used)
            + &figure("at most", max_used);
        writeln!(text, "  thread:{all}")?;
    }
    doubts(text, &report.doubts)
}

fn doubts(text: &mut String, doubts: &[Doubt]) -> std::fmt::Result {
    for doubt in doubts {
        writeln!(text, "  line {}: {}", doubt.line, doubt.words)?;
    }
    Ok(())
}
