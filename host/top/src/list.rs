//! `underbar ls`: the ledgers that there are, with the processes in each, and those that processes have left.
//!
//! ```text
//! PROGRAM PROCESSES  SINCE      HEAP  RESIDENT LEDGER       OPTIONS   COMMAND
//! server  4711 +3     2h40   512 MiB   640 MiB 4711-5e3     HEAP(1M)  server --port 80
//! batch   left         1 d         -         - 4012-11a               batch
//! ```
//!
//! Invariant: one line for each ledger in which a process has, or had, accounts; each name in the column LEDGER is one that
//! `underbar report` and `underbar top` know.

use serde::Serialize;
use underbar_ledger::SlotView;
use underbar_report::units;

use crate::cells::{cells, plain};
use crate::columns::age;
use crate::glyphs::Glyphs;
use crate::layout::{Need, widths};
use crate::lines::line;
use crate::look::{Look, Row};
use crate::watch::{Watch, command_of, name_of, words};

/// Name and version of the form of a list in JSON. Within version 1, keys are only added.
pub const SCHEMA: &str = "underbar.ls/1";

/// The ledgers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct List {
    /// [`SCHEMA`].
    pub schema: String,
    /// When: nanoseconds since 1970-01-01 00:00 UTC.
    pub at_unix_ns: u64,
    /// The ledgers: those with running processes first, the oldest first.
    pub ledgers: Vec<Listed>,
}

/// One ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name, for `underbar report` and `underbar top`.
    pub ledger: String,
    /// Its file.
    pub file: String,
    /// The user whose it is.
    pub user: u32,
    /// `running`: a process runs in it; `left`: all have ended; `unreadable`: for the reason below.
    pub state: ListedState,
    /// The program that runs in it, the oldest of several; of a left one, the first that ran.
    pub program: String,
    /// The numbers of its running processes, the oldest first.
    pub processes: Vec<u32>,
    /// When the oldest of them, or the first program, began: nanoseconds since 1970.
    pub since_unix_ns: Option<u64>,
    /// Heap storage in use, of its running processes together.
    pub heap_used_bytes: Option<u64>,
    /// Their resident memory together; what they share counts for each.
    pub resident_bytes: Option<u64>,
    /// The options of the run.
    pub options: String,
    /// The arguments of the program, beginning with its own name, cut to the room in the ledger.
    pub command: Vec<String>,
    /// Why it cannot be read; null if it can.
    pub reason: Option<String>,
}

/// The state of a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    /// A process runs in it.
    #[default]
    Running,
    /// All of its processes have ended.
    Left,
    /// It is of another version, or damaged.
    Unreadable,
}

/// Lists what a watch finds.
#[must_use]
pub fn list(watch: &mut Watch) -> List {
    let look = watch.look();
    let mut ledgers: Vec<Listed> = watch
        .ledgers()
        .filter_map(|watched| {
            let mut listed = Listed {
                ledger: watched.name(),
                file: watched.path().to_string_lossy().into_owned(),
                user: watched.owner(),
                ..Listed::default()
            };
            let rows: Vec<&Row> = look.running().filter(|row| row.ledger == listed.ledger).collect();
            match watched.view() {
                Err(reason) => {
                    listed.state = ListedState::Unreadable;
                    listed.reason = Some(reason.to_string());
                }
                Ok(_) if !rows.is_empty() => listed.fill(&rows, &look),
                Ok(view) => {
                    // One without any is just being made, or its run keeps no accounts.
                    let first = view.slots().min_by_key(SlotView::started_ns)?;
                    listed.state = ListedState::Left;
                    listed.program = name_of(&first);
                    listed.command = command_of(&first);
                    listed.options = words(view.options().0);
                    listed.since_unix_ns = look.unix_ns(first.started_ns());
                }
            }
            Some(listed)
        })
        .collect();
    ledgers.sort_by(|a, b| (a.state, a.since_unix_ns, &a.ledger).cmp(&(b.state, b.since_unix_ns, &b.ledger)));
    List { schema: SCHEMA.to_owned(), at_unix_ns: look.at_unix_ns, ledgers }
}

impl Listed {
    fn fill(&mut self, rows: &[&Row], look: &Look) {
        let Some(first) = rows.first() else { return };
        self.program = first.program.clone();
        self.command = first.command.clone();
        self.options = first.options.clone();
        self.processes = rows.iter().map(|row| row.process).collect();
        self.since_unix_ns = look.unix_ns(first.began_ns);
        self.heap_used_bytes = Some(rows.iter().fold(0, |sum, row| sum.saturating_add(row.heap_used_bytes)));
        let resident: Vec<u64> = rows.iter().filter_map(|row| row.resident_bytes).collect();
        self.resident_bytes =
            (!resident.is_empty()).then(|| resident.into_iter().fold(0, u64::saturating_add));
    }
}

impl Look {
    /// A moment of CLOCK_BOOTTIME as one since 1970; None: it is not of this start of the machine.
    fn unix_ns(&self, at_ns: u64) -> Option<u64> {
        self.at_unix_ns.checked_sub(self.at_ns.checked_sub(at_ns)?)
    }
}

/// Ledgers without a running process that are listed; the others are counted. Daemons and tests may leave hundreds in a day.
const MOST_LEFT: usize = 10;

/// The list for people; without a limit nothing is cut. `with_left`: with all ledgers that were left, not only the last ones.
#[must_use]
pub fn render(list: &List, with_user: bool, with_left: bool, limit: Option<usize>, glyphs: Glyphs) -> String {
    let left = list.ledgers.iter().filter(|listed| listed.state == ListedState::Left).count();
    let left_out = if with_left { 0 } else { left.saturating_sub(MOST_LEFT) };
    // They are in the order of their start.
    let mut to_leave_out = left_out;
    let shown = list.ledgers.iter().filter(|listed| {
        let is_out = listed.state == ListedState::Left && to_leave_out > 0;
        to_leave_out -= usize::from(is_out);
        !is_out
    });
    let shown: Vec<&Listed> = shown.collect();
    let mut text = table(list.at_unix_ns, &shown, with_user, limit, glyphs);
    if left_out > 0 {
        let more = units::counted(left_out as u64, "older ledger was", "older ledgers were");
        text += &format!("{more} left by programs that have ended; --left lists all\n");
    }
    text
}

fn table(
    at_unix_ns: u64,
    ledgers: &[&Listed],
    with_user: bool,
    limit: Option<usize>,
    glyphs: Glyphs,
) -> String {
    /// Heading, is it a figure, importance.
    const COLUMNS: [(&str, bool, u8); 9] = [
        ("PROGRAM", false, 0),
        ("PROCESSES", false, 1),
        ("SINCE", true, 4),
        ("HEAP", true, 2),
        ("RESIDENT", true, 5),
        ("LEDGER", false, 3),
        ("USER", true, 6),
        ("OPTIONS", false, 8),
        ("COMMAND", false, 7),
    ];
    if ledgers.is_empty() {
        return "No program keeps accounts now, and none has left any.\n".to_owned();
    }
    let figure = |figure: Option<u64>| figure.map_or("-".to_owned(), units::bytes);
    let texts: Vec<Vec<String>> = ledgers
        .iter()
        .map(|listed| {
            let since = listed.since_unix_ns.map(|since| age(at_unix_ns.saturating_sub(since)));
            let command = listed.reason.clone().unwrap_or_else(|| listed.command.join(" "));
            let texts = [
                listed.program.clone(),
                listed.processes_in_words(),
                since.unwrap_or_else(|| "-".to_owned()),
                figure(listed.heap_used_bytes),
                figure(listed.resident_bytes),
                listed.ledger.clone(),
                listed.user.to_string(),
                listed.options.clone(),
                command,
            ];
            texts.iter().map(|text| plain(text, glyphs.is_unicode)).collect()
        })
        .collect();
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(|&at| with_user || COLUMNS[at].0 != "USER").collect();
    let needs: Vec<Need> = shown
        .iter()
        .map(|&at| {
            let (head, _, importance) = COLUMNS[at];
            let longest = texts.iter().map(|texts| cells(&texts[at])).max().unwrap_or(0).max(head.len());
            let is_cut = matches!(head, "PROGRAM" | "OPTIONS" | "COMMAND");
            Need { importance, least: if is_cut { longest.min(16) } else { longest }, most: longest }
        })
        .collect();
    let widths = widths(&needs, limit);
    let are_figures: Vec<bool> = shown.iter().map(|&at| COLUMNS[at].1).collect();
    let heads: Vec<String> = COLUMNS.iter().map(|(head, ..)| (*head).to_owned()).collect();
    let of_shown = |texts: &Vec<String>| shown.iter().map(|&at| texts[at].clone()).collect::<Vec<_>>();
    std::iter::once(&heads)
        .chain(&texts)
        .map(|texts| line(&of_shown(texts), &widths, &are_figures, glyphs))
        .collect()
}

impl Listed {
    fn processes_in_words(&self) -> String {
        match (self.state, self.processes.as_slice()) {
            (ListedState::Left, _) => "left".to_owned(),
            (ListedState::Unreadable, _) | (_, []) => "?".to_owned(),
            (_, [one]) => one.to_string(),
            (_, [first, others @ ..]) => format!("{first} +{}", others.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glyphs::{ASCII, BLOCKS};

    fn sample() -> List {
        let running = Listed {
            ledger: "4711-5e3".to_owned(),
            program: "ser\u{1b}[7mver".to_owned(),
            processes: vec![4711, 4712, 4713],
            since_unix_ns: Some(1_000_000_000),
            heap_used_bytes: Some(512 << 20),
            resident_bytes: Some(640 << 20),
            options: "HEAP(1M)".to_owned(),
            command: vec!["server".to_owned(), "--port\n80".to_owned()],
            ..Listed::default()
        };
        let left = Listed {
            ledger: "12-9".to_owned(),
            state: ListedState::Left,
            program: "batch".to_owned(),
            command: vec!["batch".to_owned()],
            ..Listed::default()
        };
        let reason = Some("another version".to_owned());
        let unreadable =
            Listed { ledger: "3-3".to_owned(), state: ListedState::Unreadable, reason, ..Listed::default() };
        List {
            schema: SCHEMA.to_owned(),
            at_unix_ns: 304_000_000_000,
            ledgers: vec![running, left, unreadable],
        }
    }

    #[test]
    fn a_line_for_each_ledger_and_nothing_steers() {
        let text = render(&sample(), false, false, None, BLOCKS);
        assert_eq!(
            text,
            "PROGRAM       PROCESSES SINCE    HEAP RESIDENT LEDGER   OPTIONS  COMMAND\n\
             ser\\x1b[7mver 4711 +2    5m03 512 MiB  640 MiB 4711-5e3 HEAP(1M) server --port\\n80\n\
             batch         left          -       -        - 12-9              batch\n\
             \x20             ?             -       -        - 3-3               another version\n"
        );
        for limit in [40, 60, 80, 120] {
            let text = render(&sample(), true, false, Some(limit), ASCII);
            assert!(text.lines().all(|line| cells(line) <= limit) && text.is_ascii(), "{limit}: {text}");
            assert!(text.contains("4711 +2") && text.contains("512 MiB"), "{limit}: {text}");
        }
        let left = |number: u64| Listed {
            program: format!("batch{number}"),
            state: ListedState::Left,
            since_unix_ns: Some(number),
            ..Listed::default()
        };
        let many = List { ledgers: (0..13).map(left).collect(), ..sample() };
        let text = render(&many, false, false, None, ASCII);
        assert!(
            text.ends_with("\n3 older ledgers were left by programs that have ended; --left lists all\n")
        );
        assert!(!text.contains("batch2 ") && text.contains("batch3 ") && text.contains("batch12"), "{text}");
        assert_eq!(render(&many, false, true, None, ASCII).lines().count(), 14);
        let none = List { ledgers: Vec::new(), ..sample() };
        assert!(render(&none, false, false, Some(80), ASCII).starts_with("No program keeps accounts"));
    }
}
