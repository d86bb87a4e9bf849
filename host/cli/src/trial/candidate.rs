//! Sets of options on trial, from the suggestions and from `--try`: as options for a run, as lines for the reader, and as the
//! file that is written for a set that was kept.
//!
//! Not here: how suggestions are made (`advise`), and whether they help (`verdict`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use underbar_shown::Shown;
use underbar_shown::door::{self, Form};

use underbar_advise::lines::{Withheld, merged, options_file};
use underbar_advise::{Advice, Area};
use underbar_report::Report;
use underbar_verdict::sample::Measure;

/// The first line of a file that `tune` wrote, and may therefore overwrite.
const OURS: &str = "# Written by underbar tune, which may overwrite it.";

/// A set of options on trial.
pub struct Candidate {
    /// Its name: `suggested`, or the flag that it is from.
    pub name: String,
    /// The options, with a section for each program if they differ.
    pub options: String,
    /// The measure that decides about it.
    pub primary: Measure,
    /// The text of the file if it is kept: the options with their reasons.
    file: String,
}

/// Small segments that are freed soon: little memory is held that the program does not use.
const FRUGAL: &str = "HEAP(256K,256K,,FREE)";

/// The set for less memory. It is tried if default uses clearly more than plain, or if memory was asked for.
pub fn frugal(report: &Report) -> Option<Candidate> {
    let is_frugal = report
        .sub_options("HEAP")
        .is_some_and(|values| values.get(3).is_some_and(|kept| kept.eq_ignore_ascii_case("FREE")));
    (!is_frugal).then(|| Candidate {
        name: "less memory".to_owned(),
        options: FRUGAL.to_owned(),
        primary: Measure::PeakRss,
        file: format!("# For less memory: small segments, given back when they are empty.\n{FRUGAL}\n"),
    })
}

/// The suggestions of two runs as one list. Suggestions of the first run only are tried, too; and only that one counts switches.
pub fn of_both(first: Vec<Advice>, second: Vec<Advice>) -> Vec<Advice> {
    let mut all = second;
    let is_of_first = |said: &Advice| said.option.is_some() || said.area == Some(Area::Switches);
    for suggestion in first.into_iter().filter(is_of_first) {
        let is_of_it = |other: &Advice| other.target == suggestion.target && other.rule == suggestion.rule;
        // One rule may have something to say of several options.
        if suggestion.area == Some(Area::Switches) {
            if !all.iter().any(|other| is_of_it(other) && other.now == suggestion.now) {
                all.push(suggestion);
            }
        } else if !all.iter().any(|other| is_of_it(other) && other.option.is_some()) {
            all.retain(|other| !is_of_it(other));
            all.push(suggestion);
        }
    }
    all
}

/// The set of these suggestions. None: nothing is to be set.
fn set(
    name: &str,
    report: &Report,
    suggestions: &[Advice],
    risky: bool,
    primary: Measure,
) -> Option<Candidate> {
    let file = options_file(report, suggestions, risky);
    let mut options: Vec<&str> =
        file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let is_section = |line: &str| line.starts_with('[');
    // A section whose options were all withheld sets nothing.
    for at in (0..options.len()).rev() {
        if is_section(options[at]) && options.get(at + 1).is_none_or(|next| is_section(next)) {
            options.remove(at);
        }
    }
    let options = options.join("\n");
    (!options.is_empty()).then(|| Candidate { name: name.to_owned(), options, primary, file })
}

/// All sets to try: the suggested set, if there are suggestions, and those of the user.
pub fn candidates(
    report: &Report,
    suggestions: &[Advice],
    risky: bool,
    given: &[String],
    primary: Measure,
) -> Vec<Candidate> {
    let mut all = Vec::new();
    all.extend(set("suggested", report, suggestions, risky, primary));
    // What one cache gains, another may lose: each option about switches is tried alone, too.
    let settings = merged(suggestions).iter().map(|program| program.settings.len()).sum::<usize>();
    let mut alone: Vec<(&str, Vec<Advice>)> = Vec::new();
    for said in suggestions.iter().filter(|said| said.area == Some(Area::Switches)) {
        let Some(option) = said.option.as_ref().map(|setting| setting.option) else { continue };
        match alone.iter_mut().find(|(of, _)| *of == option) {
            Some((_, one)) => one.push(said.clone()),
            None => alone.push((option, vec![said.clone()])),
        }
    }
    for (option, one) in alone.into_iter().filter(|(_, one)| one.len() < settings) {
        all.extend(set(&format!("{option} alone"), report, &one, risky, primary));
    }
    for text in given {
        let file = format!("# Given with --try.\n{text}\n");
        all.push(Candidate { name: "--try".to_owned(), options: text.clone(), primary, file });
    }
    all
}

impl Candidate {
    /// The options on one line: `[cc1plus] HEAP(112M,28M) HUGEPAGES(ON)`.
    pub fn line(&self) -> String {
        self.options.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Writes the file: the verdict, the options that all arms were given, and the set itself.
    pub fn write(&self, path: &Path, verdict: &str, given: &str) -> io::Result<()> {
        let verdict: String = verdict.lines().map(|line| format!("# {line}\n")).collect();
        door::to_file(path, Form::Text, &format!("{OURS}\n{verdict}{given}{}", self.file))
    }
}

/// Writes a file of options from another source than a set: the given options, and then these.
pub fn write(path: &Path, options: &str, given: &str) -> io::Result<()> {
    door::to_file(path, Form::Text, &format!("{OURS}\n{given}{options}"))
}

/// An error if a file of that name exists that `tune` did not write, or if none can be written.
pub fn may_be_written(path: &Path) -> Result<(), String> {
    let refused = |error: io::Error| format!("{}: {error}", path.shown());
    let words = |why: &str| format!("{} {why}: name another file with -o", path.shown());
    if let Ok(found) = fs::metadata(path) {
        if !found.is_file() {
            return Err(words("is no file that could be overwritten"));
        }
        let mut begin = Vec::new();
        let head = File::open(path).and_then(|file| file.take(OURS.len() as u64).read_to_end(&mut begin));
        head.map_err(refused)?;
        if begin != OURS.as_bytes() {
            return Err(words("is there already, and not by underbar tune"));
        }
    }
    door::can_be_written(path).map_err(refused)
}

/// The suggestions for the reader: each option with its reasons, and those that are not tried.
pub fn lines(suggestions: &[Advice], risky: bool) -> String {
    let clean = |text: &str| text.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    let mut text = String::new();
    for program in merged(suggestions) {
        for (setting, from) in &program.settings {
            let (word, why) = match Withheld::any_of(from, risky) {
                Some(Withheld::Idle) => ("not tried", "; does nothing on Linux"),
                Some(Withheld::Risky) => ("not tried", "; could harm, --risky tries it"),
                None => ("suggested", ""),
            };
            text += &format!("{word:<11}{setting} for {}{why}\n", clean(&program.program));
            for suggestion in from {
                text += &format!("{:<11}  {}: {}\n", "", suggestion.rule, clean(&suggestion.reason));
            }
        }
    }
    let is_of_switches = |said: &&Advice| said.area == Some(Area::Switches) && said.option.is_none();
    let mut told: Vec<&Advice> = Vec::new();
    if text.is_empty() {
        text = format!("{:<11}nothing\n", "suggested");
        told.extend(suggestions.iter().filter(|said| !is_of_switches(said)).take(4));
    }
    // What is not worth it is the answer, too.
    told.extend(suggestions.iter().filter(is_of_switches));
    for said in told {
        let (target, reason) = (clean(&said.target), clean(&said.reason));
        text += &format!("{:<11}  {target}, {}: {reason}\n", "", said.rule);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_of_two_runs_suggests_is_tried() {
        use underbar_ledger::Key;
        let loud = underbar_report::sample::getfree();
        let mut quiet = loud.clone();
        quiet.processes[0].counters.set(Key::HeapSegmentsAllocated, 1);
        let set = |all: &[Advice]| all.iter().filter(|said| said.option.is_some()).count();
        let (loud, quiet) = (underbar_advise::advise(&loud), underbar_advise::advise(&quiet));
        assert!(set(&loud) > set(&quiet), "{loud:?} {quiet:?}");
        for all in [of_both(loud.clone(), quiet.clone()), of_both(quiet.clone(), loud.clone())] {
            assert_eq!(set(&all), set(&loud), "{all:?}");
        }
    }

    #[test]
    fn an_option_about_switches_is_tried_alone_next_to_others() {
        let report = underbar_report::sample::getfree();
        let advice = |area, option, value: &str| Advice {
            target: "getfree".to_owned(),
            area: Some(area),
            option: Some(underbar_advise::Setting::new(option, [Some(value.to_owned())])),
            ..Advice::default()
        };
        let print = advice(Area::Switches, "PRINT", "300");
        let heap = advice(Area::Heap, "HEAP", "1M");
        let sets = |suggestions: &[Advice]| -> Vec<String> {
            let all = candidates(&report, suggestions, false, &[], Measure::Cpu);
            all.iter().map(|set| format!("{}: {}", set.name, set.line())).collect()
        };
        let both = "suggested: [getfree] PRINT(300) HEAP(1M)";
        assert_eq!(sets(&[print.clone(), heap.clone()]), [both, "PRINT alone: [getfree] PRINT(300)"]);
        assert_eq!(sets(&[print]), ["suggested: [getfree] PRINT(300)"]);
        assert_eq!(sets(&[heap]), ["suggested: [getfree] HEAP(1M)"]);
        assert!(sets(&[]).is_empty());
    }

    #[test]
    fn only_what_we_wrote_is_overwritten() {
        let path = std::env::temp_dir().join(format!("underbar-candidate-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        assert_eq!(may_be_written(&path), Ok(()));
        assert!(!path.exists(), "to ask leaves nothing");
        assert!(may_be_written(Path::new("/proc/none/x.opts")).expect_err("no place").contains("/proc/none"));
        fs::write(&path, "HEAP(1M)").expect("written");
        assert!(may_be_written(&path).expect_err("not ours").contains("-o"));
        let candidate = Candidate {
            name: "--try".to_owned(),
            options: "HEAP(1M)".to_owned(),
            primary: Measure::Cpu,
            file: "HEAP(1M)\n".to_owned(),
        };
        candidate.write(&path, "tuned: kept\nand more", "\n# Given.\nRPTSTG(ON)\n").expect("written");
        assert_eq!(may_be_written(&path), Ok(()));
        let text = fs::read_to_string(&path).expect("read");
        let set: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert_eq!(set, ["RPTSTG(ON)", "HEAP(1M)"]);
        assert!(text.contains("\n# tuned: kept\n# and more\n"), "{text}");
        fs::remove_file(path).expect("removed");
    }
}
