//! The head of the page: program, how it ended, the first figures, the machine and the options.

use underbar_ledger::{Key, Unit};
use underbar_report::model::Report;
use underbar_report::units::{self, bytes, count, counted, share};
use underbar_report::{le, summary, timing};

use crate::Content;
use crate::markup::{figure, figure_or, text};

/// Characters of a command that the heading shows.
const LONGEST: usize = 400;

/// The head.
pub fn head(content: &Content<'_>) -> String {
    let words: String = content.command.join(" ").chars().take(LONGEST).collect();
    let end = content.report.map(timing::end_of);
    let mut html = format!("<header>\n<p class=\"product\">underbar</p>\n<h1>{}</h1>\n", text(&words));
    if let (Some(report), Some(end)) = (content.report, end) {
        let is_well = end == "exit 0" || report.run.end.is_none() && end != "killed";
        let tone = if is_well { "ended" } else { "ended badly" };
        let date = if report.run.started_unix_ns > 0 {
            format!(" · {}", le::iso_date(report))
        } else {
            String::new()
        };
        html += &format!("<p class=\"lead\"><span class=\"{tone}\">{}</span>{date}</p>\n", text(&end));
        html += &tiles(report);
        html += &facts(report);
    }
    html + "</header>\n"
}

/// The first figures: of the run, and of its program with the most memory, as in the text.
fn tiles(report: &Report) -> String {
    let mut tiles: Vec<(&str, String, String)> = Vec::new();
    if let Some(steps) = &report.steps {
        let user = figure("steps.user_ns", Unit::Nanoseconds, steps.user_ns);
        let system = figure("steps.system_ns", Unit::Nanoseconds, steps.system_ns);
        tiles.push((
            "elapsed",
            figure("steps.elapsed_ns", Unit::Nanoseconds, steps.elapsed_ns),
            format!("CPU {user} user, {system} system"),
        ));
        let faults = figure("steps.minor_faults", Unit::Count, steps.minor_faults);
        tiles.push((
            "peak resident",
            figure("steps.peak_resident_bytes", Unit::Bytes, steps.peak_resident_bytes),
            format!("{faults} page faults"),
        ));
    }
    let programs = report.programs();
    let leading = programs.first().map_or(&report.tree.counters, |leading| &leading.counters);
    let is_all = programs.len() <= 1;
    // Only the figures of the whole run are in the JSON by their keys.
    let of = |key: Key| match leading.known(key) {
        Some(value) if !is_all => text(&units::figure(key.entry().unit, value)),
        known => figure_or(key.entry().key, key.entry().unit, known, "not known"),
    };
    let segments = of(Key::HeapSegmentsAllocated);
    tiles.push(("heap, at most", of(Key::HeapUsedPeak), format!("{segments} segments")));
    tiles.push(("requests", of(Key::HeapGets), format!("{} frees", of(Key::HeapFrees))));
    let anonymous = leading.get(Key::CoverageAnonymous);
    if anonymous > 0 {
        let part = leading.get(Key::CoverageHeap).min(anonymous);
        let words = format!("of {} anonymous memory is in this heap", of(Key::CoverageAnonymous));
        tiles.push(("coverage", share(part, anonymous), words));
    }
    let mut html = "<dl class=\"tiles\">\n".to_owned();
    for (label, value, note) in tiles {
        html += &format!(
            "<div><dt>{label}</dt><dd class=\"big\">{value}</dd><dd class=\"small\">{note}</dd></div>\n"
        );
    }
    html + "</dl>\n"
}

/// The machine, the options, and what went wrong.
fn facts(report: &Report) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for (process, fault) in
        report.processes.iter().filter_map(|process| Some((process, process.fault.as_ref()?)))
    {
        rows.push((
            "fault",
            format!("<span class=\"badly\">{}: {}</span>", text(process.name()), text(&fault.words())),
        ));
    }
    let host = &report.host;
    let limit = host.memory_limit_bytes.map_or(String::new(), |limit| format!(", {} memory", bytes(limit)));
    let cores = counted(host.cores, "processor", "processors");
    rows.push(("machine", format!("{}, {cores}{limit}", text(&host.kernel))));
    let options = &report.options;
    let mut given = match options.text.trim() {
        "" => "none given".to_owned(),
        given => format!("<code>{}</code>", text(given)),
    };
    if options.has_le_defaults() {
        given += "; the defaults are those of Language Environment";
    }
    rows.push(("options", given));
    for error in &options.errors {
        rows.push((
            "option error",
            format!("<span class=\"badly\">{}</span>", text(error.lines().next().unwrap_or_default())),
        ));
    }
    let programs = report.programs();
    if let Some(words) = programs.first().and_then(|leading| summary::leading_words(leading, programs.len()))
    {
        rows.push(("heap of", text(&words)));
    }
    let tree = &report.tree;
    rows.push((
        "tree",
        format!(
            "{} {}, {} {}{}",
            figure("tree.processes", Unit::Count, tree.processes),
            if tree.processes == 1 { "process" } else { "processes" },
            figure("tree.programs", Unit::Count, tree.programs),
            if tree.programs == 1 { "program" } else { "programs" },
            if tree.unrecorded > 0 {
                format!(", {} without accounts", count(tree.unrecorded))
            } else {
                String::new()
            }
        ),
    ));
    rows.push(("underbar", text(&report.underbar)));
    let mut html = "<dl class=\"facts\">\n".to_owned();
    for (label, value) in rows {
        html += &format!("<dt>{label}</dt><dd>{value}</dd>\n");
    }
    html += "</dl>\n";
    if !options.in_force.is_empty() {
        html +=
            "<details><summary>Options in force, and where each was set</summary>\n<dl class=\"facts\">\n";
        for option in &options.in_force {
            html += &format!(
                "<dt>{}</dt><dd><code>{}</code></dd>\n",
                text(&option.where_set),
                text(&option.option)
            );
        }
        html += "</dl></details>\n";
    }
    html
}
