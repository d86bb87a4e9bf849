//! Calls of functions of libraries by other components, under ZIIP(3GL(file,file)): who calls what, how often, from how many places.
//!
//! ```text
//! "library_calls": [{"library": "lib3gl.so", "function": "sqrt_3gl", "caller": "prog", "count": 1000000, "places": 1,
//!                    "busiest": 1000000}]
//! ```
//!
//! Invariant: each triple of library, function and caller is there once, the most calls first. A library's calls of itself are not there.
//! Not here: how they are counted (`runtime::switch::called`), lines for people ([`crate::library_call_lines`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::SlotView;
use underbar_ledger::switches::{FIRST_CALLED, OVERFLOW};

/// Calls of one function by one component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryCalls {
    /// File name of the library.
    pub library: String,
    /// The function; empty: functions for whose places there was no room, together.
    pub function: String,
    /// File name of the module that called; empty: code of no module.
    pub caller: String,
    /// Calls.
    pub count: u64,
    /// Places in the caller's code that called; 0: not known.
    pub places: u64,
    /// Calls from the place that called most often, since the start; 0: not known.
    pub busiest: u64,
}

/// A place that called so often is in a loop.
pub const IN_A_LOOP: u64 = 1_000;

impl LibraryCalls {
    /// Whether a place of the caller is in a loop, by its count.
    #[must_use]
    pub fn is_in_loop(&self) -> bool {
        self.busiest >= IN_A_LOOP
    }

    /// Those of a slot; `named` gives a module its name.
    pub(crate) fn of_slot(slot: &SlotView<'_>, named: &dyn Fn(&[u8]) -> String) -> Vec<Self> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut sums: BTreeMap<(usize, usize), (u64, BTreeMap<u64, u64>)> = BTreeMap::new();
        for site in slot.sites() {
            // The last place of overflows is that of all these functions.
            if site.function >= FIRST_CALLED || site.function == OVERFLOW - 1 {
                let sum = sums.entry((site.function, site.row)).or_default();
                sum.0 = sum.0.saturating_add(site.count);
                let place = sum.1.entry(site.offset).or_default();
                *place = place.saturating_add(site.count);
            }
        }
        for noted in slot.noted_switches() {
            if let Some(sum) = sums.get_mut(&(noted.function, noted.row)) {
                sum.0 = sum.0.saturating_sub(noted.count);
            }
        }
        let mut all: BTreeMap<(String, String, String), Self> = BTreeMap::new();
        for ((number, row), (count, places)) in sums {
            let (function, library) = slot.called_function(number);
            let key = (text(library), text(function), named(slot.module_of_row(row)));
            if count == 0 || key.0 == key.2 {
                continue;
            }
            // Without addresses, as in the sum of several processes, places are not known.
            let known = || places.iter().filter(|(offset, _)| **offset > 0);
            let one = all.entry(key.clone()).or_insert_with(|| {
                let (library, function, caller) = key;
                Self { library, function, caller, ..Self::default() }
            });
            one.count = one.count.saturating_add(count);
            one.places += known().count() as u64;
            one.busiest = known().map(|(_, count)| *count).fold(one.busiest, u64::max);
        }
        let mut all: Vec<Self> = all.into_values().collect();
        all.sort_by(|a, b| {
            (b.count, &a.library, &a.function, &a.caller).cmp(&(a.count, &b.library, &b.function, &b.caller))
        });
        all
    }
}

/// The schema.
pub(crate) fn schema() -> Value {
    let text = |words: &str| json!({"type": "string", "description": words});
    let number = |words: &str| json!({"type": "integer", "minimum": 0, "description": words});
    json!({"type": "array", "items": {
        "type": "object",
        "description": "Calls of one function of a library by one other component, under ZIIP(3GL).",
        "properties": {
            "library": text("File name of the library."),
            "function": text("The function; empty: functions for whose places there was no room, together."),
            "caller": text("File name of the module that called; empty: code of no module."),
            "count": number("Calls."),
            "places": number("Places in the caller's code that called; 0: not known."),
            "busiest": number("Calls from the place that called most often, since the start; 0: not known."),
        },
        "required": ["library", "function", "caller", "count", "places", "busiest"],
    }})
}
