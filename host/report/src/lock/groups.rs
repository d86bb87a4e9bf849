//! Many locks that the reader sees as one: a lock in each of a thousand elements, first waited for at the same call.
//!
//! Invariant: every lock is in exactly one group; fewer than [`FROM`] locks of a call are not grouped.
//! Not here: JSON, which has each lock.

use crate::locks::{Lock, Locks};

/// The least number of locks that are shown as one.
pub const FROM: usize = 4;

/// Locks that are shown together under the one with the longest waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group<'a> {
    /// The locks, in the order of the report.
    pub locks: Vec<&'a Lock>,
    /// All of them as one: figures are summed, except the longest wait. Name and sort are those of the first lock.
    pub together: Lock,
}

/// The locks in groups, the longest wait first.
#[must_use]
pub fn groups(locks: &Locks) -> Vec<Group<'_>> {
    let mut by_site: Vec<Vec<&Lock>> = Vec::new();
    for lock in &locks.locks {
        let same = by_site.iter_mut().find(|group| {
            let other = group[0];
            other.first_site == lock.first_site && other.sort == lock.sort
        });
        match same {
            Some(group) => group.push(lock),
            None => by_site.push(vec![lock]),
        }
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for group in by_site {
        if group.len() >= FROM {
            groups.push(Group { together: together(&group), locks: group });
        } else {
            groups.extend(group.into_iter().map(|lock| Group { together: lock.clone(), locks: vec![lock] }));
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.together.wait_ns));
    groups
}

fn together(locks: &[&Lock]) -> Lock {
    let mut sum = locks[0].clone();
    let add = |a: &mut Option<u64>, b: Option<u64>| {
        *a = match (*a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
    };
    for lock in &locks[1..] {
        for (mine, theirs) in [
            (&mut sum.contended, lock.contended),
            (&mut sum.wait_ns, lock.wait_ns),
            (&mut sum.given_up, lock.given_up),
            (&mut sum.same_holder, lock.same_holder),
            (&mut sum.waiting, lock.waiting),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in [
            (&mut sum.spun, lock.spun),
            (&mut sum.parked, lock.parked),
            (&mut sum.woken, lock.woken),
            (&mut sum.spin_ns, lock.spin_ns),
            (&mut sum.spin_share_millionths, lock.spin_share_millionths),
            (&mut sum.runnable_ns, lock.runnable_ns),
            (&mut sum.looked, lock.looked),
        ] {
            add(mine, theirs);
        }
        sum.wait_max_ns = sum.wait_max_ns.max(lock.wait_max_ns);
        sum.histogram.resize(sum.histogram.len().max(lock.histogram.len()), 0);
        for (mine, theirs) in sum.histogram.iter_mut().zip(&lock.histogram) {
            *mine = mine.saturating_add(*theirs);
        }
        for (mine, theirs) in [(&mut sum.waiters, &lock.waiters), (&mut sum.holders, &lock.holders)] {
            for site in theirs {
                match mine.iter_mut().find(|known| known.place == site.place) {
                    Some(known) => {
                        known.count = known.count.saturating_add(site.count);
                        known.ns = known.ns.saturating_add(site.ns);
                    }
                    None => mine.push(site.clone()),
                }
            }
        }
        for call in &lock.blocked {
            match sum.blocked.iter_mut().find(|known| known.number == call.number) {
                Some(known) => known.count = known.count.saturating_add(call.count),
                None => sum.blocked.push(call.clone()),
            }
        }
    }
    sum.waiters.sort_by_key(|site| std::cmp::Reverse(site.ns));
    sum.holders.sort_by_key(|site| std::cmp::Reverse(site.ns));
    sum.blocked.sort_by_key(|call| std::cmp::Reverse(call.count));
    sum.p50_ns = crate::spread::Spread::of(&sum.histogram, 50, sum.wait_max_ns);
    sum.p99_ns = crate::spread::Spread::of(&sum.histogram, 99, sum.wait_max_ns);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample;

    #[test]
    fn many_locks_of_one_call_are_one() {
        let mut locks = sample::locks();
        let shard = locks.locks[1].clone();
        for number in 0..FROM as u64 {
            let mut lock = shard.clone();
            lock.address += 64 * (number + 1);
            lock.wait_max_ns = number;
            locks.locks.push(lock);
        }
        let groups = groups(&locks);
        let sizes: Vec<usize> = groups.iter().map(|group| group.locks.len()).collect();
        assert_eq!(sizes, [1, FROM + 1]);
        let sum = &groups[1].together;
        assert_eq!((sum.contended, sum.wait_ns), (5 * shard.contended, 5 * shard.wait_ns));
        assert_eq!((sum.wait_max_ns, sum.parked), (shard.wait_max_ns, shard.parked.map(|parked| 5 * parked)));
        assert_eq!(sum.waiters.len(), shard.waiters.len());
        assert_eq!(sum.waiters[0].ns, 5 * shard.waiters[0].ns);
    }

    #[test]
    fn a_few_stay_by_themselves() {
        let locks = sample::locks();
        assert!(
            groups(&locks).iter().all(|group| group.locks.len() == 1 && *group.locks[0] == group.together)
        );
    }
}
