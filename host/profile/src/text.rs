//! The profile for people, in the layout of the software profiler of z/TPF: program, displacement, instruction, count.
//!
//! ```text
//! PROG DISP             INST                           COUNT       %
//! spin - spin_lock                                       960   96.00
//!      0000000000000009  lock cmpxchg [rdi], ecx        ~950   95.00
//!      000000000000000D  jne 0x4                          10    1.00
//! ```
//!
//! Invariant: the sum of the counts of all lines, without those of functions and with that of the rest, is the number of samples.

use std::fmt::Write as _;

use underbar_report::units::{count, counted, nanoseconds};

use crate::model::{By, Profile, Row, percent};

/// The default number of instructions.
pub const DEFAULT_TOP: usize = 20;

/// Wider instructions are cut.
const INSTRUCTION: usize = 48;

/// The name of a file, without its folders.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// The table of the `top` instructions with most samples.
#[must_use]
pub fn render(profile: &Profile, top: usize) -> String {
    let mut text = head(profile);
    if profile.instructions.is_empty() {
        return text;
    }
    let mut counts: Vec<u64> = profile.instructions.iter().map(|row| row.count).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    // As many of those with the same count as the last one as there is room for.
    let least = counts.get(top.wrapping_sub(1)).copied().unwrap_or(0);
    let mut ties = top.saturating_sub(counts.iter().filter(|count| **count > least).count());
    let shown: Vec<&Row> = profile
        .instructions
        .iter()
        .filter(|row| {
            let is_tie = row.count == least && ties > 0;
            ties -= usize::from(is_tie);
            top > 0 && (row.count > least || is_tie)
        })
        .collect();
    line(&mut text, "PROG DISP", "INST", "COUNT", "%");
    let mut last = None;
    for row in &shown {
        let of = (&row.program, &row.function);
        if last != Some(of) {
            last = Some(of);
            function(&mut text, profile, row);
        }
        let displacement = format!("     {:016X}", row.displacement);
        let mark = if row.charged > 0 { "~" } else { "" };
        let part = format!("{:.2}", row.percent);
        line(&mut text, &displacement, &instruction(row), &format!("{mark}{}", count(row.count)), &part);
    }
    let rest = profile.instructions.len() - shown.len();
    if rest > 0 {
        let samples = profile.samples - shown.iter().map(|row| row.count).sum::<u64>();
        let words = format!("and {} more instructions", count(rest as u64));
        line(&mut text, &words, "", &count(samples), &format!("{:.2}", percent(samples, profile.samples)));
    }
    text
}

/// The meaning of the figures, in one or two lines.
fn head(profile: &Profile) -> String {
    let Profile { facts, samples, lost, throttled, .. } = profile;
    let (rate, kernel) = match facts.sampler {
        By::Perf => (count(facts.rate_hz), " not sampled"),
        By::Timer => (format!("{:.0}", profile.true_rate_hz), ""),
    };
    let mut text = format!(
        "underbar profile: {}: {} at {rate} a second of CPU time; {} in user mode, {} in the kernel{kernel}\n",
        underbar_shown::line(file_name(&facts.program)),
        counted(*samples, "sample", "samples"),
        nanoseconds(facts.user_ns),
        nanoseconds(facts.system_ns),
    );
    for note in &facts.notes {
        text += &underbar_shown::line(note);
        text.push('\n');
    }
    // Writing to a string cannot fail.
    if profile.processes > 1 || profile.threads > 1 {
        let _ = writeln!(
            text,
            "met in {} processes, {} threads",
            count(profile.processes),
            count(profile.threads)
        );
    }
    if *lost > 0 {
        let _ = writeln!(text, "{} records were lost: a lower --rate loses fewer", count(*lost));
    }
    if *throttled > 0 {
        let _ = writeln!(
            text,
            "the kernel throttled sampling {} times: a lower --rate avoids that",
            count(*throttled)
        );
    }
    let expected = u128::from(facts.user_ns) * u128::from(facts.rate_hz) / 1_000_000_000;
    if *samples == 0 && expected >= 10 {
        let _ = writeln!(text, "no samples, although about {expected} were expected");
    } else if *samples == 0 && facts.sampler == By::Timer {
        text += "no samples: it ran too short\n";
    } else if *samples == 0 {
        text +=
            "no samples: it ran too short in user mode, or gained privileges (setuid), which ends sampling\n";
    } else if profile.instructions.iter().any(|row| row.charged > 0) {
        text += "~ taken at the next instruction, and charged to this one, for which it waited; --raw shows them unchanged\n";
    }
    text.push('\n');
    text
}

/// The line of a function: its program, and all its samples.
fn function(text: &mut String, profile: &Profile, row: &Row) {
    let is_same = |other: &&Row| (&other.program, &other.function) == (&row.program, &row.function);
    let samples = profile.instructions.iter().filter(is_same).map(|row| row.count).sum();
    let program = file_name(&row.program).replace(char::is_control, "?");
    let name = match &row.function {
        Some(function) => format!("{program} - {function}"),
        None => program,
    };
    line(text, &name, "", &count(samples), &format!("{:.2}", percent(samples, profile.samples)));
}

/// The instruction; and its line of source, if both fit.
fn instruction(row: &Row) -> String {
    let text = row.instruction.as_deref().unwrap_or("?");
    let length = text.chars().count();
    if let Some(line) = row.line.as_deref().map(|line| file_name(line).replace(char::is_control, "?"))
        && length + 2 + line.chars().count() <= INSTRUCTION
    {
        return format!("{text}{line:>0$}", INSTRUCTION - length);
    }
    if length <= INSTRUCTION {
        return text.to_owned();
    }
    text.chars().take(INSTRUCTION - 1).chain(['…']).collect()
}

/// A line of the table; a first column that is too wide runs into the second, which is empty then.
fn line(text: &mut String, first: &str, second: &str, count: &str, part: &str) {
    const FIRST: usize = 23;
    let (first, second) = (underbar_shown::line(first), underbar_shown::line(second));
    let left = if second.is_empty() { first.into_owned() } else { format!("{first:<FIRST$}{second}") };
    let width = FIRST + INSTRUCTION;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{left:<width$} {count:>10} {part:>7}");
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Facts, SCHEMA};

    fn row(program: &str, function: Option<&str>, displacement: u64, instruction: &str, count: u64) -> Row {
        Row {
            program: program.to_owned(),
            function: function.map(str::to_owned),
            displacement,
            address: displacement + 0x1100,
            instruction: Some(instruction.to_owned()).filter(|text| !text.is_empty()),
            line: None,
            count,
            charged: 0,
            percent: percent(count, 1_000),
        }
    }

    /// A thousand samples.
    pub fn example() -> Profile {
        let mut instructions = vec![
            row("/tmp/spin", Some("spin_lock"), 9, "lock cmpxchg [rdi], ecx", 950),
            row("/tmp/spin", Some("spin_lock"), 13, "jne 0x4", 10),
            row("/tmp/spin", None, 0x1010, "nop", 9),
            row("/lib/libc.so.6", Some("memcpy"), 0, "mov rax, rdi", 30),
            row("(unknown)", None, 0x7000, "", 1),
        ];
        instructions[0].charged = 948;
        Profile {
            schema: SCHEMA,
            underbar: "0.1.0",
            event: "task-clock",
            mode: "user",
            facts: Facts {
                program: "/tmp/spin".to_owned(),
                rate_hz: 997,
                user_ns: 1_003_000_000,
                system_ns: 12_000_000,
                ..Facts::default()
            },
            true_rate_hz: 997.0,
            samples: 1_000,
            lost: 0,
            throttled: 0,
            processes: 1,
            threads: 1,
            instructions,
        }
    }

    #[test]
    fn the_table_is_that_of_the_software_profiler() {
        let expected = "\
underbar profile: spin: 1,000 samples at 997 a second of CPU time; 1.00 s in user mode, 12.0 ms in the kernel not sampled
~ taken at the next instruction, and charged to this one, for which it waited; --raw shows them unchanged

PROG DISP              INST                                                  COUNT       %
spin - spin_lock                                                               960   96.00
     0000000000000009  lock cmpxchg [rdi], ecx                                ~950   95.00
     000000000000000D  jne 0x4                                                  10    1.00
libc.so.6 - memcpy                                                              30    3.00
     0000000000000000  mov rax, rdi                                             30    3.00
and 2 more instructions                                                         10    1.00
";
        assert_eq!(render(&example(), 3), expected);
    }

    #[test]
    fn of_timers_the_true_rate_and_what_is_to_be_known_is_said() {
        let mut profile = Profile { true_rate_hz: 249.6, ..example() };
        profile.facts.sampler = By::Timer;
        profile.facts.notes = vec!["one".to_owned(), "two\tlines".to_owned()];
        let text = render(&profile, 5);
        let begin = "underbar profile: spin: 1,000 samples at 250 a second of CPU time; 1.00 s in user mode, 12.0 ms in the kernel\none\ntwo\\tlines\n";
        assert!(text.starts_with(begin), "{text}");
        (profile.samples, profile.instructions) = (0, Vec::new());
        let text = render(&profile, 5);
        assert!(text.contains("no samples, although about ") && !text.contains("too short"), "{text}");
        profile.samples = 1;
        assert!(render(&profile, 5).contains(": spin: 1 sample at 250 a second"));
        profile.samples = 0;
        profile.facts.user_ns = 1_000;
        let text = render(&profile, 5);
        assert!(text.contains("no samples: it ran too short\n") && !text.contains("setuid"), "{text}");
    }

    #[test]
    fn lines_of_source_stand_where_they_fit() {
        let mut profile = example();
        profile.instructions[0].line = Some("/src/lib/spin.c:41".to_owned());
        profile.instructions[1].line = Some(format!("/src/{}.c:42", "x".repeat(40)));
        let text = render(&profile, 5);
        let first =
            "     0000000000000009  lock cmpxchg [rdi], ecx                spin.c:41       ~950   95.00\n";
        assert!(text.contains(first), "{text}");
        assert!(!text.contains(":42") && text.contains("jne 0x4"), "{text}");
    }

    /// The counts of the lines of instructions and of the rest.
    fn counted(profile: &Profile, top: usize) -> (usize, u64) {
        let text = render(profile, top);
        let lines = text.lines().filter(|line| line.starts_with("     ") || line.starts_with("and "));
        let counts: Vec<u64> = lines
            .map(|line| {
                let digits = line.split_whitespace().rev().nth(1).expect("a count").replace([',', '~'], "");
                digits.parse().expect("a number")
            })
            .collect();
        (counts.len(), counts.iter().sum())
    }

    #[test]
    fn the_lines_together_are_the_samples() {
        let mut profile = example();
        for (top, lines) in [(0, 1), (1, 2), (3, 4), (4, 5), (5, 5), (100, 5)] {
            assert_eq!(counted(&profile, top), (lines, 1_000), "{top}");
        }
        // As many as the last one: not all of them are shown.
        profile.instructions.iter_mut().for_each(|row| row.count = 200);
        for (top, lines) in [(0, 1), (1, 2), (4, 5), (5, 5)] {
            assert_eq!(counted(&profile, top), (lines, 1_000), "{top} of the same");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut profile = Profile { lost: 7, throttled: 2, threads: 3, ..example() };
        let text = render(&profile, 5);
        for words in ["7 records were lost", "throttled sampling 2 times", "met in 1 processes, 3 threads"] {
            assert!(text.contains(words), "{text}");
        }
        (profile.samples, profile.instructions) = (0, Vec::new());
        let text = render(&profile, 5);
        assert!(text.contains("no samples") && !text.contains("INST"), "{text}");
    }
}
