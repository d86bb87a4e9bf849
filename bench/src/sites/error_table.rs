//! The tables of errors, and the rows as CSV and JSON.

use super::errors::{Compared, Estimate, FIGURES, Row, summary};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The tables: for each program and sum its largest sites, and a summary.
pub fn text(compared: &[Compared]) -> String {
    let mut out = String::new();
    if compared.is_empty() {
        return out;
    }
    out.push_str(
        "\nErrors of estimates: heaptrack's exact sums, and what underbar heap said in its first run, MiB\n\
         Held: the intervals, of all runs, that have the exact sum in them. A site without a sample is not in the report: then it is what could be\n\
         unseen.\n",
    );
    for one in compared {
        let heading = format!("{}, {}", one.name, FIGURES[one.figure].1);
        let _ = writeln!(
            out,
            "\n  {heading:<46}{:>10}{:>10}  {:<22}{:>8}  held",
            "exact", "estimate", "interval", "error"
        );
        for row in std::iter::once(&one.total).chain(&one.rows) {
            out += &line(row);
        }
    }
    let _ = writeln!(
        out,
        "\n  {:<46}{:>10}{:>10}{:>10}{:>14}{:>15}",
        "Summary of the largest sites, all runs",
        "rows",
        "held",
        "unsampled",
        "median error",
        "largest error"
    );
    let mut sum = |name: &str, rows: &[&Row]| {
        let all = summary(rows.iter().copied());
        let share = all.held as f64 / all.estimates.max(1) as f64 * 100.0;
        let _ = writeln!(
            out,
            "  {name:<46}{:>10}{:>10}{:>10}{:>14}{:>15}",
            all.estimates,
            format!("{share:.0} %"),
            all.unsampled,
            percent(all.median),
            percent(all.largest)
        );
    };
    for one in compared {
        sum(&format!("{}, {}", one.name, FIGURES[one.figure].1), &one.rows.iter().collect::<Vec<_>>());
    }
    for (figure, (_, words)) in FIGURES.iter().enumerate() {
        let of_figure = compared.iter().filter(|one| one.figure == figure);
        sum(&format!("all programs, {words}"), &of_figure.flat_map(|one| &one.rows).collect::<Vec<_>>());
    }
    out
}

fn line(row: &Row) -> String {
    let name: String = row.site.chars().take(44).collect();
    let exact = mebibytes(row.exact as f64);
    let Some(first) = row.estimates.first() else { return String::new() };
    let interval = format!("[{}, {}]", mebibytes(first.low), mebibytes(first.high));
    let exact_sum = row.exact.max(1) as f64;
    let (estimate, error) = if first.is_sampled {
        (mebibytes(first.bytes), percent((first.bytes - exact_sum).abs() / exact_sum))
    } else {
        ("unsampled".to_owned(), "-".to_owned())
    };
    let held = format!("{} of {}", row.held(), row.estimates.len());
    format!("    {name:<44}{exact:>10}{estimate:>10}  {interval:<22}{error:>8}  {held}\n")
}

fn mebibytes(bytes: f64) -> String {
    let mib = bytes / 1_048_576.0;
    if mib < 100.0 { format!("{mib:.2}") } else { format!("{mib:.0}") }
}

fn percent(part: f64) -> String {
    if part.is_finite() { format!("{:.1} %", part * 100.0) } else { "-".to_owned() }
}

/// Every estimate, one a line.
pub fn csv(compared: &[Compared]) -> String {
    let mut out = String::from("program,sum,site,exact,run,estimate,low,high,held,sampled\n");
    for one in compared {
        for row in std::iter::once(&one.total).chain(&one.rows) {
            let site = row.site.replace('"', "\"\"");
            for (run, estimate) in row.estimates.iter().enumerate() {
                let _ = write!(out, "{},{},\"{site}\",{},{run},", one.name, FIGURES[one.figure].0, row.exact);
                let (bytes, low, high) = (estimate.bytes, estimate.low, estimate.high);
                let (held, is_sampled) = (estimate.holds(row.exact), estimate.is_sampled);
                let _ = writeln!(out, "{bytes:.0},{low:.0},{high:.0},{held},{is_sampled}");
            }
        }
    }
    out
}

/// For programs.
pub fn json(compared: &[Compared]) -> Vec<Value> {
    let row = |row: &Row| {
        let estimate = |one: &Estimate| {
            let held = one.holds(row.exact);
            json!({ "bytes": one.bytes, "low": one.low, "high": one.high, "held": held, "sampled": one.is_sampled })
        };
        let estimates: Vec<Value> = row.estimates.iter().map(estimate).collect();
        json!({ "site": row.site, "exact": row.exact, "estimates": estimates })
    };
    let one = |one: &Compared| {
        let all = summary(one.rows.iter());
        let number = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
        json!({
            "program": one.name, "sum": FIGURES[one.figure].0,
            "total": row(&one.total), "sites": one.rows.iter().map(row).collect::<Vec<Value>>(),
            "estimates": all.estimates, "held": all.held, "unsampled": all.unsampled,
            "median_error": number(all.median), "largest_error": number(all.largest),
        })
    };
    compared.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::super::errors::tests::compared;
    use super::{csv, json, text};

    #[test]
    fn every_row_is_in_every_form_and_one_without_samples_says_so() {
        let all = [compared()];
        let text = text(&all);
        for row in &all[0].rows {
            assert!(text.contains(&row.site), "{text}");
        }
        assert!(text.contains("unsampled") && text.contains("33 %"), "{text}");
        assert_eq!(csv(&all).lines().count(), 1 + 1 + all[0].rows.len());
        assert_eq!(json(&all)[0]["held"], 1);
    }
}
