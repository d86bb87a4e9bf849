//! Circles among locks that were held while another was waited for: A then B here, B then A there.
//!
//! ```text
//! A ──> B ──> C        edges: held ──> waited for
//! ^           |        the circle A B C: three threads, each with one of them, wait forever
//! └───────────┘
//! ```
//!
//! A circle shows that the order of the locks permits a deadlock; the program may rule it out in another way.
//! Invariant: each circle is given once, beginning with its first lock; work is bounded by the edges an area has.

use std::collections::{BTreeSet, VecDeque};

use crate::locks::Edge;

/// The most circles that are named. More of them add nothing new.
pub const MOST: usize = 16;

/// For each edge the shortest circle through it, each circle once. An entry of a circle is a place in `edges`.
#[must_use]
pub fn circles(edges: &[Edge]) -> Vec<Vec<usize>> {
    let locks = edges.iter().map(|edge| edge.held.max(edge.wanted) + 1).max().unwrap_or(0);
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); locks];
    for (at, edge) in edges.iter().enumerate() {
        // A thread that waits for a lock that it holds is no matter of order.
        if edge.held != edge.wanted {
            from[edge.held].push(at);
        }
    }
    let mut seen = BTreeSet::new();
    let mut circles: Vec<Vec<usize>> = Vec::new();
    for first in edges.iter().enumerate().filter(|(_, edge)| edge.held != edge.wanted).map(|(at, _)| at) {
        let Some(back) = shortest(edges, &from, edges[first].wanted, edges[first].held) else { continue };
        let mut circle = vec![first];
        circle.extend(back);
        let lowest = (0..circle.len()).min_by_key(|&at| edges[circle[at]].held).unwrap_or(0);
        circle.rotate_left(lowest);
        let names: Vec<usize> = circle.iter().map(|&edge| edges[edge].held).collect();
        if seen.insert(names) {
            circles.push(circle);
        }
        if circles.len() == MOST {
            break;
        }
    }
    circles.sort_by_key(|circle| (circle.len(), circle.clone()));
    circles
}

/// The edges of the shortest path.
fn shortest(edges: &[Edge], from: &[Vec<usize>], start: usize, end: usize) -> Option<Vec<usize>> {
    let mut by: Vec<Option<usize>> = vec![None; from.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(lock) = queue.pop_front() {
        for &at in &from[lock] {
            let next = edges[at].wanted;
            if next == start || by[next].is_some() {
                continue;
            }
            by[next] = Some(at);
            if next == end {
                let mut way = Vec::new();
                let mut lock = end;
                while lock != start {
                    let edge = by[lock]?;
                    way.push(edge);
                    lock = edges[edge].held;
                }
                way.reverse();
                return Some(way);
            }
            queue.push_back(next);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks::Place;

    fn check(pairs: &[(usize, usize)], expect: &[&[usize]]) {
        let edges: Vec<Edge> = pairs
            .iter()
            .map(|&(held, wanted)| Edge { held, wanted, site: Place::default(), count: 1 })
            .collect();
        let found: Vec<Vec<usize>> = circles(&edges)
            .iter()
            .map(|circle| {
                for (at, &edge) in circle.iter().enumerate() {
                    let next = circle[(at + 1) % circle.len()];
                    assert_eq!(edges[edge].wanted, edges[next].held, "a circle is closed");
                }
                circle.iter().map(|&edge| edges[edge].held).collect()
            })
            .collect();
        assert_eq!(found, expect, "{pairs:?}");
    }

    #[test]
    fn circles_are_found_once() {
        check(&[], &[]);
        check(&[(0, 1), (1, 2), (0, 2)], &[]);
        check(&[(0, 1), (1, 0)], &[&[0, 1]]);
        check(&[(2, 0), (0, 1), (1, 2)], &[&[0, 1, 2]]);
        check(&[(0, 1), (1, 2), (2, 0), (1, 0), (5, 0)], &[&[0, 1], &[0, 1, 2]]);
        check(&[(3, 3)], &[]);
        check(&[(0, 1), (1, 0), (2, 3), (3, 2)], &[&[0, 1], &[2, 3]]);
        check(&[(0, 1), (0, 1), (1, 0)], &[&[0, 1]]);
    }

    #[test]
    fn everything_with_everything_is_bounded() {
        let edges: Vec<Edge> = (0..512)
            .map(|at| Edge { held: at % 23, wanted: at / 23 % 23, site: Place::default(), count: 1 })
            .collect();
        assert_eq!(circles(&edges).len(), MOST);
    }
}
