//! The Natural data of the listings, by session.
//!
//! Invariant: memory is bounded. Reports of one user are one session, however often it ran. Parameters belong to the only
//! session. If there are several, their session is unknown, and the parameters get separate advice.

use underbar_listing::Evidence;
use underbar_listing::natural::{
    BufferUsage, FetchClause, Natural, Parameter, ParameterCarrier, ParameterText, SwitchTable,
};

const MOST: usize = 2_000;

/// Reports, parameters, tables and clauses, each with the number of its file.
#[derive(Default)]
pub struct Sessions {
    /// Buffer usage statistics.
    pub reports: Vec<(usize, BufferUsage)>,
    /// Texts of parameters.
    pub parameters: Vec<(usize, ParameterText)>,
    /// Tables of switches.
    pub switches: Vec<(usize, SwitchTable)>,
    /// Clauses in programs.
    pub clauses: Vec<(usize, FetchClause)>,
    /// The place of component switch statistics, which are not read.
    pub components: Option<(usize, Evidence)>,
}

/// One session.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Its name in advice.
    pub name: String,
    /// The user, if reports name one.
    pub user: Option<String>,
    /// Whether reports are its own.
    pub has_reports: bool,
    /// Whether parameters, tables and clauses belong to it.
    pub has_parameters: bool,
}

/// The setting of a parameter.
pub(super) enum Set<'a> {
    /// It is in no text.
    Absent,
    /// To this value, in this file.
    To(usize, ParameterCarrier, &'a Parameter),
    /// To a value that cannot be read.
    Unreadable(usize, &'a Parameter),
    /// To different values in places of the same rank.
    Differently(Vec<(usize, &'a Parameter)>),
}

impl Sessions {
    /// Takes a finding; false if there are too many.
    pub fn take(&mut self, file: usize, found: Natural) -> bool {
        fn push<T>(all: &mut Vec<(usize, T)>, file: usize, one: T) -> bool {
            let room = all.len() < MOST;
            if room {
                all.push((file, one));
            }
            room
        }
        match found {
            Natural::Buffers(report) => push(&mut self.reports, file, *report),
            Natural::Parameters(text) => push(&mut self.parameters, file, text),
            Natural::Switches(table) => push(&mut self.switches, file, table),
            Natural::Fetch(clause) => push(&mut self.clauses, file, clause),
        }
    }

    /// Whether there is no Natural data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions().is_empty()
    }

    /// Records a report that was not read.
    pub fn not_read(&mut self, file: usize, why: &str, evidence: &Evidence) {
        if self.components.is_none() && why.starts_with("component switch statistics") {
            self.components = Some((file, evidence.clone()));
        }
    }

    /// The sessions, in the order of the listings.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        let mut all: Vec<Session> = Vec::new();
        for (_, report) in &self.reports {
            if all.iter().all(|session| session.user != report.user) {
                let name =
                    report.user.as_ref().map_or("Natural".to_owned(), |user| format!("Natural {user}"));
                let user = report.user.clone();
                all.push(Session { name, user, has_reports: true, has_parameters: false });
            }
        }
        let others = !self.parameters.is_empty()
            || !self.switches.is_empty()
            || !self.clauses.is_empty()
            || self.components.is_some();
        match &mut all[..] {
            [one] => one.has_parameters = true,
            _ if others => {
                let name = "Natural".to_owned();
                match all.iter_mut().find(|session| session.name == name) {
                    Some(unnamed) => unnamed.has_parameters = true,
                    None => all.push(Session { name, user: None, has_reports: false, has_parameters: true }),
                }
            }
            _ => {}
        }
        all
    }

    /// Its reports, with their files.
    pub(super) fn runs(&self, session: &Session) -> impl Iterator<Item = &(usize, BufferUsage)> {
        let (own, user) = (session.has_reports, session.user.clone());
        self.reports.iter().filter(move |(_, report)| own && report.user == user)
    }

    /// How many reports there are of it, and how doubtful they are.
    pub(crate) fn known(&self, session: &Session) -> underbar_model::Program {
        let (runs, doubts) = self
            .runs(session)
            .fold((0, 0), |(runs, doubts), (_, report)| (runs + 1, doubts + report.doubts.len()));
        underbar_model::Program { name: session.name.clone(), runs, doubts }
    }

    /// Its sound reports.
    pub(super) fn sound(&self, session: &Session) -> impl Iterator<Item = &(usize, BufferUsage)> {
        self.runs(session).filter(|(_, report)| report.is_sound())
    }

    /// The setting of a Natural parameter for a session.
    pub(super) fn parameter(&self, session: &Session, name: &str) -> Set<'_> {
        self.set(session, name, |carrier| carrier != ParameterCarrier::Adarun)
    }

    /// The setting of an ADARUN parameter.
    pub(super) fn adarun(&self, session: &Session, name: &str) -> Set<'_> {
        self.set(session, name, |carrier| carrier == ParameterCarrier::Adarun)
    }

    fn set(&self, session: &Session, name: &str, which: fn(ParameterCarrier) -> bool) -> Set<'_> {
        let texts =
            || self.parameters.iter().filter(|(_, text)| session.has_parameters && which(text.carrier));
        let rows =
            texts().flat_map(|(file, text)| text.rows.iter().map(move |row| (*file, text.carrier, row)));
        let rows: Vec<_> = rows.filter(|(_, _, row)| row.name == name).collect();
        let refused = texts()
            .flat_map(|(file, text)| text.refused.iter().map(move |row| (*file, text.carrier, row)))
            .filter(|(_, _, row)| row.name == name)
            .min_by_key(|(_, carrier, _)| *carrier);
        let highest = rows.iter().map(|(_, carrier, _)| *carrier).min();
        if let Some((file, carrier, row)) = refused
            && highest.is_none_or(|highest| carrier <= highest)
        {
            return Set::Unreadable(file, row);
        }
        let Some(highest) = highest else { return Set::Absent };
        let highest: Vec<_> = rows.into_iter().filter(|(_, carrier, _)| *carrier == highest).collect();
        let (file, carrier, row) = highest[highest.len() - 1];
        if highest.iter().all(|(_, _, other)| other.value == row.value) {
            Set::To(file, carrier, row)
        } else {
            Set::Differently(highest.into_iter().map(|(file, _, row)| (file, row)).collect())
        }
    }

    /// The first text of Natural parameters, as evidence for a parameter that is in none of them.
    pub(super) fn any_text(&self, session: &Session) -> Option<&(usize, ParameterText)> {
        let natural = |text: &ParameterText| text.carrier != ParameterCarrier::Adarun;
        self.parameters.iter().find(|(_, text)| {
            let told = text.rows.iter().any(|row| !matches!(row.name, "FBL" | "RBL"));
            session.has_parameters && natural(text) && told
        })
    }

    /// Whether zIIP support is switched off.
    pub(super) fn is_off(&self, session: &Session) -> bool {
        let Set::To(_, _, row) = self.parameter(session, "ZIIP") else { return false };
        row.parts().first() == Some(&"OFF")
    }
}
