//! Steps of a job and the enclaves in them: the options of a step are those of all its enclaves.
//!
//! ```text
//! //GO EXEC PGM=PAY,PARM='DAILY'      reports of TAX, RATES, PAY      one text for PAY: the larger value of each of the three
//!                                     (LINKed ones end first)         none for TAX and RATES, which have no PARM
//! ```
//!
//! Invariant: an enclave belongs to a step only if no other step could have it. A value of a step is no smaller than the need
//! of any of its enclaves: a value is lowered only if all of its enclaves would lower it.
//! Not here: texts that are linked with a program (CEEUOPT) or belong to no step: each program has its own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use underbar_listing::{OptionRow, Place, StepParm, place_behind};

use super::forms::Form;
use crate::advice::{Advice, Kind, Setting};
use crate::listing::{Collected, settings_of};
use crate::sizes::size;

/// Programs of steps without their own enclave worth advice.
const OTHERS: [&str; 16] = [
    "ADRDSSU", "ASMA90", "CCNDRVR", "DFSORT", "HEWL", "IBMZPLI", "ICEGENER", "ICEMAN", "IDCAMS", "IEBCOPY",
    "IEBGENER", "IEFBR14", "IEWBLINK", "IEWL", "IGYCRCTL", "SORT",
];
/// The significant columns.
const COLUMNS: usize = 71;
/// At most this many lines are named for one option.
const NAMED: usize = 8;

/// The enclaves of each step.
#[derive(Default)]
pub struct Steps<'a> {
    /// By the program that represents the step: all its enclaves.
    members: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The program of the step, if another name represents it.
    programs: HashMap<&'a str, &'a str>,
    /// By a program that no step of its file names: the launcher that a step there runs.
    launched: HashMap<&'a str, (&'a str, Place)>,
    /// Programs that no step of their file names, where any of several steps may have created them.
    of_any: HashSet<&'a str>,
    collected: Option<&'a Collected>,
}

impl<'a> Steps<'a> {
    /// The steps of all files.
    #[must_use]
    pub fn of(collected: &'a Collected) -> Self {
        let mut files: BTreeMap<usize, Vec<(u64, &str)>> = BTreeMap::new();
        for program in &collected.programs {
            for run in program.runs.iter().filter(|run| run.report.enclave.is_some()) {
                files.entry(run.file).or_default().push((run.report.lines.0, &program.name));
            }
        }
        let mut steps = Self { collected: Some(collected), ..Self::default() };
        for (file, mut runs) in files {
            runs.sort_unstable();
            let of_file = collected.programs_of_steps(file);
            steps.file(&of_file, &runs);
        }
        steps
    }

    fn file(&mut self, of_file: &BTreeSet<&'a str>, runs: &[(u64, &'a str)]) {
        let launcher = of_file.iter().find_map(|name| Some((*name, place_behind(name)?)));
        if let Some(launcher) = launcher {
            let started = runs.iter().filter(|(_, name)| !of_file.contains(name));
            self.launched.extend(started.map(|(_, name)| (*name, launcher)));
        }
        let own: Vec<&str> = of_file.iter().copied().filter(|name| !OTHERS.contains(name)).collect();
        let is_seen = |name: &str| runs.iter().any(|(_, run)| *run == name);
        if let [only] = own[..] {
            // The last enclave to end is the step's own, if none has its name.
            let Some((_, last)) = runs.last() else { return };
            let main = if is_seen(only) { only } else { last };
            self.programs.insert(main, only);
            self.members.entry(main).or_default().extend(runs.iter().map(|(_, name)| *name));
        } else if own.iter().all(|name| is_seen(name)) {
            let mut before = Vec::new();
            for (_, name) in runs {
                before.push(*name);
                if own.contains(name) {
                    self.programs.insert(name, name);
                    self.members.entry(name).or_default().extend(before.drain(..));
                }
            }
        } else {
            // The enclave of a step that is not seen may be any of the others, so only those with the name of a step are its own.
            for (_, name) in runs {
                if own.contains(name) {
                    self.programs.insert(name, name);
                    self.members.entry(name).or_default().insert(name);
                } else {
                    self.of_any.insert(name);
                }
            }
        }
    }

    /// Whether any of several steps may run this program, so that no PARM is known to be its own.
    #[must_use]
    pub fn is_of_any(&self, name: &str) -> bool {
        self.of_any.contains(name) && self.members.values().all(|members| !members.contains(name))
    }

    /// Whether a program was seen only as an enclave that another program of its step created.
    #[must_use]
    pub fn is_linked(&self, name: &str) -> bool {
        !self.members.contains_key(name) && self.members.values().any(|members| members.contains(name))
    }

    /// The program in whose step this one runs, if it was seen only there.
    #[must_use]
    pub fn main_of(&self, name: &str) -> Option<&'a str> {
        if !self.is_linked(name) {
            return None;
        }
        self.members.iter().find(|(_, members)| members.contains(name)).map(|(main, _)| *main)
    }

    /// The launcher that takes PARM of this program's step for itself, and where the program finds its options.
    #[must_use]
    pub fn launcher_of(&self, name: &str) -> Option<(&'a str, Place)> {
        self.launched.get(name).copied()
    }

    /// The option text of a program: that of its whole step, if the form belongs to a step.
    #[must_use]
    pub fn text(&self, advice: &[Advice], name: &str, own: &[Setting], form: Form) -> Option<String> {
        if !matches!(form, Form::Parm | Form::Ceeopts | Form::CeeRunopts) {
            return form.text(own);
        }
        let has_no_parm = || self.launcher_of(name).is_some() || self.is_of_any(name);
        if self.is_linked(name) || (form == Form::Parm && has_no_parm()) {
            return None;
        }
        let Some(members) = self.members.get(name) else { return form.text(own) };
        let (all, words) = match members.len() {
            1 => (own.to_vec(), Vec::new()),
            _ => {
                let (mut all, words) = together(advice, members);
                // Settings without advice, such as the options that request the next report.
                let other = |one: &&Setting| {
                    advice
                        .iter()
                        .all(|said| said.option.as_ref().is_none_or(|said| said.option != one.option))
                };
                all.extend(own.iter().filter(other).cloned());
                (all, words)
            }
        };
        let parm = self.parm(name).filter(|_| form == Form::Parm);
        let text = match parm {
            Some((_, parm, rows)) => with_arguments(&all, parm, rows),
            None => form.text(&all),
        }?;
        let mark = if form == Form::CeeRunopts { '#' } else { '*' };
        let comments = words.iter().map(|words| format!("{mark} {words}\n"));
        Some(comments.collect::<String>() + &text)
    }

    fn parm(&self, name: &str) -> Option<&'a (usize, StepParm, Vec<OptionRow>)> {
        let program = self.programs.get(name)?;
        let parms = self.collected?.parms.iter();
        parms.rev().find(|(_, parm, _)| parm.program.as_deref() == Some(program))
    }
}

/// The larger values of all enclaves of a step, and for each option the lines that support it.
fn together(advice: &[Advice], members: &BTreeSet<&str>) -> (Vec<Setting>, Vec<String>) {
    // There may be thousands of each.
    let mut by_name: HashMap<&str, Vec<&Advice>> = HashMap::new();
    for one in advice.iter().filter(|one| one.option.is_some() && members.contains(one.target.as_str())) {
        by_name.entry(&one.target).or_default().push(one);
    }
    let of = |name: &str| by_name.get(name).map_or(&[][..], Vec::as_slice).iter().copied();
    let each: Vec<(&str, Vec<Setting>)> = members.iter().map(|name| (*name, settings_of(of(name)))).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for setting in each.iter().flat_map(|(_, settings)| settings) {
        if !names.contains(&setting.option) {
            names.push(setting.option);
        }
    }
    let (mut all, mut words) = (Vec::new(), Vec::new());
    for option in names {
        let with: Vec<(&str, &Setting)> = each
            .iter()
            .filter_map(|(name, settings)| Some((*name, settings.iter().find(|one| one.option == option)?)))
            .collect();
        let is_set = |one: &&Advice| one.option.as_ref().is_some_and(|one| one.option == option);
        let lowers = |name: &str| of(name).filter(is_set).any(|one| one.kind == Kind::Lower);
        let raises: Vec<_> = with.iter().copied().filter(|(name, _)| !lowers(name)).collect();
        // An enclave that would not lower the value needs the present one, or more.
        let all_lower = raises.is_empty() && with.len() == members.len();
        let counted = if all_lower { &with } else { &raises };
        let merged = larger(counted).map(|mut merged| {
            let goes_down = |at: usize| {
                !all_lower || with.iter().all(|(_, one)| matches!(one.sub_options.get(at), Some(Some(_))))
            };
            let places = merged.sub_options.iter_mut().enumerate();
            places.filter(|(at, _)| !goes_down(*at)).for_each(|(_, value)| *value = None);
            merged
        });
        let Some(merged) = merged.filter(|merged| merged.sub_options.iter().any(Option::is_some)) else {
            words.push(format!("{option}: stays, since enclaves of this step need different values"));
            continue;
        };
        let lines = counted.iter().filter_map(|(name, _)| {
            let line = of(name).find(is_set)?.evidence.first()?.line()?;
            Some(fitted(&format!("{option}: {name} "), &format!("{}:{}", line.file, line.line)))
        });
        words.extend(lines.take(NAMED));
        all.push(merged);
    }
    (all, words)
}

/// Words and a place in the columns of a comment; a place that is too long is cut to its end.
fn fitted(words: &str, place: &str) -> String {
    // The mark and a blank precede it.
    let room = COLUMNS.saturating_sub(2 + words.chars().count());
    let length = place.chars().count();
    if length <= room {
        return format!("{words}{place}");
    }
    let end: String = place.chars().skip(length - room.saturating_sub(3).min(length)).collect();
    format!("{words}...{end}")
}

/// The larger of the sizes at each position; None if there is none, or if sizes of cells differ.
fn larger(all: &[(&str, &Setting)]) -> Option<Setting> {
    let ((_, first), rest) = all.split_first()?;
    let mut merged = (*first).clone();
    let is_pools = merged.option.starts_with("HEAPPOOLS");
    let cells = |setting: &Setting| -> Vec<Option<String>> {
        setting.sub_options.iter().skip(1).step_by(2).cloned().collect()
    };
    for (_, other) in rest {
        if is_pools && cells(&merged) != cells(other) {
            return None;
        }
        for (at, theirs) in other.sub_options.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            if at >= merged.sub_options.len() {
                merged.sub_options.resize(at + 1, None);
            }
            let mine = &mut merged.sub_options[at];
            match mine.as_deref().map(size) {
                None => *mine = Some(theirs.clone()),
                Some(Some(known)) if size(theirs).is_some_and(|other| other > known) => {
                    *mine = Some(theirs.clone());
                }
                Some(_) => {}
            }
        }
    }
    Some(merged)
}

/// PARM with the other parts of the step's statement: its program's arguments, and options that do not change.
fn with_arguments(all: &[Setting], parm: &StepParm, rows: &[OptionRow]) -> Option<String> {
    if all.is_empty() {
        return None;
    }
    let set = |row: &&OptionRow| all.iter().all(|setting| setting.option != row.name);
    let kept = rows.iter().filter(set).map(|row| {
        let no = if row.negative { "NO" } else { "" };
        match row.values.is_empty() {
            true => format!("{no}{}", row.name),
            false => format!("{no}{}({})", row.name, row.values),
        }
    });
    let merged = all.iter().map(|setting| {
        let mut setting = setting.clone();
        if let Some(row) = rows.iter().find(|row| row.name == setting.option && !row.negative) {
            // Options of the statement that no advice changes are kept.
            let values = row.sub_options().into_iter().map(|value| {
                let value = value.trim();
                (!value.is_empty()).then(|| value.to_owned())
            });
            setting.merge(&Setting { option: setting.option, sub_options: values.collect() });
        }
        setting.to_string()
    });
    let options = kept.chain(merged).collect::<Vec<_>>().join(",");
    Some(Form::parm(&options, &parm.arguments, parm.side))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise_listing;
    use crate::render::options::options;

    fn heap(name: &str, initial: u64, total: u64, allocated: u64) -> String {
        let title =
            format!("Storage Report for Enclave {name} 11/20/26 07:31:09 PM\n\n    HEAP statistics:\n");
        let rows = [
            ("Initial size", initial),
            ("Increment size", initial),
            ("Total heap storage used (sugg. initial size)", total),
            ("Successful Get Heap requests", 5000),
            ("Successful Free Heap requests", 5000),
            ("Number of segments allocated", allocated),
            ("Number of segments freed", 0),
        ];
        let rows: String = rows.iter().map(|(label, value)| format!("      {label}: {value}\n")).collect();
        format!("{title}{rows}End of Storage Report\n")
    }

    /// Program and text of each.
    fn texts(listing: &str, form: Form) -> Vec<(String, String)> {
        let mut collected = Collected::default();
        collected.file("job");
        underbar_listing::read(listing.as_bytes()).into_iter().for_each(|item| collected.take(item));
        let advice = advise_listing(&collected);
        options(&collected, &advice, form).into_iter().map(|one| (one.program, one.options)).collect()
    }

    fn check(listing: &str, form: Form, expect: &[(&str, &str)]) {
        let got = texts(listing, form);
        let got: Vec<(&str, &str)> = got.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(got, expect, "{listing}");
    }

    #[test]
    fn a_step_with_several_enclaves_has_one_text_with_the_larger_values() {
        let reports = heap("TAX", 32768, 9_000_000, 270) + &heap("PAY", 32768, 1_187_336, 41);
        let job = |parm: &str| format!("//GO EXEC PGM=PAY{parm}\n{reports}");
        let evidence = "* HEAP: PAY job:18\n* HEAP: TAX job:7\n";
        assert_eq!(fitted("HEAP: PAY ", &format!("{}:18", "x".repeat(90))).len(), 69);
        let parm = |text: &str| format!("{evidence}{text}\n");
        for (given, text) in [
            (",PARM='DAILY,3/'", "PARM='DAILY,3/HEAP(10M,2560K)'"),
            (",PARM='/DAILY,3'", "PARM='HEAP(10M,2560K)/DAILY,3'"),
            (",PARM='RPTOPTS(ON)/IT''S'", "PARM='RPTOPTS(ON),HEAP(10M,2560K)/IT''S'"),
            (",PARM='A/B/HEAP(32K,32K,ANY,KEEP)'", "PARM='A/B/HEAP(10M,2560K,ANY,KEEP)'"),
        ] {
            check(&job(given), Form::Parm, &[("PAY", &parm(text))]);
        }
        check(&job(""), Form::Ceeopts, &[("PAY", &format!("{evidence}HEAP(10M,2560K)\n"))]);
        let each = texts(&job(""), Form::Ceeuopt);
        assert_eq!(each.len(), 2, "what is linked with a program is that program's: {each:?}");
    }

    #[test]
    fn a_step_of_a_launcher_has_no_parm() {
        let reports = heap("TAX", 32768, 9_000_000, 270) + &heap("PAY", 32768, 1_187_336, 41);
        for launcher in ["IKJEFT01", "BPXBATCH", "DFSRRC00"] {
            let step = format!("//GO EXEC PGM={launcher},PARM='PGM PAY'\n");
            check(&format!("{step}{reports}"), Form::Parm, &[]);
            assert_eq!(texts(&format!("{step}{reports}"), Form::Ceeopts).len(), 1, "{launcher}");
            // The step of NET has its own PARM, and the others may be of either step.
            let other = format!("{step}//B EXEC PGM=NET,PARM='DAILY/'\n{reports}");
            let all = other + &heap("NET", 32768, 1_187_336, 41);
            let names: Vec<String> = texts(&all, Form::Parm).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["NET"], "{launcher}");
        }
    }

    #[test]
    fn what_one_enclave_would_lower_stays_if_another_needs_it() {
        let reports = heap("TAX", 16 << 20, 200_000, 1) + &heap("PAY", 16 << 20, 15_000_000, 1);
        check(&format!("//GO EXEC PGM=PAY\n{reports}"), Form::Ceeopts, &[]);
        let both = heap("TAX", 16 << 20, 200_000, 1) + &heap("PAY", 16 << 20, 1_000_000, 1);
        let text = texts(&format!("//GO EXEC PGM=PAY\n{both}"), Form::Ceeopts);
        assert!(text.len() == 1 && text[0].1.ends_with("HEAP(1152K,320K)\n"), "{text:?}");
    }

    #[test]
    fn of_several_steps_each_has_the_enclaves_that_ended_before_its_own() {
        let reports = heap("TAX", 32768, 9_000_000, 270)
            + &heap("PAY", 32768, 1_187_336, 41)
            + &heap("NET", 32768, 1_187_336, 41);
        let steps = "//A EXEC PGM=PAY\n//S EXEC PGM=SORT\n//B EXEC PGM=NET\n";
        let names: Vec<String> =
            texts(&format!("{steps}{reports}"), Form::Parm).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PAY", "NET"]);
        // TAX may be of OTHER, or the name of its enclave, so it has no PARM. The others keep their arguments.
        let steps = steps.replace("PGM=PAY", "PGM=PAY,PARM='DAILY,3/'") + "//C EXEC PGM=OTHER\n";
        let each = texts(&format!("{steps}{reports}"), Form::Parm);
        let each: Vec<(&str, &str)> = each
            .iter()
            .map(|(name, text)| (name.as_str(), text.lines().next().unwrap_or_default()))
            .collect();
        assert_eq!(each, [("PAY", "PARM='DAILY,3/HEAP(1344K,336K)'"), ("NET", "PARM='HEAP(1344K,336K)/'")]);
        assert_eq!(texts(&format!("{steps}{reports}"), Form::Ceeopts).len(), 3);
    }
}
