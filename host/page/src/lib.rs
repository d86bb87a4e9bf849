//! One run, or one comparison, as one page for a browser: it needs nothing but itself.
//!
//! ```text
//! Report ────────┐    head          program, how it ended, machine, options
//! Advice ────────┤    suggestions   each next to its evidence
//! Comparisons ───┼──> over time, areas, request sizes, memory      pictures, each with its figures
//! Sites ─────────┘    call sites, locks, switches, programs, arms
//!                     all figures   each by its key
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `head` | program, machine, options, the first figures |
//! | `suggestions` | suggestions and their evidence |
//! | `course` | figures over time |
//! | `storage` | areas, and memory next to requests |
//! | `sizes` | requests by size, and sizes of cells |
//! | [`flame`], [`site_rows`] | call sites as a flame graph, and the largest of them with their intervals |
//! | `waits` | locks, and switches |
//! | `programs` | programs of the tree |
//! | [`arms`] | ratios with their intervals |
//! | `figures` | every figure by its key |
//! | `markup`, `scale`, `policy` | pieces of HTML; places in pictures; what a browser may do |
//!
//! Pictures are drawn here; the script only makes them answer (`page.js`), and the page can be read without it.
//!
//! Invariant: every figure on the page is one of the report, in the words of the text report, with its key and its exact value. Text of
//! others is escaped. The page names no address.
//! Not here: the figures themselves (`report`), suggestions (`advise`), decisions (`verdict`).
#![forbid(unsafe_code)]

pub mod arms;
pub mod course;
mod figures;
pub mod flame;
mod head;
mod markup;
mod policy;
mod programs;
mod scale;
pub mod site_rows;
mod sizes;
mod storage;
mod suggestions;
mod waits;

use underbar_advise::Advice;
use underbar_report::Report;

use arms::Arms;
use course::OtherRun;
use flame::Sites;
use markup::text;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The most bytes of a page that is meant to be mailed. Parts with a row for each process, lock or call end before it.
pub const MOST_BYTES: usize = 2 << 20;

/// What a page shows. Parts that are not there have no section.
#[derive(Default)]
pub struct Content<'a> {
    /// The command that was run, as its words.
    pub command: Vec<String>,
    /// The accounts of a run.
    pub report: Option<&'a Report>,
    /// Another run, of which the course over time is shown.
    pub other_run: Option<OtherRun<'a>>,
    /// The suggestions for the first.
    pub advice: &'a [Advice],
    /// Comparisons of several runs.
    pub arms: Vec<Arms<'a>>,
    /// Call sites.
    pub sites: Vec<Sites>,
    /// Sentences about all of them, such as how many samples there are.
    pub sites_notes: Vec<String>,
}

/// A section of the page.
struct Section {
    /// Its anchor.
    id: &'static str,
    /// Its heading.
    title: &'static str,
    /// Its HTML.
    html: String,
}

/// The whole page.
#[must_use]
pub fn render(content: &Content<'_>) -> String {
    let mut sections = Vec::new();
    let mut add = |id, title, html: Option<String>| {
        sections.extend(html.map(|html| Section { id, title, html }));
    };
    add("arms", "Comparisons", arms::section(&content.arms));
    if let Some(report) = content.report {
        add("suggestions", "Suggestions", suggestions::section(content.advice));
        add("course", "Over time", course::section(report, content.other_run.as_ref()));
        add("areas", "Storage areas", storage::areas(report, content.advice));
        add("sizes", "Request sizes", sizes::section(report));
        add("memory", "Memory next to requests", storage::memory(report));
    }
    add("sites", "Call sites", flame::section(&content.sites_notes, &content.sites));
    if let Some(report) = content.report {
        add("locks", "Locks", waits::locks(report));
        add("switches", "Switches", waits::switches(report));
        add("programs", "Programs", programs::section(report));
        add("figures", "All figures", figures::section(report));
    }
    let name = content.command.first().map_or("underbar", String::as_str);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"{}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" \
         content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{} – underbar</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the figures</a>\n",
        policy::policy(SCRIPT, STYLE),
        text(name)
    );
    page += &head::head(content);
    if sections.len() > 1 {
        page += &nav(&sections);
    }
    page += "<main id=\"main\" tabindex=\"-1\">\n";
    for Section { id, title, html } in &sections {
        page += &format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{html}</section>\n"
        );
    }
    page += "</main>\n<footer><p>Made by underbar. The page needs no network and makes no request. Each figure has a key: \
             <code>underbar explain KEY</code> tells what the figure means and how exact it is.</p></footer>\n";
    page += &format!("<script>{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

/// Links to the sections.
fn nav(sections: &[Section]) -> String {
    let link = |section: &Section| format!("<li><a href=\"#{}\">{}</a></li>\n", section.id, section.title);
    let links: String = sections.iter().map(link).collect();
    format!("<nav aria-label=\"Sections\"><ul>\n{links}</ul></nav>\n")
}

#[cfg(test)]
mod tests;
