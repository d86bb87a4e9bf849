//! The one table of commands and flags, from which parsing, help, completions, manual pages and
//! `docs/commands.md` are made.
//!
//! Each switch has its opposite: `--json` has `--no-json`, `--no-follow` has `--follow`; the last one on the
//! command line counts. Opposites are made here from the switches, and are not listed one by one in help.
//!
//! The help of `underbar` itself lists the commands by their doors ([`Door`]).
//!
//! `run` is called for each run of a program, so its part of the table can be made alone (`commands::run::told`).
//!
//! Invariant: every switch has its opposite, and every command and flag has a sentence (tests).
//! Not here: the flags themselves, which are with their commands, and their rows (`commands`).

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

use crate::doors::{Door, Row};

/// The table, with the opposite of every switch. Its help lists the commands by the doors of these rows.
pub fn whole(table: Command, rows: &[Row]) -> Command {
    let help = help_by_doors(&table, rows);
    table.help_template(help).mut_subcommands(with_opposites)
}

/// clap's own layout of help, except that the commands are listed under the headings of their doors.
fn help_by_doors(table: &Command, rows: &[Row]) -> String {
    let header = table.get_styles().get_header();
    let literal = table.get_styles().get_literal();
    let sentence = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut commands: Vec<(Door, String, String)> = Vec::new();
    for command in table.get_subcommands() {
        let name = command.get_name();
        let rows = rows.iter().filter(|row| row.is_of(name));
        commands.extend(rows.map(|row| (row.door, name.to_owned(), sentence(command))));
    }
    // clap adds this command when it parses.
    commands.push((Door::Help, "help".to_owned(), "Print this page, or the help of a command".to_owned()));
    let width = commands.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    for door in Door::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{header}{}:{header:#}", door.heading());
        for (_, name, sentence) in commands.iter().filter(|(of, ..)| *of == door) {
            let blanks = width - name.len();
            let _ = writeln!(text, "  {literal}{name}{literal:#}{:blanks$}  {sentence}", "");
        }
        text.push('\n');
    }
    let _ = write!(text, "{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}

/// A command with the opposite of each of its switches.
pub fn with_opposites(command: Command) -> Command {
    let mut opposites = Vec::new();
    let command = command.mut_args(|arg| {
        let Some((id, name)) = switch(&arg) else { return arg };
        let opposite = opposite_of(&name);
        // Each of the two overrides the other, and each may be given twice.
        let both = [id, opposite.clone()];
        opposites.push(
            Arg::new(opposite.clone())
                .long(opposite)
                .help(format!("The opposite of --{name}"))
                .action(ArgAction::SetTrue)
                .overrides_with_all(both.clone())
                .hide(true),
        );
        arg.overrides_with_all(both)
    });
    command.args(opposites).mut_subcommands(with_opposites)
}

fn opposite_of(name: &str) -> String {
    name.strip_prefix("no-").map_or_else(|| format!("no-{name}"), str::to_owned)
}

/// The identity and the long name of a flag without a value.
fn switch(arg: &Arg) -> Option<(String, String)> {
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    is_switch.then(|| Some((arg.get_id().to_string(), arg.get_long()?.to_owned())))?
}

/// The commands that are documented: all that help shows, except help itself. A command comes before its own commands.
pub fn documented(table: &Command) -> impl Iterator<Item = &Command> {
    let shown =
        table.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    shown.flat_map(|command| {
        let within: Vec<&Command> = documented(command).collect();
        std::iter::once(command).chain(within)
    })
}

/// The words after `underbar` that call a command, in a table that is built: `lib create`.
pub fn full_name(command: &Command) -> &str {
    let words = command.get_bin_name().unwrap_or(command.get_name());
    words.strip_prefix("underbar ").unwrap_or(words)
}

/// The paragraphs after the help of a command, each with a title and a text.
pub fn behind_help(command: &Command) -> Vec<(&'static str, String)> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.is_empty());
    paragraphs
        .map(|paragraph| {
            for (begins, title) in [("Examples:\n", EXAMPLES), ("Exit status: ", EXIT_STATUS)] {
                if let Some(rest) = paragraph.strip_prefix(begins) {
                    return (title, rest.to_owned());
                }
            }
            (NOTES, paragraph.to_owned())
        })
        .collect()
}

/// Titles of the paragraphs after help.
pub const EXAMPLES: &str = "EXAMPLES";
/// See [`EXAMPLES`].
pub const EXIT_STATUS: &str = "EXIT STATUS";
/// See [`EXAMPLES`].
pub const NOTES: &str = "NOTES";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arguments;
    use crate::commands::run::{RUN, Run, told};
    use crate::commands::table;
    use clap::FromArgMatches;
    use std::ffi::OsString;

    fn parse(arguments: &[&str]) -> Arguments {
        let matches = table().try_get_matches_from(arguments).unwrap_or_else(|error| panic!("{error}"));
        Arguments::from_arg_matches(&matches).unwrap_or_else(|error| panic!("{error}"))
    }

    fn parsed_run(flags: &[&str]) -> Run {
        match parse(&[&["underbar", "run"], flags, &["--", "true"]].concat()).command {
            crate::commands::Command::Run(run) => run,
            _ => panic!("run"),
        }
    }

    #[test]
    fn the_table_is_consistent() {
        table().debug_assert();
    }

    #[test]
    fn the_last_of_a_switch_and_its_opposite_counts() {
        for (flags, json) in [
            (&["--json"][..], true),
            (&["--no-json"], false),
            (&["--json", "--no-json"], false),
            (&["--no-json", "--json"], true),
            (&["--json", "--no-json", "--json", "--json"], true),
        ] {
            assert_eq!(parsed_run(flags).shared.json, json, "{flags:?}");
        }
        assert!(
            parsed_run(&["--no-follow"]).no_follow && !parsed_run(&["--no-follow", "--follow"]).no_follow
        );
        assert!(parsed_run(&["--follow", "--no-follow"]).no_follow);
        assert!(parsed_run(&["--exec"]).exec && !parsed_run(&["--exec", "--no-exec"]).exec);
        assert!(
            parsed_run(&["-q", "--json", "--no-json"]).shared.quiet,
            "what was taken back conflicts with nothing"
        );
    }

    #[test]
    fn the_part_for_run_understands_what_the_whole_table_does() {
        // Each flag of `run` in the table, with a value if it takes one, and unusual words.
        let whole = table();
        let command = whole.find_subcommand(RUN).expect("a command");
        let mut cases: Vec<Vec<String>> = Vec::new();
        for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
            let mut words = vec![format!("--{}", arg.get_long().unwrap_or_default())];
            if arg.get_action().takes_values() {
                words
                    .push(arg.get_possible_values().first().map_or("x", |value| value.get_name()).to_owned());
            }
            cases.push(words);
        }
        assert!(cases.len() >= 14, "{cases:?}");
        let odd = [
            "-q",
            "-q -q",
            "-q --",
            "-qo x",
            "-o",
            "--qui",
            "--json=1",
            "--report none",
            "-q -v",
            "--opts",
            "--opts A -q",
            "-q --opts A",
            "--opts A --opts B",
            "--opts -q",
            "--opts --",
            "--opts -",
            "--opts A -q -q",
            "--opts A --json",
            "--help",
            "-h",
            "--version",
            "-V",
            "--",
        ];
        cases.extend(odd.map(|words| words.split(' ').map(str::to_owned).collect()));
        // And no flags at all.
        cases.push(Vec::new());
        for flags in cases {
            for rest in
                [&["--", "true", "--", "-q"][..], &["--", "--", "-q"], &["--", ""], &["true", "--json"], &[]]
            {
                let words: Vec<OsString> = [RUN]
                    .into_iter()
                    .chain(flags.iter().map(String::as_str))
                    .chain(rest.iter().copied())
                    .map(Into::into)
                    .collect();
                let all = [OsString::from("underbar")].into_iter().chain(words.clone());
                let expected = table().try_get_matches_from(all).ok().and_then(|matches| {
                    let parsed = Run::from_arg_matches(matches.subcommand_matches(RUN)?).ok()?;
                    Some(format!("{parsed:?}"))
                });
                assert_eq!(told(&words).map(|parsed| format!("{parsed:?}")), expected, "{words:?}");
            }
        }
        assert!(told(&["report".into(), "true".into()]).is_none() && told(&[]).is_none());
    }

    #[test]
    fn every_switch_has_its_opposite_and_every_flag_a_sentence() {
        let mut table = table();
        table.build();
        for command in documented(&table) {
            let name = full_name(command);
            assert!(command.get_about().is_some(), "{name}");
            for arg in command.get_arguments() {
                let words = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    words.len() > 5 && words.starts_with(char::is_uppercase),
                    "{name} {}: {words}",
                    arg.get_id()
                );
                for value in arg.get_possible_values().iter().filter(|_| arg.get_action().takes_values()) {
                    assert!(value.get_help().is_some(), "{name} {}: {}", arg.get_id(), value.get_name());
                }
                if let Some((_, long)) = switch(arg) {
                    let opposite = opposite_of(&long);
                    assert!(
                        command.get_arguments().any(|other| other.get_long() == Some(&opposite)),
                        "{name} --{long}"
                    );
                }
            }
        }
    }

    /// The words of a line of a shell, up to a pipe, a file, or a comment.
    fn words(line: &str) -> Vec<String> {
        let line = line.split("    ").next().unwrap_or_default();
        let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
        for character in line.chars().chain([' ']) {
            match character {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                '|' | '<' | '>' if !quoted => break,
                ' ' if !quoted => words.extend(word.take()),
                _ => word.get_or_insert_default().push(character),
            }
        }
        words
    }

    #[test]
    fn examples_are_right_usage() {
        let mut examples = 0;
        for command in documented(&table()) {
            for (_, text) in behind_help(command).iter().filter(|(title, _)| *title == EXAMPLES) {
                for line in text.lines() {
                    let words = words(line.trim());
                    assert_eq!(words[0], "underbar", "{line}");
                    if let Err(error) = table().try_get_matches_from(&words) {
                        panic!("{line}: {error}");
                    }
                    examples += 1;
                }
            }
        }
        assert!(examples > 30, "{examples}");
    }

    /// `docs/commands.md`.
    fn page() -> String {
        let mut text = String::from(
            "# Commands\n\n\
             For everyone who looks up a command or a flag. The page holds what `underbar COMMAND --help` prints. It is made from\n\
             the table of commands, and a test compares the two. `underbar man --dir DIR` writes manual pages, and\n\
             `underbar completions SHELL` writes completions for a shell.\n\n\
             Every switch has an opposite: `--no-json` undoes `--json`, `--follow` undoes `--no-follow`. The last one counts.\n\n\
             | door | commands |\n|---|---|\n",
        );
        for door in Door::ALL {
            let of_door = crate::commands::ROWS.iter().filter(|row| row.door == door);
            let named = of_door.flat_map(|row| {
                table().get_subcommands().filter(|c| row.is_of(c.get_name())).map(link).collect::<Vec<_>>()
            });
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {} | {} |", door.heading(), named.collect::<Vec<_>>().join(", "));
        }
        let mut table = table();
        table.build();
        for command in documented(&table) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n## {}\n\n{}.\n\n", full_name(command), said(command.get_about()));
            let usage = command.clone().render_usage().to_string();
            let _ = write!(
                text,
                "    {}\n\n| flag | meaning |\n|---|---|\n",
                usage.trim_start_matches("Usage: ")
            );
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help") {
                let _ = writeln!(text, "| {} | {} |", flag(arg), meaning(arg));
            }
            for (title, paragraph) in behind_help(command) {
                let _ = match title {
                    EXAMPLES => write!(text, "\n```text\n{}\n```\n", unindented(&paragraph)),
                    EXIT_STATUS => write!(text, "\nExit status: {paragraph}\n"),
                    _ => write!(text, "\n{paragraph}\n"),
                };
            }
        }
        text
    }

    fn link(command: &Command) -> String {
        format!("[{0}](#{0})", command.get_name())
    }

    fn said(words: Option<&clap::builder::StyledStr>) -> String {
        words.map(ToString::to_string).unwrap_or_default()
    }

    fn unindented(text: &str) -> String {
        text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n")
    }

    fn flag(arg: &Arg) -> String {
        let value = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string).unwrap_or_default();
        let names = [
            arg.get_short().map(|short| format!("-{short}")),
            arg.get_long().map(|long| format!("--{long}")),
        ];
        let names: Vec<String> = names.into_iter().flatten().collect();
        let shown = match (names.is_empty(), arg.get_action().takes_values()) {
            (true, _) => value,
            (false, true) => format!("{} {value}", names.join(", ")),
            (false, false) => names.join(", "),
        };
        format!("`{shown}`")
    }

    fn meaning(arg: &Arg) -> String {
        let mut text = said(arg.get_help());
        let values = arg.get_possible_values();
        if arg.get_action().takes_values() && !values.is_empty() {
            let values: Vec<String> = values
                .iter()
                .map(|value| format!("`{}` {}", value.get_name(), said(value.get_help())))
                .collect();
            let _ = write!(text, ": {}", values.join("; "));
        }
        if let Some(default) = arg.get_default_values().first().filter(|_| arg.get_action().takes_values()) {
            let _ = write!(text, " [default: {}]", default.to_string_lossy());
        }
        text.replace('|', "\\|")
    }

    #[test]
    fn the_shipped_page_is_this_one() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            std::fs::write(&path, page()).expect("the file can be written");
        }
        let shipped = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            shipped == page(),
            "docs/commands.md is not what the table makes; UNDERBAR_BLESS=1 cargo test -p underbar-cli writes it"
        );
    }
}
