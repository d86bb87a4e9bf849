//! Calls of functions of libraries (ZIIP(3GL)) in the section of switches: each function with its caller, and what its calls would cost if
//! each were a switch.
//!
//! ```text
//!   3gl       sqrt_3gl of lib3gl.so: 1,000,000 calls by prog, in a loop; as hand-overs 4.10 s
//! ```
//!
//! Not here: the figures ([`crate::library_calls`]).

use crate::library_calls::LibraryCalls;
use crate::page::clean;
use crate::switch_costs::SwitchCosts;
use crate::switches::Switches;
use crate::units::{count, counted, nanoseconds};

/// Functions that have a line; the others are added up.
const MOST: usize = 12;

/// The lines, without their label.
pub(crate) fn lines(switches: &Switches, costs: Option<&SwitchCosts>) -> Vec<String> {
    let all = &switches.library_calls;
    let mut lines: Vec<String> = all.iter().take(MOST).map(|calls| line(calls, costs)).collect();
    if let Some(rest) = all.get(MOST..).filter(|rest| !rest.is_empty()) {
        let calls = rest.iter().fold(0_u64, |sum, calls| sum.saturating_add(calls.count));
        lines.push(format!("{} more: {}", rest.len(), counted(calls, "call", "calls")));
    }
    if switches.functions_left_out > 0 {
        let functions = counted(switches.functions_left_out, "function is", "functions are");
        lines.push(format!(
            "{functions} not counted: there is room for {}",
            underbar_ledger::switches::CALLED
        ));
    }
    lines
}

fn line(calls: &LibraryCalls, costs: Option<&SwitchCosts>) -> String {
    let name = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { clean(text) };
    let (function, library) =
        (name(&calls.function, "several functions"), name(&calls.library, "these libraries"));
    let caller = name(&calls.caller, "code of no module");
    let places = match calls.places {
        _ if calls.is_in_loop() && calls.places == 1 => ", in a loop".to_owned(),
        _ if calls.is_in_loop() => {
            format!(", {} of them in a loop", count(calls.busiest))
        }
        0 => String::new(),
        places => format!(", from {}", counted(places, "place", "places")),
    };
    let would = costs.filter(|costs| costs.hand_over_ns > 0 && calls.is_in_loop()).map(|costs| {
        let time = calls.count.saturating_mul(costs.hand_over_ns);
        format!("; as hand-overs {}", nanoseconds(time))
    });
    format!(
        "{function} of {library}: {} by {caller}{places}{}",
        counted(calls.count, "call", "calls"),
        would.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_a_loop_have_their_cost() {
        let calls = |function: &str, count, places, busiest| LibraryCalls {
            library: "lib3gl.so".to_owned(),
            function: function.to_owned(),
            caller: "prog".to_owned(),
            count,
            places,
            busiest,
        };
        let mut switches = Switches {
            library_calls: vec![
                calls("sqrt_3gl", 1_000_000, 1, 1_000_000),
                calls("both", 6_000, 2, 5_000),
                calls("few", 20, 3, 10),
                calls("", 1, 0, 0),
            ],
            ..Switches::default()
        };
        let costs = SwitchCosts { hand_over_ns: 4_100, ..SwitchCosts::default() };
        assert_eq!(
            lines(&switches, Some(&costs)),
            [
                "sqrt_3gl of lib3gl.so: 1,000,000 calls by prog, in a loop; as hand-overs 4.10 s",
                "both of lib3gl.so: 6,000 calls by prog, 5,000 of them in a loop; as hand-overs 24.6 ms",
                "few of lib3gl.so: 20 calls by prog, from 3 places",
                "several functions of lib3gl.so: 1 call by prog",
            ]
        );
        switches.library_calls = (0..20).map(|at| calls("f", 100 - at, 1, 5)).collect();
        switches.functions_left_out = 7;
        let lines = lines(&switches, None);
        assert_eq!(
            lines[MOST..],
            ["8 more: 676 calls", "7 functions are not counted: there is room for 1024"]
        );
    }
}
