//! How the table of options is searched.
//!
//! Every sub-option of every option has a number of its own, its *slot*: slots are numbered through the
//! table, so that the settings are one flat array and need no code per option.
//!
//! ```text
//! OPTIONS[i].sub_options[j]   <->   slot = START[i] + j        0 <= slot < SLOTS
//! ```
//!
//! Not here: the rows themselves (`table`).

use crate::table::OPTIONS;

/// The place in [`OPTIONS`] of the option that `word` names or abbreviates, without regard to case.
pub fn find_option(word: &[u8]) -> Option<usize> {
    let first = word.first()?.to_ascii_uppercase();
    OPTIONS.iter().position(|entry| entry.name.as_bytes()[0] == first && entry.is_called(word))
}

/// How many sub-options all options have together.
pub const SLOTS: usize = START[OPTIONS.len()];

/// The slot of the first sub-option of each option, and the end.
pub(crate) const START: [usize; OPTIONS.len() + 1] = {
    let mut start = [0; OPTIONS.len() + 1];
    let mut index = 0;
    while index < OPTIONS.len() {
        start[index + 1] = start[index] + OPTIONS[index].sub_options.len();
        index += 1;
    }
    start
};

/// The place in the table of the option of exactly this name. Only for constants: a wrong name does not build.
pub(crate) const fn option_named(name: &str) -> usize {
    let mut index = 0;
    while index < OPTIONS.len() {
        if same(OPTIONS[index].name, name) {
            return index;
        }
        index += 1;
    }
    panic!("no such option")
}

/// The slot of a sub-option by exact names. Only for constants: a wrong name does not build.
pub(crate) const fn slot_named(option: &str, sub_option: &str) -> usize {
    let index = option_named(option);
    let mut position = 0;
    while position < OPTIONS[index].sub_options.len() {
        if same(OPTIONS[index].sub_options[position].name, sub_option) {
            return START[index] + position;
        }
        position += 1;
    }
    panic!("no such sub-option")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}
