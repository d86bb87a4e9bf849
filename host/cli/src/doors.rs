//! The doors: the headings of the help, and the row of each command below them.
//!
//! Not here: the rows ([`crate::commands`]), and the help that is made of them ([`crate::table`]).

/// The users of a command: its heading in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// It runs programs, prepares their runs, or reads their reports.
    Programs,
    /// It reads listings, or reads and writes program libraries and record files.
    Mainframe,
    /// It explains the command itself.
    Help,
}

impl Door {
    /// All of them, in the order of the help.
    pub const ALL: [Door; 3] = [Door::Programs, Door::Mainframe, Door::Help];

    /// The heading above its commands.
    pub fn heading(self) -> &'static str {
        match self {
            Door::Programs => "For Linux programs",
            Door::Mainframe => "For mainframe listings and libraries",
            Door::Help => "Help",
        }
    }
}

/// The properties of a command in its row of the table, without its flags and its sentence.
pub struct Row {
    /// The name of its variant.
    pub variant: &'static str,
    /// Its heading in the help.
    pub door: Door,
    /// The exit status of wrong usage: that of a failure of our own where a program
    /// of the user's would run, that of no answer elsewhere.
    pub wrong_usage: u8,
}

impl Row {
    /// Is it the row of the command of this name?
    pub fn is_of(&self, name: &str) -> bool {
        self.variant.to_ascii_lowercase() == name
    }
}
