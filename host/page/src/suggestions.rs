//! Suggestions, each next to its evidence.
//!
//! Not here: the rules (`advise`).

use underbar_advise::{Advice, Evidence, Kind};

use crate::markup::text;

/// The section; None without suggestions.
pub fn section(advice: &[Advice]) -> Option<String> {
    if advice.is_empty() {
        return None;
    }
    let (set, kept): (Vec<&Advice>, Vec<&Advice>) = advice.iter().partition(|one| one.suggested().is_some());
    let mut html = String::new();
    if set.is_empty() {
        html += "<p class=\"lead\">Nothing to change.</p>\n";
    }
    set.iter().for_each(|one| html += &card(one));
    if !kept.is_empty() {
        html += &format!("<details><summary>Settings that stay, and why ({})</summary>\n", kept.len());
        kept.iter().for_each(|one| html += &card(one));
        html += "</details>\n";
    }
    Some(html)
}

fn card(advice: &Advice) -> String {
    let kind = match advice.kind {
        Kind::Raise => "raise",
        Kind::Lower => "lower",
        Kind::Change => "change",
        Kind::NoChange | Kind::NoAdvice => "still",
    };
    let option = advice
        .suggested()
        .map_or(String::new(), |option| format!("<code class=\"option\">{}</code>", text(&option)));
    let risky = if advice.risky { " <span class=\"mark\">risky</span>" } else { "" };
    let idle = if advice.acts { "" } else { " <span class=\"mark\">no effect on Linux</span>" };
    let mut html = format!(
        "<article class=\"advice\" data-rule=\"{}\">\n<h3>{option} <span class=\"way {kind}\">{}</span> <span class=\"of\">{}</span>{risky}{idle}</h3>\n",
        text(advice.rule),
        advice.kind.word(),
        text(&advice.target)
    );
    html += &format!("<p>{}</p>\n<dl>\n", text(&advice.reason));
    let mut row = |label: &str, value: &str| {
        if !value.is_empty() {
            html += &format!("<dt>{label}</dt><dd>{}</dd>\n", text(value));
        }
    };
    if advice.suggested().is_some() {
        row("now", &advice.now);
        row("effect", &advice.effect);
        row("risk", &advice.risk);
        row("until", advice.stop);
    }
    html += "<dt>evidence</dt><dd><ul class=\"evidence\">\n";
    for evidence in &advice.evidence {
        html += &format!("<li>{}</li>\n", one(evidence));
    }
    html += &format!("<li class=\"rule\">rule {}</li></ul></dd>\n</dl></article>\n", text(advice.rule));
    html
}

/// A piece of evidence: the figure with its exact value, in the words of `advise`.
fn one(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Counter { key, figure } => {
            let words = evidence.to_string();
            let words = words.strip_prefix(key).unwrap_or(&words).trim();
            format!(
                "<code>{}</code> <data data-evidence=\"{}\" value=\"{figure}\">{}</data>",
                text(key),
                text(key),
                text(words)
            )
        }
        Evidence::Line(_) => text(&evidence.to_string()),
    }
}
