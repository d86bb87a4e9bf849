//! Programs of the system that start the program of a step, and take its PARM for themselves.
//!
//! ```text
//! //GO EXEC PGM=IKJEFT01,PARM='CALL ''PAY.LOAD(PAY)'''     PARM is a TSO command
//! //GO EXEC PGM=BPXBATCH,PARM='PGM /u/pay/bin/pay'         PARM is a command of z/OS UNIX
//! ```
//!
//! Invariant: run-time options are neither read from the PARM of such a step, nor written for it.
//! Not here: how PARM of other steps is read ([`crate::parm`]).

/// Where programs that are started so find their run-time options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A CEEOPTS data set of the step, or the program itself (CEEUOPT).
    DataSet,
    /// The environment, since a program that is executed from the shell ignores data sets.
    Environment,
    /// Only the program itself.
    Program,
}

/// The launchers, in order of their names.
const LAUNCHERS: &[(&str, Place)] = &[
    ("AOPBATCH", Place::Environment),
    ("BPXATSL", Place::Environment),
    ("BPXBATA2", Place::Environment),
    ("BPXBATA8", Place::Environment),
    ("BPXBATCH", Place::Environment),
    ("BPXBATSL", Place::Environment),
    ("DFSRRC00", Place::Program),
    ("IKJEFT01", Place::DataSet),
    ("IKJEFT1A", Place::DataSet),
    ("IKJEFT1B", Place::DataSet),
    ("IRXJCL", Place::DataSet),
];

/// The place of the options for programs that this program of a step starts; `None` if its PARM may have options itself.
#[must_use]
pub fn place_behind(program: &str) -> Option<Place> {
    LAUNCHERS.iter().find(|(name, _)| *name == program).map(|(_, place)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Item;

    #[test]
    fn parm_of_a_launcher_has_no_options() {
        for (name, _) in LAUNCHERS {
            for parm in ["CALL ''PAY.LOAD(PAY)'' ''/HEAP(1M)''", "HEAP(1M)/SH x", "BMP,PAY,PSB"] {
                let statement = format!("//GO EXEC PGM={name},PARM='{parm}'\n");
                let items = crate::read(statement.as_bytes());
                let is_text = |item: &&Item| matches!(item, Item::Text(_) | Item::Parm(_));
                assert_eq!(items.iter().find(is_text), None, "{statement}");
                let unread = items.iter().any(|item| matches!(item, Item::Unread(_)));
                assert_eq!(unread, parm.contains("HEAP"), "{statement}: {items:?}");
            }
        }
        assert_eq!((place_behind("PAY"), place_behind("IKJEFT01")), (None, Some(Place::DataSet)));
    }
}
