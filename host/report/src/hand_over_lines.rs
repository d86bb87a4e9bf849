//! Hand-overs in the section of switches: work that goes to another thread or process, and what larger pieces would spare.
//!
//! ```text
//!   hand-over 40,000 in all, 66 B each of those that move bytes, about 40.0 ms; with 10 units at a time 4.00 ms, with 100 400 us
//!   project   hand-overs there and back would take 49.2 ms (6 % of it), with 10 runs at a time 4.92 ms: suitable where ...
//! ```
//!
//! What belongs together is known to the program only: nothing is batched behind its back. The figures are those of the same work in pieces
//! that are so many times as large.
//!
//! Not here: which calls are hand-overs ([`crate::switches`]).

use underbar_ledger::switch_names::SwitchKind;

use crate::switch_costs::SwitchCosts;
use crate::switches::Switches;
use crate::units::{bytes, count, nanoseconds};

/// Hand-overs that are fewer need no batches.
const FEW: u64 = 1_000;
/// Units at a time.
const BATCHES: [u64; 2] = [10, 100];

/// The line of hand-overs, without its label. None: there are few, or their cost is not known.
pub(crate) fn line(switches: &Switches, costs: Option<&SwitchCosts>) -> Option<String> {
    let costs = costs?;
    let all = || switches.calls.iter().filter(|calls| calls.kind == SwitchKind::HandOver.name());
    let sum = all().fold(0_u64, |sum, calls| sum.saturating_add(calls.count));
    let time = all().filter_map(|calls| costs.time(calls)).fold(0_u64, u64::saturating_add);
    if sum < FEW || time == 0 {
        return None;
    }
    let moved = all().filter_map(|calls| Some((calls.count, calls.bytes?)));
    let (calls, moved) = moved.fold((0_u64, 0_u64), |(calls, sum), (count, bytes)| {
        (calls.saturating_add(count), sum.saturating_add(bytes))
    });
    let each = match calls {
        0 => String::new(),
        calls => format!(", {} each of those that move bytes", bytes(moved / calls)),
    };
    let fewer = BATCHES.map(|batch| format!("with {batch} {}{}", word(batch), nanoseconds(time / batch)));
    Some(format!("{} in all{each}, about {}; {}", count(sum), nanoseconds(time), fewer.join(", ")))
}

fn word(batch: u64) -> &'static str {
    if batch == BATCHES[0] { "units at a time " } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switches::Calls;

    #[test]
    fn larger_pieces_spare_what_they_are_larger() {
        let calls = |kind: &str, function: &str, count, bytes| {
            let [component, kind, function] = ["prog", kind, function].map(str::to_owned);
            Calls { component, kind, function, count, bytes }
        };
        let mut switches = Switches {
            calls: vec![
                calls("hand-over", "write", 20_000, Some(1_320_000)),
                calls("hand-over", "read", 20_000, Some(1_320_000)),
                calls("file", "read", 20_000, Some(1_320_000)),
            ],
            ..Switches::default()
        };
        let costs = SwitchCosts { hand_over_ns: 4_000, ..SwitchCosts::default() };
        assert_eq!(
            line(&switches, Some(&costs)).as_deref(),
            Some(
                "40,000 in all, 66 B each of those that move bytes, about 40.0 ms; with 10 units at a time 4.00 ms, with 100 400 us"
            )
        );
        switches.calls.truncate(1);
        switches.calls[0].count = 999;
        assert_eq!((line(&switches, Some(&costs)), line(&switches, None)), (None, None));
    }
}
