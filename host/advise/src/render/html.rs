//! Advice as one page without scripts and without external files, in light and dark.
//!
//! ```text
//! Collected, Advice, option texts -> for each program: picture of sizes, suggestions with their evidence, text to set
//! ```
//!
//! Invariant: all text from a listing is escaped. The page has the content of `--json`, in the same words.
//! Not here: the picture (`picture`).

mod picture;

use std::fmt::Write as _;

use super::forms::Form;
use super::steps::Steps;
use super::{parameters, text, values};
use crate::advice::{Advice, Evidence, Kind};
use crate::listing::simulate::Tried;
use crate::listing::{Collected, areas, natural, run_again, settings};

const STYLE: &str = include_str!("html/page.css");

/// The whole page, with option texts in this form.
#[must_use]
pub fn page(
    collected: &Collected,
    advice: &[Advice],
    checks: &[Advice],
    what_if: &[Tried],
    form: Form,
) -> String {
    let (mut text, steps) = (String::new(), Steps::of(collected));
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Advice from listings</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>Advice from listings</h1>\n"
    );
    let set = advice.iter().filter(|advice| advice.suggested().is_some()).count();
    let files: Vec<String> =
        collected.files.iter().map(|file| format!("<code>{}</code>", escaped(file))).collect();
    let _ = writeln!(
        text,
        "<p>{} of {} findings set something. From {}.</p>\n</header>\n<main>",
        set,
        advice.len(),
        files.join(", ")
    );
    for name in collected.names() {
        program(&mut text, collected, (advice, &steps), form, &name);
    }
    for name in values::names(advice) {
        program(&mut text, collected, (advice, &steps), form, name);
    }
    let quoted = |words: String| format!("<pre>{}</pre>", escaped(words.trim_end()));
    list(&mut text, "What if", what_if.iter().map(|one| quoted(one.to_string())));
    list(&mut text, "Checks of option texts", checks.iter().map(|found| quoted(text::check(found))));
    let doubts = collected.doubts();
    let doubts =
        doubts.iter().map(|(place, why)| format!("<code>{}</code> {}", escaped(place), escaped(why)));
    list(&mut text, "Not certain, or not read", doubts);
    if collected.beyond > 0 {
        let _ = writeln!(text, "<p>Left out: {} more.</p>", collected.beyond);
    }
    text += "</main>\n<footer>\n<p>";
    let parameters = |advice: &&Advice| advice.option.as_ref().is_some_and(parameters::is_parameter);
    if advice.iter().any(|advice| parameters(&advice)) {
        text += &escaped(natural::NEXT.trim_end());
        text.push(' ');
    }
    if advice.iter().any(|advice| advice.option.is_some() && !parameters(&advice)) {
        text += &escaped(&run_again(collected));
        text += ": one run each, no interval. Not in these figures: storage got before options are read, heap managers of vendors, the reserve stack. ";
    }
    text += "<code>underbar explain RULE</code> says more of each rule.</p>\n</footer>\n</body>\n</html>\n";
    text
}

fn program(
    text: &mut String,
    collected: &Collected,
    (advice, steps): (&[Advice], &Steps<'_>),
    form: Form,
    name: &str,
) {
    let of: Vec<&Advice> = advice.iter().filter(|advice| advice.target == name).collect();
    let areas = areas(collected, advice, name);
    if of.is_empty() && areas.is_empty() {
        return;
    }
    let _ = writeln!(text, "<section>\n<h2>{}</h2>", escaped(name));
    let settings = settings(advice, name);
    if let Some(options) = steps.text(advice, name, &settings, form) {
        let _ = writeln!(text, "<h3>To set</h3>\n<pre>{}</pre>", escaped(options.trim_end()));
    } else if steps.is_linked(name) {
        text.push_str("<p>It runs in another program's step, whose options are its own, too.</p>\n");
    } else if let (Some((launcher, place)), Form::Parm) = (steps.launcher_of(name), form) {
        let place = text::place_of_options(place);
        let _ = writeln!(text, "<p>PARM of its step belongs to {}; {place}.</p>", escaped(launcher));
    } else if form == Form::Parm && steps.is_of_any(name) {
        let _ = writeln!(text, "<p>For {}: {}.</p>", escaped(name), text::OF_ANY);
    } else if !settings.is_empty() {
        text.push_str("<p>No setting can be written in the form asked for.</p>\n");
    }
    if let Some(values) = values::of(advice, name) {
        let _ = writeln!(
            text,
            "<h3>To set, as values: check each name and its unit with HELP</h3>\n<pre>{values}</pre>"
        );
    }
    text.push_str(&picture::of(&areas));
    if !of.is_empty() {
        text.push_str(
            "<h3>Suggestions</h3>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">What to do</th><th \
             scope=\"col\">Now</th><th scope=\"col\">Suggested</th><th scope=\"col\">Why, and on what evidence</th></tr></thead>\n",
        );
    }
    for advice in &of {
        row(text, advice);
    }
    if !of.is_empty() {
        text.push_str("</table>\n</div>\n");
    }
    text.push_str("</section>\n");
}

fn row(text: &mut String, advice: &Advice) {
    let class = match advice.kind {
        Kind::Raise => "raise",
        Kind::Lower => "lower",
        Kind::Change => "change",
        Kind::NoChange | Kind::NoAdvice => "still",
    };
    let still = if advice.kind == Kind::NoChange { "as it is" } else { "nothing is set" };
    let suggested = advice.suggested().map_or_else(
        || format!("<span class=\"still\">{still}</span>"),
        |suggested| format!("<code>{}</code>", broken(&suggested)),
    );
    let _ = writeln!(
        text,
        "<tbody><tr><th scope=\"row\"><span class=\"{class}\">{}</span><br><code class=\"rule\">{}</code></th><td \
         data-label=\"Now\"><code>{}</code></td><td data-label=\"Suggested\">{suggested}</td><td data-label=\"Why\"><p>{}</p>",
        advice.kind.word(),
        escaped(advice.rule),
        broken(&advice.now),
        escaped(&advice.reason)
    );
    if !advice.evidence.is_empty() {
        text.push_str("<ul class=\"evidence\">");
        for line in advice.evidence.iter().filter_map(Evidence::line) {
            let _ = write!(
                text,
                "<li><span class=\"where\">{}:{}</span> {}</li>",
                escaped(&line.file),
                line.line,
                escaped(&line.text)
            );
        }
        text.push_str("</ul>");
    }
    text.push_str("<dl>");
    let mut pair = |name: &str, words: &str| {
        let _ = write!(text, "<dt>{name}</dt><dd>{}</dd>", escaped(words));
    };
    if !advice.effect.is_empty() {
        pair("Effect", &advice.effect);
        pair("Risk", &advice.risk);
    }
    pair("Confidence", &advice.certainty);
    text.push_str("</dl></td></tr></tbody>\n");
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.map(|line| format!("<li>{line}</li>\n")).collect();
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "<section>\n<h2>{title}</h2>\n<ul class=\"doubts\">\n{}</ul>\n</section>",
            lines.concat()
        );
    }
}

/// Escaped, so that it is text in every context.
pub(super) fn escaped(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            c if c.is_control() && c != '\n' => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
    text
}

/// Escaped, with places to break a long option at its commas.
fn broken(words: &str) -> String {
    escaped(words).replace(',', ",<wbr>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise_listing;

    fn made(file: &str, text: &str) -> String {
        let mut collected = Collected::default();
        collected.file(file);
        for item in underbar_listing::read(text.as_bytes()) {
            collected.take(item);
        }
        let all = advise_listing(&collected);
        page(&collected, &all, &[], &[], Form::Ceeopts)
    }

    const REPORT: &str = "Storage Report for Enclave PAY<1> 11/20/26\nLanguage Environment V03 R01.00\n\n    HEAP statistics:\n      \
                          Initial size: 32768\n      Increment size: 32768\n      Total heap storage used (sugg. initial size): \
                          1187336\n      Successful Get Heap requests: 6034\n      Successful Free Heap requests: 6021\n      \
                          Number of segments allocated: 41\n      Number of segments freed: 0\nEnd of Storage Report\n";

    #[test]
    fn the_page_has_the_advice_and_the_picture() {
        let page = made("job.txt", REPORT);
        for part in
            ["<title>", "HEAP(1344K,<wbr>336K)", "job.txt:7", "<svg", "41 segments", "HEAP(1344K,336K)</pre>"]
        {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("<script") && !page.contains("http"), "nothing is run or fetched");
    }

    #[test]
    fn values_of_z_tpf_are_on_the_page() {
        let rows = "32  100  2.00%\n64  4850  97.00%\n128  50  1.00%\n";
        let text = format!("TPF ECB HEAP REQUEST SIZE REPORT\nCLASS UPPER  FREQUENCY  PERCENT\n{rows}");
        let page = made("reduction.txt", &text);
        for part in [
            "<code>HAVSZ1=32 HAVSZ2=64 HAVSZ3=128</code>",
            "HAVSZ1=32\nHAVSZ2=64\n",
            "check each name",
            "1 of 2 findings",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn every_element_is_closed() {
        let page = made("job.txt", &format!("{REPORT}MT=60,THSIZE=3000\n"));
        let without: Vec<&str> =
            page.split("<style>").flat_map(|part| part.split("</style>").last()).collect();
        let page = without.concat();
        for tag in [
            "section", "table", "tbody", "tr", "td", "th", "ul", "li", "dl", "svg", "text", "g", "code",
            "pre", "main",
        ] {
            let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            let closed = page.matches(&format!("</{tag}>")).count();
            assert_eq!(open, closed, "{tag}\n{page}");
        }
    }

    #[test]
    fn what_a_listing_holds_is_text_and_nothing_else() {
        let page = made("<b>\"x\".txt", REPORT);
        assert!(page.contains("PAY&lt;1&gt;") && !page.contains("PAY<1>"));
        assert!(page.contains("&lt;b&gt;&quot;x&quot;.txt") && !page.contains("<b>"));
    }
}
