//! Findings of z/TPF, in short lines.

use std::fmt::{Result, Write};

use crate::model::ztpf::{Found, Frequencies, Profile, Table};
use crate::model::{Doubt, Figure};

/// Writes a finding in lines.
pub(crate) fn shown(found: &Found, text: &mut String) -> Result {
    match found {
        Found::Frequencies(found) => frequencies(found, text)?,
        Found::Lists(found) => {
            let part = |name: &str, value: &Option<String>| {
                value.as_ref().map_or(String::new(), |value| format!(", {name} {value}"))
            };
            let (first, last) = found.lines;
            let who = part("ECB", &found.ecb) + &part("main thread", &found.main) + &part("set", &found.set);
            writeln!(text, "lists of one ECB, lines {first} to {last}{who}")?;
            sizes(&found.sizes, text)?;
            for row in &found.rows {
                let list = row.list.map_or("other sizes".to_owned(), |list| format!("AVL{list}"));
                writeln!(
                    text,
                    "  {list}: dispensed {}, of these by shared lists {} and {}, by new storage {}; freed {}",
                    number(&row.dispensed),
                    number(&row.shared_31),
                    number(&row.shared_64),
                    number(&row.new_storage),
                    number(&row.freed)
                )?;
            }
            for (row, low, high) in &found.ecbs {
                writeln!(text, "  {row:?}: 31-bit {}, 64-bit {}", number(low), number(high))?;
            }
        }
        Found::SystemHeap(found) => {
            writeln!(text, "system heap, lines {} to {}", found.lines.0, found.lines.1)?;
            for (row, low, high) in &found.rows {
                let value = |figure: &Option<Figure>| figure.as_ref().map_or("none".to_owned(), number);
                writeln!(text, "  {row:?}: 31-bit {}, 64-bit {}", value(low), value(high))?;
            }
        }
        Found::Metrics(found) => {
            let (first, last) = found.lines;
            writeln!(text, "name-value pairs, lines {first} to {last}: {} rows", found.rows.len())?;
            for (line, changes) in found.steps().into_iter().take(20) {
                let changes: Vec<String> =
                    changes.iter().map(|(name, change)| format!("{name} {change}")).collect();
                writeln!(text, "  to line {line}: {}", changes.join(", "))?;
            }
        }
        Found::Profile(found) => profile(found, text)?,
        Found::Values(found) => {
            let values: Vec<String> =
                found.values.iter().map(|(name, figure)| format!("{name} {}", number(figure))).collect();
            writeln!(text, "values, line {}: {}", found.evidence.line, values.join(", "))?;
        }
    }
    for Doubt { line, words, .. } in found.doubts() {
        writeln!(text, "  line {line}: {words}")?;
    }
    Ok(())
}

fn frequencies(found: &Frequencies, text: &mut String) -> Result {
    let set = found.set.as_ref().map_or(String::new(), |set| format!(", set {set}"));
    let (first, last) = found.lines;
    let sound = if found.sound { "" } else { ", NOT SOUND" };
    writeln!(text, "{}, lines {first} to {last}{set}{sound}", found.table.title())?;
    if let Some(run) = &found.run {
        writeln!(text, "  {} (line {})", run.text, run.line)?;
    }
    sizes(&found.sizes, text)?;
    for row in &found.rows {
        let over = if row.over { "above" } else { "up to" };
        writeln!(text, "  {over} {}: {}", row.limit, number(&row.count))?;
    }
    let what = if found.table == Table::RequestSizes { "requests" } else { "ECBs" };
    match found.total {
        Some(total) if total.most == Some(total.least) => {
            writeln!(text, "  {what}: {} of {}", found.read(), total.least)
        }
        Some(total) => {
            let most = total.most.map_or("any number".to_owned(), |most| most.to_string());
            writeln!(text, "  {what}: {} of {} to {most}", found.read(), total.least)
        }
        None => Ok(()),
    }
}

fn profile(found: &Profile, text: &mut String) -> Result {
    writeln!(text, "instruction profile, lines {} to {}", found.lines.0, found.lines.1)?;
    let mut object = None;
    for sample in &found.samples {
        if object != Some(&sample.object) {
            object = Some(&sample.object);
            writeln!(text, "  {}", if sample.object.is_empty() { "(no object)" } else { &sample.object })?;
        }
        let at = sample.displacement.map_or("-".to_owned(), |at| format!("{at:x}"));
        writeln!(text, "    {at} {} {}", sample.mnemonic, number(&sample.count))?;
    }
    Ok(())
}

fn sizes(sizes: &[(u8, Figure)], text: &mut String) -> Result {
    let all: Vec<String> = sizes.iter().map(|(list, size)| format!("AVL{list} {}", number(size))).collect();
    if all.is_empty() { Ok(()) } else { writeln!(text, "  sizes: {}", all.join(", ")) }
}

fn number(figure: &Figure) -> String {
    format!("{}{}", figure.value, if figure.likely { "?" } else { "" })
}
