//! The meaning of a rule, a counter or a step figure, from the tables.

use underbar_ledger::sizes;
use underbar_report::diff::keys;
use underbar_report::gate::nearest;
use underbar_report::lock::columns::COLUMNS;
use underbar_report::manual;

use crate::rule::{Platform, Rule};
use crate::rules::{self, RULES};

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The requested name, cut to 80 characters.
    pub name: String,
    /// The nearest known name; None if no name is like it.
    pub nearest: Option<&'static str>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no rule or counter is called \"{}\"", self.name)?;
        self.nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean \"{nearest}\"?"))
    }
}

impl std::error::Error for Unknown {}

/// All names that can be explained here: rules, then figures.
pub fn names() -> impl Iterator<Item = &'static str> {
    let locks = COLUMNS.iter().map(|column| column.key).filter(|key| keys().all(|known| known != *key));
    // One name for all rows of requests by size.
    let figures = keys().filter(|key| sizes::find(key).is_none()).chain([manual::REQUEST_SIZES]);
    RULES.iter().map(|rule| rule.id).chain(figures).chain(locks)
}

/// Values set by rules with other names: those of z/TPF, and parameters of Natural and Adabas. `*`: a number.
const VALUES: [(&str, &str); 18] = [
    ("havsz*", "tpf-avl-size"),
    ("havl*", "tpf-avl-count"),
    ("avl*", "tpf-avl-size"),
    ("peh", "tpf-preallocated"),
    ("pwcsize", "natural-cache-size"),
    ("pcwsize", "natural-cache-size"),
    ("thsize", "natural-thread-size"),
    ("mt", "natural-time-limit"),
    ("sort", "natural-sort"),
    ("wrksize", "natural-sort"),
    ("mainpr", "natural-main-printer"),
    ("wpsize", "natural-work-pools"),
    ("multi-fetch", "natural-multi-fetch"),
    ("mfset", "natural-multi-fetch"),
    ("prefetch", "natural-prefetch"),
    ("prefsbl", "natural-prefetch"),
    ("preftbl", "natural-prefetch"),
    ("ziip", "natural-components"),
];

/// The rule that sets a value of this name, which may end with a number or with n, as in HAVSZ1 and HAVSZn.
fn setter(name: &str) -> Option<&'static str> {
    let name = name.trim_end_matches('=').to_ascii_lowercase();
    let stem = name.strip_suffix('n').unwrap_or_else(|| name.trim_end_matches(|c: char| c.is_ascii_digit()));
    let found = VALUES.iter().find(|(value, _)| match value.strip_suffix('*') {
        Some(value) => value == stem || value == name,
        None => *value == name,
    });
    found.map(|(_, rule)| *rule)
}

/// Explains a rule by its id, a figure by its key, or a value by the rule that sets it.
///
/// # Errors
/// Names the nearest known name if there is none of that name.
pub fn explain(name: &str) -> Result<String, Unknown> {
    if let Some(rule) = rules::find(name) {
        return Ok(rule.explained());
    }
    if let Some(text) = manual::explain(name) {
        return Ok(text);
    }
    if let Some(rule) = setter(name) {
        return Ok(format!("{}: a value of this rule:\n\n{}", name.to_ascii_uppercase(), explain(rule)?));
    }
    Err(Unknown { name: name.chars().take(80).collect(), nearest: nearest(name, names()) })
}

/// `docs/suggestions.md`.
#[must_use]
pub fn manual_page() -> String {
    let mut text = String::from(
        "# Suggestions\n\n\
         Each rule by which `underbar advise` and `underbar tune` arrive at a suggestion.\n\
         This page is made from the table in `host/advise`; a test keeps it equal to it.\n\
         Every suggestion names its rule; `underbar explain RULE` prints its section of this page.\n",
    );
    for platform in Platform::ALL {
        if let Some((title, words)) = chapter(platform) {
            text += &format!("\n# {title}\n\n{words}\n");
        }
        let first = |rule: &&Rule| rule.platforms.first() == Some(&platform) && !rule.is_check();
        text.extend(RULES.iter().filter(first).map(Rule::in_manual));
    }
    text.push_str("\n# Checks of option texts in listings\n\nThey set nothing; each names its lines.\n");
    text.extend(rules::checks().map(Rule::in_manual));
    text
}

/// The heading of a platform's rules in the manual, and the text before them. Those for Linux come first, without a heading.
fn chapter(platform: Platform) -> Option<(&'static str, &'static str)> {
    Some(match platform {
        Platform::Linux => return None,
        Platform::LanguageEnvironment => (
            "Advice from listings of Language Environment",
            "Each rule by which `underbar advise` arrives at an advice from a listing. Figures that are only likely, and\n\
             reports whose lines are mixed or cut, set nothing.",
        ),
        Platform::Natural => (
            "Advice from listings of Natural and Adabas",
            "The same for reports of buffers, parameters, tables of switches and clauses in programs.",
        ),
        Platform::Libraries => {
            ("Load libraries", "Rules of `underbar lib survey`, which reads libraries and lists of them.")
        }
        Platform::Ztpf => (
            "Advice from listings of z/TPF",
            "The advice is values by name, never a command: no public source has the syntax of ZCTKA.",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_explained() {
        for name in names() {
            assert!(explain(name).is_ok_and(|text| text.starts_with(name)), "{name}");
        }
    }

    #[test]
    fn values_lead_to_the_rules_that_set_them() {
        for (value, rule) in VALUES {
            let name = value.replace('*', "1");
            let text = explain(&name).unwrap_or_else(|unknown| panic!("{unknown}"));
            assert!(text.starts_with(&name.to_ascii_uppercase()) && text.contains(rule), "{text}");
        }
        assert!(explain("HAVSZn").is_ok_and(|text| text.contains("tpf-avl-size")));
        assert!(explain("havszx").is_err() && explain("peh1").is_err());
    }

    #[test]
    fn an_unknown_name_leads_to_the_nearest() {
        let unknown = explain("heap-sise").expect_err("no such rule");
        assert_eq!(
            unknown.to_string(),
            "no rule or counter is called \"heap-sise\"; did you mean \"heap-size\"?"
        );
        assert_eq!(
            explain("heap.segments_alocated").map_err(|e| e.nearest),
            Err(Some("heap.segments_allocated"))
        );
        assert_eq!(explain("faketime").map_err(|e| e.nearest), Err(None), "nothing is like it");
        assert!(explain(&"x".repeat(100_000)).is_err_and(|e| e.name.len() == 80));
    }

    #[test]
    fn the_shipped_page_is_this_one() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/suggestions.md");
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            std::fs::write(&path, manual_page()).expect("the page can be written");
        }
        let shipped = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            shipped == manual_page(),
            "{} is not what the table makes; UNDERBAR_BLESS=1 cargo test -p underbar-advise writes it",
            path.display()
        );
    }
}
