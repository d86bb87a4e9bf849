//! Findings in short lines: for people who try a listing, and for tests.

use std::fmt::Write as _;

use crate::model::{Doubt, Item, OptionRow};

/// An item in lines.
#[must_use]
pub fn shown(item: &Item) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = match item {
        Item::Storage(report) => {
            let name = report.enclave.as_deref().unwrap_or("(no heading)");
            let date = report.date.as_deref().unwrap_or("(no date)");
            let _ = writeln!(
                text,
                "storage report of {name}, {date}, lines {} to {}",
                report.lines.0, report.lines.1
            );
            for section in &report.sections {
                let figures: Vec<String> = section
                    .figures
                    .iter()
                    .map(|(field, figure)| {
                        let mark = if figure.likely { "?" } else { "" };
                        format!("{field:?} {}{mark}", figure.value)
                    })
                    .collect();
                let _ = writeln!(
                    text,
                    "  {} (line {}): {}",
                    section.kind.title(),
                    section.heading.line,
                    figures.join(", ")
                );
            }
            for (from, to, figure) in &report.ranges {
                let _ = writeln!(text, "  requests of {from} to {to}: {}", figure.value);
            }
            if let Some(figure) = &report.larger_than_cells {
                let _ = writeln!(text, "  requests larger than cells: {}", figure.value);
            }
            for pool in &report.pools {
                let percent = pool.percent.map_or(String::new(), |percent| format!(", {percent} %"));
                let _ = writeln!(
                    text,
                    "  cells of {}{percent}: {} per extent, {} extents, {} used at most, {} at the end",
                    pool.cell, pool.cells_per_extent, pool.extents, pool.used_peak, pool.in_use
                );
            }
            if let Some(threads) = &report.threads {
                let _ = writeln!(text, "  threads: {}", threads.value);
            }
            doubts(&mut text, &report.doubts)
        }
        Item::Options(report) => {
            let name = report.enclave.as_deref().unwrap_or(if report.dump { "(dump)" } else { "(no name)" });
            let _ =
                writeln!(text, "options report of {name}, lines {} to {}", report.lines.0, report.lines.1);
            rows(&mut text, &report.rows);
            doubts(&mut text, &report.doubts)
        }
        Item::Text(option) => {
            let _ = writeln!(text, "option text {:?}, line {}", option.carrier, option.evidence.line);
            rows(&mut text, &option.rows);
            doubts(&mut text, &option.doubts)
        }
        Item::Step(step) => {
            let line = step.evidence.as_ref().map_or(0, |evidence| evidence.line);
            let time = |hundredths: u64| format!("{}.{:02} s", hundredths / 100, hundredths % 100);
            let elapsed =
                step.elapsed.map_or(String::new(), |elapsed| format!(", elapsed {}", time(elapsed)));
            let excp = step.excp.map_or(String::new(), |excp| format!(", {excp} EXCP"));
            let cpu = step.cpu.map_or(String::new(), time);
            writeln!(text, "step {}, line {line}: CPU {cpu}{elapsed}{excp}", step.names.join(" "))
        }
        Item::Parm(parm) => {
            let program = parm.program.as_deref().unwrap_or("(no program)");
            writeln!(
                text,
                "PARM of {program}, line {}: {:?}, options {:?}",
                parm.evidence.line, parm.arguments, parm.side
            )
        }
        Item::Region(region) => {
            let of = region.program.as_deref().unwrap_or("(no program)");
            let value = |name: &str, value: Option<u64>| match value {
                Some(u64::MAX) => format!(" {name} NOLIMIT"),
                Some(value) => format!(" {name} {value}"),
                None => String::new(),
            };
            let all = value("REGION", region.region)
                + &value("MEMLIMIT", region.memlimit)
                + &value("used above", region.used_above);
            writeln!(text, "region of {of}, line {}:{all}", region.evidence.line)
        }
        Item::Ztpf(found) => crate::ztpf::shown(found, &mut text),
        Item::Natural(found) => return crate::natural::shown(found),
        Item::Unread(unread) => writeln!(text, "line {}: {}", unread.evidence.line, unread.why),
    };
    text
}

fn rows(text: &mut String, rows: &[OptionRow]) {
    for row in rows {
        let no = if row.negative { "NO" } else { "" };
        let over = match row.overridable {
            Some(true) => " OVR",
            Some(false) => " NONOVR",
            None => "",
        };
        let source = if row.source.is_empty() { String::new() } else { format!(" from {}", row.source) };
        let _ =
            writeln!(text, "  line {}: {no}{}({}){over}{source}", row.evidence.line, row.name, row.values);
    }
}

fn doubts(text: &mut String, doubts: &[Doubt]) -> std::fmt::Result {
    for doubt in doubts {
        writeln!(text, "  line {}: {}", doubt.line, doubt.words)?;
    }
    Ok(())
}
