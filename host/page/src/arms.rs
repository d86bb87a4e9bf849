//! Ratios of arms with their intervals: a dot with whiskers for each measure, and a dot for each run.
//!
//! ```text
//! CPU      ├───●───┤ |              0.912 [0.894, 0.931]   better
//! elapsed      ├──●──┼──┤           0.981 [0.963, 1.001]
//!         0.9        1        1.1   of the reference
//! ```
//!
//! Not here: decisions (`verdict`).

use underbar_ledger::Unit;
use underbar_report::units;
use underbar_verdict::compare::{Comparison, Estimate, Finding};
use underbar_verdict::plan::Arm;
use underbar_verdict::ratios::typical;
use underbar_verdict::sample::{Measure, Runs};

use crate::markup::{Column, Kind, table, text};
use crate::scale::short;

/// A comparison to show.
pub struct Arms<'a> {
    /// Its heading.
    pub title: String,
    /// Sentences about it: the verdict, as the text has it.
    pub words: Vec<String>,
    /// Each arm, and what it is.
    pub arms: Vec<(Arm, String)>,
    /// The comparisons, each with the same measures.
    pub comparisons: Vec<&'a Comparison>,
    /// All runs; the dots. None: a trial within one run, which its words describe.
    pub runs: Option<&'a Runs>,
}

/// The section; None without comparisons.
pub fn section(all: &[Arms<'_>]) -> Option<String> {
    let parts: Vec<String> = all.iter().enumerate().map(|(at, arms)| one(at, arms)).collect();
    (!parts.is_empty()).then(|| parts.concat())
}

fn one(number: usize, arms: &Arms<'_>) -> String {
    let mut html = format!("<h3>{}</h3>\n", text(&arms.title));
    for words in &arms.words {
        html += &format!("<p>{}</p>\n", text(words));
    }
    if !arms.arms.is_empty() {
        html += "<dl class=\"facts\">\n";
        for (arm, words) in &arms.arms {
            html += &format!("<dt>{}</dt><dd><code>{}</code></dd>\n", text(arm.name()), text(words));
        }
        html += "</dl>\n";
    }
    if !arms.comparisons.is_empty() {
        html += &ratios(&arms.comparisons);
    }
    html + &arms.runs.map_or(String::new(), |all| runs(number, all))
}

/// All ratios on one scale.
fn ratios(comparisons: &[&Comparison]) -> String {
    let ends =
        |estimate: &Estimate| estimate.finding.interval().map(|interval| (interval.low, interval.high));
    let all = comparisons.iter().flat_map(|comparison| comparison.estimates()).filter_map(ends);
    // The farthest end from 1, on a scale on which twice and half are equally far; between a fiftieth and eight times.
    let far =
        all.flat_map(|(low, high)| [low, high]).filter(|end| *end > 0.0).map(|end| libm::log(end).abs());
    let far = far.fold(0.02_f64, f64::max).min(libm::log(8.0)) * 1.08;
    let place = |ratio: f64| short(50.0 + 50.0 * (libm::log(ratio.max(1e-9)) / far).clamp(-1.0, 1.0));
    let columns = [
        Column::new("measure", Kind::Name),
        Column::new("arms", Kind::Words),
        Column::new("ratio [interval]", Kind::Figure),
        Column::new("less &larr; 1 &rarr; more", Kind::Picture),
        Column::new("finding", Kind::Words),
    ];
    let mut rows = Vec::new();
    for comparison in comparisons {
        for estimate in comparison.estimates() {
            let (class, finding) = match &estimate.finding {
                Finding::Better(_) => ("better", "better".to_owned()),
                Finding::Worse(_) => ("worse", "worse".to_owned()),
                Finding::Neither(_) => ("neither", "no difference shown".to_owned()),
                Finding::TooFew(few) => ("neither", few.to_string()),
                Finding::NoRatio { pairs } => {
                    ("neither", format!("zero in {}", units::counted(*pairs as u64, "pair", "pairs")))
                }
            };
            let interval = estimate.finding.interval();
            let drawn = interval.map_or(String::new(), |interval| {
                let (low, ratio, high) = (place(interval.low), place(interval.ratio), place(interval.high));
                format!(
                    "<svg class=\"whisker {class}\" aria-hidden=\"true\"><line class=\"one\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"22\"/>\
                     <line x1=\"{low}%\" x2=\"{high}%\" y1=\"11\" y2=\"11\"/><line x1=\"{low}%\" x2=\"{low}%\" y1=\"7\" y2=\"15\"/>\
                     <line x1=\"{high}%\" x2=\"{high}%\" y1=\"7\" y2=\"15\"/><circle cx=\"{ratio}%\" cy=\"11\" r=\"5\"/></svg>"
                )
            });
            let figures = interval.map_or("–".to_owned(), |interval| {
                format!("<span data-ratio=\"{}\">{}</span>", interval.ratio, text(&interval.to_string()))
            });
            rows.push(vec![
                estimate.measure.label().to_owned(),
                text(&format!("{}/{}", comparison.candidate, comparison.reference)),
                figures,
                drawn,
                format!("<span class=\"{class}\">{}</span>", text(&finding)),
            ]);
        }
    }
    table("Ratios with their intervals", &columns, &rows)
}

/// A dot for each run, by arm and measure.
fn runs(number: usize, runs: &Runs) -> String {
    let columns = [
        Column::new("measure", Kind::Name),
        Column::new("arm", Kind::Words),
        Column::new("median", Kind::Figure),
        Column::new("lowest", Kind::Figure),
        Column::new("highest", Kind::Figure),
        Column::new("each run", Kind::Picture),
    ];
    let mut rows = Vec::new();
    for measure in Measure::ALL {
        let unit = match measure {
            Measure::Cpu | Measure::Elapsed => Unit::Nanoseconds,
            Measure::PeakRss => Unit::Bytes,
            Measure::Faults => Unit::Count,
        };
        let of = |arm: Arm| -> Vec<u64> {
            let mut values: Vec<u64> =
                runs.of(arm).filter(|sample| sample.ended_well).map(|sample| sample.of(measure)).collect();
            values.sort_unstable();
            values
        };
        let all: Vec<u64> = runs.plan().arms().iter().flat_map(|&arm| of(arm)).collect();
        let (Some(&low), Some(&high)) = (all.iter().min(), all.iter().max()) else { continue };
        let place = |value: u64| short(2.0 + 96.0 * (value - low) as f64 / (high - low).max(1) as f64);
        for &arm in runs.plan().arms() {
            let values = of(arm);
            let (Some(&first), Some(&last)) = (values.first(), values.last()) else { continue };
            let Some(middle) = typical(values.iter().copied()) else { continue };
            let mut drawn = "<svg class=\"runs\" aria-hidden=\"true\"><line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"11\" y2=\"11\"/>".to_owned();
            for value in &values {
                drawn += &format!("<circle cx=\"{}%\" cy=\"11\" r=\"3.5\"/>", place(*value));
            }
            drawn += &format!(
                "<line class=\"middle\" x1=\"{0}%\" x2=\"{0}%\" y1=\"2\" y2=\"20\"/></svg>",
                place(middle)
            );
            let shown = |value: u64| format!("<data value=\"{value}\">{}</data>", units::figure(unit, value));
            rows.push(vec![
                measure.label().to_owned(),
                text(arm.name()),
                shown(middle),
                shown(first),
                shown(last),
                drawn,
            ]);
        }
    }
    format!(
        "<details{}><summary>Each run</summary>\n{}</details>\n",
        if number == 0 { " open" } else { "" },
        table("Runs by arm", &columns, &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_verdict::plan::Plan;
    use underbar_verdict::sample::Sample;

    #[test]
    fn the_middle_of_an_even_number_of_runs_is_the_lower_one() {
        let mut book = Runs::new(Plan::new(&[Arm::PLAIN, Arm::DEFAULT], 4, 1).expect("a plan"));
        for cpu_ns in [1_000, 2_000, 3_000, 4_000] {
            let sample = Sample {
                cpu_ns,
                elapsed_ns: 10,
                peak_rss_bytes: 10,
                faults: 10,
                ended_well: true,
                output: None,
            };
            book.record(&[sample, sample]).expect("a round of two");
        }
        let html = runs(0, &book);
        let row =
            html.lines().find(|line| line.starts_with("<tr>") && line.contains("plain")).expect("a row");
        let values: Vec<&str> =
            row.split("<data value=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(values, ["2000", "1000", "4000"], "{row}");
    }
}
