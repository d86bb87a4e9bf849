//! Storage that SITES leaves out, by exact counters: what programs requested in ECBs.
//!
//! The available lists of a class have buffers of known sizes. Of other sizes only the number is exact.
//!
//! Not here: samples (`site_record`).

use underbar_ledger::LedgerView;
use underbar_report::ecbs::EcbClass;
use underbar_report::units::{bytes, counted};

/// A sentence for the report; none if there were no ECBs.
pub fn of_ledger(contents: &[u8]) -> Option<String> {
    let view = LedgerView::new(contents).ok()?;
    let classes: Vec<EcbClass> = view
        .slots()
        .flat_map(|slot| slot.classes().map(|class| EcbClass::of(&class)).collect::<Vec<_>>())
        .collect();
    of(classes.iter())
}

/// The same of classes that were read.
pub fn of<'a>(classes: impl Iterator<Item = &'a EcbClass>) -> Option<String> {
    let (mut requests, mut in_lists, mut others) = (0_u64, 0_u64, 0_u64);
    for class in classes {
        for list in &class.lists {
            requests = requests.saturating_add(list.got);
            let size =
                list.list.and_then(|number| class.sizes.get(usize::try_from(number).ok()?.checked_sub(1)?));
            match size {
                Some(size) => in_lists = in_lists.saturating_add(list.got.saturating_mul(*size)),
                None => others = others.saturating_add(list.got),
            }
        }
    }
    if requests == 0 {
        return None;
    }
    let requests = counted(requests, "request", "requests");
    let others = counted(others, "buffer", "buffers");
    Some(format!(
        "Not sampled: {requests} in ECBs, {} in buffers of their lists and {others} of other sizes.",
        bytes(in_lists)
    ))
}

#[cfg(test)]
mod tests {
    use underbar_report::ecbs::EcbList;

    use super::*;

    #[test]
    fn requests_in_ecbs_are_counted_by_their_lists() {
        let list = |list, got| EcbList { list, got, ..EcbList::default() };
        let class = |lists| EcbClass { sizes: vec![128, 4096], lists, ..EcbClass::default() };
        let classes = [
            class(vec![list(Some(1), 1000), list(Some(2), 10), list(None, 3)]),
            class(vec![list(Some(1), 24), list(Some(9), 1)]),
        ];
        assert_eq!(
            of(classes.iter()).as_deref(),
            Some(
                "Not sampled: 1,038 requests in ECBs, 168 KiB in buffers of their lists and 4 buffers of other sizes."
            )
        );
        assert_eq!(of([class(vec![list(Some(1), 0)])].iter()), None);
        assert_eq!(of_ledger(b"no ledger"), None);
    }
}
