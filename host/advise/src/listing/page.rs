//! Advice from listings as one page of HTML: a picture of sizes, the option text, each advice with its reasons.
//!
//! Invariant: the page is whole in itself (no script, nothing fetched), and every word that comes from a listing is escaped.
//! Not here: what is advised; the page says the same as the printed form.

use std::fmt::Write as _;

use underbar_listing::Field;

use super::collect::{Collected, Program};
use super::simulate::Tried;
use super::sizes::written;
use super::{Advice, Form, Lint, settings, ztpf};

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}\
pre{background:#f4f4f4;padding:1em;overflow:auto}h2{border-bottom:1px solid #ccc}dt{font-weight:600}\
.bar{display:grid;grid-template-columns:10em 1fr 16em;gap:.6em;align-items:center;font-size:.9em}\
.room{background:#ddd;height:1em;position:relative}.used{background:#2a6f97;height:1em}.over{background:#c1121f}\
.kind{display:inline-block;min-width:6em;font-weight:600}.evidence{font-family:monospace;font-size:.85em}";

/// The page.
#[must_use]
pub fn page(
    collected: &Collected,
    advice: &[Advice],
    lints: &[Lint],
    what_if: &[Tried],
    form: Form,
) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Advice from listings</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>Advice from listings</h1>\n<p>{}</p>\n",
        escaped(&collected.files.join(", "))
    );
    // Writing to a string cannot fail.
    for program in &collected.programs {
        one(&mut text, program, advice, form);
    }
    for name in ztpf::names(advice) {
        let _ = writeln!(text, "<h2>{}</h2>", escaped(name));
        each(&mut text, name, advice);
    }
    if let Some(values) = ztpf::values_text(advice) {
        let _ = writeln!(text, "<pre>{}</pre>", escaped(&values));
    }
    for one in what_if {
        let _ = writeln!(text, "<h2>What if</h2><pre>{}</pre>", escaped(&one.to_string()));
    }
    if !lints.is_empty() {
        text.push_str("<h2>About option texts</h2>\n<pre>");
        lints.iter().for_each(|lint| text.push_str(&escaped(&lint.to_string())));
        text.push_str("</pre>\n");
    }
    if !collected.unread.is_empty() {
        text.push_str("<h2>Not certain, or not read</h2>\n<ul>\n");
        for (file, line, why) in &collected.unread {
            let file = collected.files.get(*file).map_or("", String::as_str);
            let _ = writeln!(text, "<li>{}:{line}: {}</li>", escaped(file), escaped(why));
        }
        text.push_str("</ul>\n");
    }
    text.push_str(
        "<p>Not in these figures: storage got before options are read, heap managers of vendors, the reserve stack. After a \
         change run it once more with RPTSTG(ON) and compare: one run each, no interval.</p>\n</body></html>\n",
    );
    text
}

fn one(text: &mut String, program: &Program, advice: &[Advice], form: Form) {
    let _ = writeln!(text, "<h2>{}</h2>", escaped(&program.name));
    bars(text, program);
    if let Some(options) = form.text(&settings(advice, &program.name)) {
        let _ = writeln!(text, "<pre>{}</pre>", escaped(&options));
    }
    each(text, &program.name, advice);
}

fn each(text: &mut String, name: &str, advice: &[Advice]) {
    for advice in advice.iter().filter(|advice| advice.program == name) {
        let suggested =
            advice.suggested().map_or(String::new(), |suggested| format!(" &rarr; {}", escaped(&suggested)));
        let _ = write!(
            text,
            "<details{}><summary><span class=\"kind\">{}</span> {}{suggested}</summary>\n<dl><dt>Why</dt><dd>{}</dd>\n",
            if advice.suggested().is_some() { " open" } else { "" },
            advice.kind.word(),
            escaped(&advice.now),
            escaped(&advice.reason)
        );
        text.push_str("<dt>Evidence</dt>");
        for line in &advice.evidence {
            let _ = writeln!(
                text,
                "<dd class=\"evidence\">{}:{}: {}</dd>",
                escaped(&line.file),
                line.line,
                escaped(&line.text)
            );
        }
        if !advice.effect.is_empty() {
            let _ = writeln!(
                text,
                "<dt>Effect</dt><dd>{}</dd><dt>Risk</dt><dd>{}</dd>",
                escaped(&advice.effect),
                escaped(&advice.risk)
            );
        }
        let _ = writeln!(
            text,
            "<dt>Confidence</dt><dd>{}</dd><dt>Rule</dt><dd>{}</dd></dl></details>",
            escaped(&advice.confidence),
            advice.rule
        );
    }
}

/// Initial sizes and what was used of them, of the last run that can be trusted.
fn bars(text: &mut String, program: &Program) {
    let Some(run) = program.runs.iter().rfind(|run| run.report.is_sound()) else { return };
    let sizes: Vec<(&str, u64, u64)> = run
        .report
        .sections
        .iter()
        .filter_map(|section| {
            let used = section.get(Field::Total).or_else(|| section.get(Field::AnyThread))?.value;
            Some((section.kind.title(), section.get(Field::Initial)?.value, used))
        })
        .filter(|(_, _, used)| *used > 0)
        .collect();
    for (title, initial, used) in sizes {
        let most = initial.max(used).max(1);
        let share = |bytes: u64| 100.0 * bytes as f64 / most as f64;
        let _ = writeln!(
            text,
            "<div class=\"bar\"><span>{title}</span><span class=\"room\" style=\"width:{:.1}%\"><span class=\"used{}\" \
             style=\"display:block;width:{:.1}%\"></span></span><span>{} used, {} initial</span></div>",
            100.0,
            if used > initial { " over" } else { "" },
            share(used),
            written(used),
            written(initial)
        );
    }
}

/// Text between tags.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_a_listing_is_escaped() {
        let mut collected = Collected::default();
        collected.file("<b>job</b>");
        let text = "Storage Report for Enclave <script>alert(1)</script> x\n\n    HEAP statistics:\n      Initial size: 32768\n      \
                    Increment size: 32768\n      Total heap storage used (sugg. initial size): 900000\n      Number of segments \
                    allocated: 40\nEnd of Storage Report\n";
        for item in underbar_listing::read(text.as_bytes()) {
            collected.take(item);
        }
        let advice = super::super::advise_listing(&collected);
        let page = page(&collected, &advice, &[], &[], Form::Ceeopts);
        assert!(!page.contains("<script") && !page.contains("<b>job"), "{page}");
        assert!(page.contains("<pre>HEAP(992K,248K)\n</pre>"), "{page}");
        assert!(page.contains("900000 bytes used in one run"));
        let open = page.matches("<details").count();
        assert_eq!((open, page.matches("</details>").count()), (1, 1));
    }
}
