//! Parameters of Natural and ADARUN before and after.
//!
//! Invariant: the values in force are compared: of several texts, the one that overrides the others. Values that differ
//! within one listing are named and not compared. A parameter in no text is `-`, not its default.
//! Not here: which text overrides which (`natural::sessions`).

use super::super::Collected;
use super::super::sessions::{Session, Set};
use super::Comparison;
use super::subject::{Known, Subject};

const NAME: &str = "Natural: parameters";

/// Compares the parameters of the only session that has them.
pub(super) fn compare(old: &Collected, new: &Collected, comparison: &mut Comparison) {
    let (one, two) = (names(old), names(new));
    if one.is_empty() || two.is_empty() {
        let name = |names: &[(bool, &str)]| (!names.is_empty()).then(|| NAME.to_owned());
        return comparison.alone(name(&one), name(&two));
    }
    let mut subject = Subject::new(NAME, NAME, [1, 1]);
    subject.group("PARAMETERS");
    let [old_session, new_session] = [old, new].map(session);
    let mut all = one.clone();
    all.extend(two.iter().filter(|name| !one.contains(name)));
    for (adarun, name) in all {
        let label = if adarun { format!("ADARUN {name}") } else { name.to_owned() };
        let was = value(old, &old_session, (adarun, name));
        let is = value(new, &new_session, (adarun, name));
        for (side, value) in [("old", &was), ("new", &is)] {
            if let Err(why) = value {
                subject.notes.push(format!("{side}: {label} {why}: not compared"));
            }
        }
        if let (Ok(was), Ok(is)) = (was, is) {
            subject.row(label, was, is);
        }
    }
    for (side, collected) in [("old", old), ("new", new)] {
        subject.doubts(side, collected.natural.parameters.iter().flat_map(|(_, text)| &text.doubts));
    }
    comparison.subjects.push(subject);
}

/// Each parameter once, in order: whether it is ADARUN's, and its name.
fn names(collected: &Collected) -> Vec<(bool, &'static str)> {
    let mut all = Vec::new();
    for (_, text) in &collected.natural.parameters {
        for row in &text.rows {
            let name = (text.carrier == underbar_listing::natural::ParameterCarrier::Adarun, row.name);
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

fn session(collected: &Collected) -> Session {
    let mut all = collected.natural.sessions().into_iter();
    all.find(|session| session.has_parameters).unwrap_or_default()
}

/// The value in force, or why it is unknown.
fn value(
    collected: &Collected,
    session: &Session,
    (adarun, name): (bool, &str),
) -> Result<Option<Known>, String> {
    let natural = &collected.natural;
    let set = if adarun { natural.adarun(session, name) } else { natural.parameter(session, name) };
    match set {
        Set::Absent => Ok(None),
        Set::To(_, _, row) => Ok(Some(Known::text(&row.value))),
        Set::Unreadable(_, row) => Err(format!("cannot be read, line {}", row.evidence.line)),
        Set::Differently(rows) => {
            let lines: Vec<String> = rows.iter().map(|(_, row)| row.evidence.line.to_string()).collect();
            Err(format!("is set differently in places of the same rank, lines {}", lines.join(", ")))
        }
    }
}
