//! The options in the listings: their file, enclave and text, and which of several is in force.
//!
//! ```text
//! rows    [Placed] [Placed] [Placed]...     in the order of the listings, at most MOST of them
//! named   HEAP -> 0, 2   STACK -> 1         all rows of a name
//! own     enclave -> HEAP -> 2              the last row of its own options report
//! plain   HEAP -> rank, 0                   of the rows without an enclave, the one that outranks the others
//! ```
//!
//! Invariant: `own` and `plain` point to rows that are kept; if two places of one rank differ, `plain` points to none.
//! Not here: errors in options (`option_checks`), and the place where an option has to be changed (`place`).

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use underbar_listing::{Carrier, OptionRow};

/// At most this many are kept.
const MOST: usize = 2_000;
/// A repetition within this many rows is kept once.
const ALIKE: usize = 256;

/// An option and its place.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The number of the file.
    pub file: usize,
    /// The program, if an options report names it.
    pub enclave: Option<String>,
    /// The kind of text that contains it; None for a row of an options report.
    pub carrier: Option<Carrier>,
    /// The option.
    pub row: OptionRow,
}

/// All options in the listings.
#[derive(Default)]
pub struct InSight {
    rows: Vec<Placed>,
    /// The indexes in `rows` of the options with a name.
    named: HashMap<String, Vec<usize>>,
    /// The indexes in `rows` of the last options of an enclave.
    own: HashMap<String, HashMap<String, usize>>,
    /// The rank and the index of each option without an enclave; the index is None if places of one rank differ.
    plain: HashMap<String, (u8, Option<usize>)>,
}

impl InSight {
    /// All of them, in the order of the listings.
    #[must_use]
    pub fn rows(&self) -> &[Placed] {
        &self.rows
    }

    /// Those in texts: no report says that they are in force.
    pub(super) fn in_texts(&self) -> impl Iterator<Item = &Placed> {
        self.rows.iter().filter(|placed| placed.row.is_in_a_text())
    }

    /// Those in options reports.
    pub(super) fn in_reports(&self) -> impl DoubleEndedIterator<Item = &Placed> {
        self.rows.iter().filter(|placed| !placed.row.is_in_a_text())
    }

    /// All places of an option, in the order of the listings.
    pub(super) fn named(&self, name: &str) -> impl DoubleEndedIterator<Item = &Placed> {
        let places = self.named.get(name).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|at| self.rows.get(*at))
    }

    /// Takes one; false if there is no room for more.
    pub(super) fn take(&mut self, placed: Placed) -> bool {
        let last = self.rows.len();
        let again = (last.saturating_sub(ALIKE)..last).rev().find(|at| self.rows[*at].says_the_same(&placed));
        if again.is_none() && last >= MOST {
            return false;
        }
        let (at, name) = (again.unwrap_or(last), &placed.row.name);
        if let Some(enclave) = &placed.enclave {
            self.own.entry(enclave.clone()).or_default().insert(name.clone(), at);
        }
        if again.is_some() {
            return true;
        }
        if placed.enclave.is_none() {
            let rank = placed.rank();
            let (known, first) = self.plain.entry(name.clone()).or_insert((rank, Some(at)));
            let values = |at: usize| self.rows.get(at).map(|known| &known.row.values);
            if rank > *known {
                (*known, *first) = (rank, Some(at));
            } else if rank == *known {
                *first = first.filter(|first| *first == at || values(*first) == Some(&placed.row.values));
            }
        }
        self.named.entry(name.clone()).or_default().push(at);
        self.rows.push(placed);
        true
    }

    /// The options in reports: storage options first, then every other. After them, the storage options in texts that no report
    /// shows: the highest place of each comes first, and the source of the others names the text that outranks them. Only a
    /// report says that a text is in force.
    #[must_use]
    pub fn in_force(&self) -> Vec<Placed> {
        let ours = |placed: &&Placed| {
            let name = placed.row.name.as_str();
            name.contains("HEAP") || name.contains("STACK") || matches!(name, "ALL31" | "STORAGE")
        };
        let mut found: Vec<Placed> = self.in_reports().filter(ours).cloned().collect();
        found.extend(self.in_reports().filter(|placed| !ours(placed)).cloned());
        let reported: HashSet<&str> =
            self.in_reports().filter(ours).map(|placed| placed.row.name.as_str()).collect();
        let texts = self.in_texts().filter(ours).filter_map(|placed| Some((placed, placed.carrier?)));
        let mut texts: Vec<_> =
            texts.filter(|(placed, _)| !reported.contains(placed.row.name.as_str())).collect();
        texts.sort_by_key(|(placed, _)| Reverse(placed.rank()));
        let mut highest: HashMap<&str, (u8, Carrier)> = HashMap::new();
        for (placed, carrier) in texts {
            let own = placed.rank();
            let (above, by) = *highest.entry(&placed.row.name).or_insert((own, carrier));
            let outranked = match above > own {
                true => format!(", outranked in what it sets by {}", words(by)),
                false => String::new(),
            };
            let row = OptionRow { source: format!("{}{outranked}", words(carrier)), ..placed.row.clone() };
            found.push(Placed { row, ..placed.clone() });
        }
        found
    }

    /// The known setting of an option for a program: from an options report with its name, else from the place that outranks
    /// the others. None if two of one rank differ.
    #[must_use]
    pub fn option_of(&self, program: &str, name: &str) -> Option<&Placed> {
        let own = self.own.get(program).and_then(|options| options.get(name));
        let at = own.or_else(|| self.plain.get(name)?.1.as_ref())?;
        self.rows.get(*at)
    }
}

impl Placed {
    fn says_the_same(&self, other: &Self) -> bool {
        let what = |placed: &Self| (placed.file, placed.carrier, placed.row.negative, placed.row.overridable);
        let words = |row: &'_ OptionRow, other: &'_ OptionRow| {
            (&row.name, &row.values, &row.source) == (&other.name, &other.values, &other.source)
        };
        words(&self.row, &other.row) && what(self) == what(other) && self.enclave == other.enclave
    }

    /// Which of several is in force, highest first: options that cannot be overridden, a report, PARM and `_CEE_RUNOPTS`,
    /// CEEOPTS, options linked with the program, members of the system.
    fn rank(&self) -> u8 {
        match self.carrier {
            _ if self.row.overridable == Some(false) => 5,
            None => 4,
            Some(Carrier::Parm | Carrier::CeeRunopts) => 3,
            Some(Carrier::Ceeopts) => 2,
            Some(Carrier::Ceeuopt) => 1,
            Some(Carrier::Ceeprm | Carrier::Ceecopt) => 0,
        }
    }
}

/// The carrier of a text, in words.
fn words(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Parm => "PARM",
        Carrier::CeeRunopts => "_CEE_RUNOPTS",
        Carrier::Ceeopts => "CEEOPTS or a bare text",
        Carrier::Ceeuopt => "CEEUOPT, CEEROPT or the source",
        Carrier::Ceeprm => "CEEPRMxx",
        Carrier::Ceecopt => "CEEPRMxx (CEECOPT)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::Collected;

    fn in_sight(texts: &str) -> InSight {
        let mut collected = Collected::default();
        collected.file("job");
        underbar_listing::read(texts.as_bytes()).into_iter().for_each(|item| collected.take(item));
        collected.options
    }

    #[test]
    fn texts_are_shown_with_what_outranks_them() {
        let texts = "CEEDOPT(HEAP(64K,32K),STACK(128K,128K))\n//CEEOPTS DD *\nHEAP(2M,1M)\n/*\nexport _CEE_RUNOPTS=\"STACK(512K)\"\n";
        let shown: Vec<String> = in_sight(texts)
            .in_force()
            .iter()
            .map(|shown| format!("{}({}) {}", shown.row.name, shown.row.values, shown.row.source))
            .collect();
        assert_eq!(
            shown,
            [
                "STACK(512K) _CEE_RUNOPTS",
                "HEAP(2M,1M) CEEOPTS or a bare text",
                "HEAP(64K,32K) CEEPRMxx, outranked in what it sets by CEEOPTS or a bare text",
                "STACK(128K,128K) CEEPRMxx, outranked in what it sets by _CEE_RUNOPTS",
            ]
        );
    }

    #[test]
    fn what_is_said_again_is_kept_once_and_places_of_one_rank_that_differ_are_no_place() {
        let same = "HEAP(2M,1M)\n\nHEAP(2M,1M)\n";
        let known =
            |text: &str| in_sight(text).option_of("PAY", "HEAP").map(|placed| placed.row.values.clone());
        assert_eq!((in_sight(same).rows().len(), known(same).as_deref()), (1, Some("2M,1M")));
        let differ = "HEAP(2M,1M)\n\nHEAP(3M,1M)\n";
        assert_eq!((in_sight(differ).named("HEAP").count(), known(differ)), (2, None));
        assert_eq!(in_sight(differ).named("STACK").count(), 0);
        let above = format!("{differ}\nexport _CEE_RUNOPTS=\"HEAP(4M)\"\n");
        assert_eq!(known(&above).as_deref(), Some("4M"));
    }

    #[test]
    fn what_an_options_report_showed_last_is_its_enclaves() {
        let report = |size: &str| {
            let row = format!("Invocation command             HEAP({size},32768,ANYWHERE,KEEP,8192,4096)\n");
            format!(
                "Options Report for Enclave PAY 11/20/26\n\nLAST WHERE SET                 OPTION\n{row}\n"
            )
        };
        let all = in_sight(&["1M", "2M", "1M"].map(report).concat());
        let known = all.option_of("PAY", "HEAP").map(|placed| placed.row.values.clone());
        assert_eq!((all.rows().len(), known.as_deref()), (2, Some("1M,32768,ANYWHERE,KEEP,8192,4096")));
    }

    #[test]
    fn more_than_are_kept_are_refused() {
        let placed = |at: usize| Placed {
            file: at,
            enclave: None,
            carrier: Some(Carrier::Ceeopts),
            row: OptionRow {
                source: String::new(),
                overridable: None,
                name: "HEAP".to_owned(),
                negative: false,
                values: at.to_string(),
                evidence: underbar_listing::Evidence { line: 1, text: String::new() },
            },
        };
        let mut all = InSight::default();
        assert!((0..MOST).all(|at| all.take(placed(at))));
        assert!(!all.take(placed(MOST)) && all.take(placed(MOST - 1)), "one that is known needs no room");
        assert_eq!(all.rows().len(), MOST);
    }
}
