//! Pieces of HTML: escaped text, figures with their keys, tables, bars.
//!
//! ```text
//! text of others ── shown (no control characters) ── escaped (& < > " ') ──> between tags, or in an attribute with quotes
//! figure ── <data data-key="heap.gets" value="50002">50,002</data>
//! ```
//!
//! Invariant: text of a report, an option or a symbol becomes part of the page by [`text`] alone.
//! Not here: which figures there are, and scales of pictures (`scale`).

use underbar_ledger::Unit;
use underbar_report::units;

/// Text of others, for any place between tags or in an attribute with quotes.
pub fn text(words: &str) -> String {
    let words = underbar_shown::line(words);
    let mut safe = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            other => safe.push(other),
        }
    }
    safe
}

/// A figure by its key, in the words of the text report.
pub fn figure(key: &str, unit: Unit, value: u64) -> String {
    format!("<data data-key=\"{}\" value=\"{value}\">{}</data>", text(key), units::figure(unit, value))
}

/// The same; words in place of a figure that is not known.
pub fn figure_or(key: &str, unit: Unit, value: Option<u64>, words: &str) -> String {
    value.map_or_else(|| format!("<span class=\"unknown\">{words}</span>"), |value| figure(key, unit, value))
}

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// How its cells are set.
    pub kind: Kind,
}

/// How the cells of a column are set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words, to the left.
    Words,
    /// A name in the type of code; the head of its row.
    Name,
    /// The same for a name that may be long: it has the most room.
    LongName,
    /// A figure, to the right.
    Figure,
    /// A picture that takes the room that is left.
    Picture,
}

impl Column {
    /// A column of this head and kind.
    pub const fn new(head: &'static str, kind: Kind) -> Column {
        Column { head, kind }
    }
}

/// A table with a caption. Cells are HTML.
pub fn table(caption: &str, columns: &[Column], rows: &[Vec<String>]) -> String {
    // On a narrow page a row with a picture is a block of its own, and each cell has its head next to it.
    let is_pictured = columns.iter().any(|column| column.kind == Kind::Picture);
    let mut html = format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}>\n",
        text(caption),
        if is_pictured { " class=\"pictured\"" } else { "" }
    );
    html += &format!("<caption>{}</caption>\n<thead><tr>", text(caption));
    for column in columns {
        html += &format!("<th scope=\"col\" class=\"{}\">{}</th>", class(column.kind), column.head);
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        html += "<tr>";
        for (cell, column) in row.iter().zip(columns) {
            html += &match column.kind {
                kind @ (Kind::Name | Kind::LongName) => {
                    format!("<th scope=\"row\" class=\"{}\">{cell}</th>", class(kind))
                }
                Kind::Picture => format!("<td class=\"drawn\">{cell}</td>"),
                kind => format!("<td class=\"{}\" data-label=\"{}\">{cell}</td>", class(kind), column.head),
            };
        }
        html += "</tr>\n";
    }
    html += "</tbody></table></div>\n";
    html
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Words => "words",
        Kind::Name => "name",
        Kind::LongName => "name long",
        Kind::Figure => "number",
        Kind::Picture => "drawn",
    }
}

/// A bar of a part of the most, as a picture without words: the figure is next to it.
pub fn bar(part: u64, most: u64) -> String {
    let width = crate::scale::percent(part as f64, most as f64);
    format!(
        "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"track\" width=\"100%\" height=\"100%\"/><rect class=\"part\" \
         width=\"{width}%\" height=\"100%\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            text("</script><img src=x onerror='a(\"&\")'>\u{1b}\u{202e}"),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a(&quot;&amp;&quot;)&#39;&gt;\\x1b\\u{202e}"
        );
    }

    #[test]
    fn a_figure_has_its_key_its_value_and_its_words() {
        assert_eq!(
            figure("heap.gets", Unit::Count, 50_002),
            "<data data-key=\"heap.gets\" value=\"50002\">50,002</data>"
        );
        assert!(figure_or("stack.main", Unit::Bytes, None, "not measured").contains("not measured"));
    }
}
