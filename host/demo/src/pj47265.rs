//! `demo pj47265`: each item of the document's list, measured by leaving it out.
//!
//! ```text
//! item      with     without      the same work, once with the item and once under ECB(WITHOUT(item)), in turns
//! ```
//!
//! Leaving out needs places in the paths of requests where the other way is taken. They are on the slow path, which requests take
//! under WITHOUT: so both rows of such an item run there (WITHOUT(NOTHING)), and a program without the option pays nothing. A library
//! built without the items would compare two compilations as well; and a second library in the command would be there for this demo
//! alone.
//!
//! Invariant: a row says how the work changes when the item is left out; where the interval holds 1 it says that nothing is known.
//! Not here: the items themselves (`runtime::heap::ecb`).

use underbar_report::units::nanoseconds;

use super::ecbs::{self, Said, each, percent};
use super::measure::{Arm, Machine, Problem, Rounds};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, order};

const RUNS: usize = 12;

/// One item of the list.
struct Item {
    /// The document's words.
    words: &'static str,
    /// What is left out.
    without: &'static str,
    /// Options with it, and without it.
    options: [&'static str; 2],
    /// The work.
    program: &'static [&'static str],
    /// What changes without it.
    what: &'static str,
}

const ITEMS: [Item; 7] = [
    Item {
        words: "initialize control entries only when needed",
        without: "entries made at the start",
        options: ["", "ECB(WITHOUT(ENTRIES))"],
        program: &["entries", "--times", "1000000"],
        what: "an ECB of one buffer",
    },
    Item {
        words: "a hash table for locating tagged buffers",
        without: "names searched in turn",
        options: ["", "ECB(WITHOUT(TAGS))"],
        program: &["locate", "--tags", "1000", "--times", "100000"],
        what: "a locate among 1,000 tags",
    },
    Item {
        words: "align buffers on cache line boundaries",
        without: "buffers of threads share lines",
        options: ["ECB(WITHOUT(NOTHING))", "ECB(WITHOUT(ALIGN))"],
        program: &["align", "--times", "30000000"],
        what: "a write to a buffer, two threads",
    },
    Item {
        words: "LIFO dispatching for AVLs",
        without: "first in, first out",
        options: ["ECB(WITHOUT(NOTHING))", "ECB(WITHOUT(LIFO))"],
        program: &["lifo", "--times", "3000000"],
        what: "get, fill and free of 500 bytes",
    },
    Item {
        words: "a new lock to avoid costly SVCs",
        without: "a taken lock calls the kernel",
        options: ["ECB(WITHOUT(LISTS))", "ECB(WITHOUT(SPIN))"],
        program: &["lists", "--times", "200000"],
        what: "get and free, two threads, shared lists alone",
    },
    Item {
        words: "make the trace table thread unique",
        without: "one table of all threads",
        options: ["ECB(TRACE(64),WITHOUT(NOTHING))", "ECB(TRACE(64),WITHOUT(TRACE))"],
        program: &["lists", "--times", "100000"],
        what: "get and free, two threads, traced",
    },
    Item {
        words: "new thread unique AVLs",
        without: "shared lists alone",
        options: ["ECB(WITHOUT(NOTHING))", "ECB(WITHOUT(LISTS))"],
        program: &["lists", "--times", "400000"],
        what: "get and free, two threads",
    },
];

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "the items of PJ47265, each measured by leaving it out";
    let mut output = Output::new("pj47265", title, parameters, runs);
    let workshop = Workshop::new("pj47265")?;
    let machine = Machine::of_program(&ecbs::compiled(&workshop)?, parameters)?;
    ecbs::must_have_ecbs(&machine)?;
    let mut progress = Progress::new(parameters.quiet);
    let rounds = machine.rounds(arms(), runs, &mut order(parameters), &mut progress)?;
    output.pages.push(page(&rounds));
    let (right, all) = rounds.said_is(|said| said.contains_key("cpu_ns"));
    output.checks.push(Check::count(
        "all_ran",
        right == all,
        format!("{right} of {all} runs did their work"),
    ));
    output.tables.push(Table::new(
        "CPU time of operations, of all threads together".to_owned(),
        rounds.figured(),
        vec![vec![EACH, Column::ELAPSED, SWITCHES]],
    ));
    output.notes = notes();
    Ok(output)
}

fn arms() -> Vec<Arm> {
    let mut arms = Vec::new();
    for item in &ITEMS {
        let names = [format!("{}: {}", item.what, item.words), format!("  without: {}", item.without)];
        for (name, options) in names.iter().zip(item.options) {
            arms.push(ecbs::arm(name, options, item.program));
        }
    }
    arms
}

fn of_each(said: &Said) -> Option<f64> {
    each(said, "ops").or_else(|| each(said, "locates"))
}

/// A row for each item.
fn page(rounds: &Rounds) -> String {
    let width = ITEMS.iter().map(|item| item.words.len()).max().unwrap_or(0);
    let mut text = "CPU time without each item\n".to_owned();
    for (at, item) in ITEMS.iter().enumerate() {
        let ratio = rounds.said_ratio(2 * at + 1, 2 * at, of_each);
        text += &format!("  {:<width$}  {} ({})\n", item.words, percent(ratio), item.what);
    }
    text
}

fn notes() -> Vec<String> {
    vec![
        "The document lists the items and has one figure for all of them together: more than 10 % less time for a message over TLS, with \
         the caveat that the driver contained no business logic (underbar demo tls). It has none for a single item."
            .to_owned(),
        "Each pair does the same work in turns. What is left out is what underbar does in place of z/TPF's item: its control entries are \
         marks of 1/16 of the area, its lock spins before it sleeps. On a machine with few processors, or busy ones, threads meet \
         less often than on one with many: then rows of two threads are not decidable."
            .to_owned(),
    ]
}

const EACH: Column = Column::new(
    "CPU of 1,000",
    |_, arm| of_each(&arm.said).map(|each| nanoseconds((each * 1_000.0) as u64)),
    |_| None,
);
const SWITCHES: Column = Column::new(
    "waits in the kernel",
    |_, arm| Some(underbar_report::units::count(arm.steps.voluntary_switches)),
    |_| None,
);

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_options::{ProgramName, Settings, WhereSet};

    #[test]
    fn each_item_is_an_option_and_differs_in_one_thing() {
        let mut left_out = Vec::new();
        for item in &ITEMS {
            let ecbs = item.options.map(|text| {
                let mut settings = Settings::default();
                settings.apply(
                    text.as_bytes(),
                    &ProgramName::default(),
                    WhereSet::CommandLine,
                    &mut |diagnostic| panic!("{text}: {diagnostic}"),
                );
                let ecb = settings.ecb();
                (ecb.trace, ecb.without)
            });
            assert_eq!(ecbs[0].0, ecbs[1].0, "{}", item.words);
            assert_ne!(ecbs[0].1, ecbs[1].1, "{}", item.words);
            left_out.push(ecbs[1].1 as u8);
        }
        left_out.sort_unstable();
        assert_eq!(left_out, [2, 3, 4, 5, 6, 7, 8], "all items, each once");
        assert_eq!(arms().len(), 2 * ITEMS.len());
    }
}
