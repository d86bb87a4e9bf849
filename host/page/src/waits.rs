//! Locks by wait, and switches by component.

use underbar_ledger::Unit;
use underbar_report::Report;
use underbar_report::locks::{Lock, Locks};
use underbar_report::switches::{Calls, Switches};
use underbar_report::units::{counted, nanoseconds, share};

use crate::markup::table;
use crate::markup::{Column, Kind, bar, figure, text};

/// The most rows of a table.
const MOST: usize = 30;

/// Locks that threads waited for, the longest wait first; None without any.
pub fn locks(report: &Report) -> Option<String> {
    let mut all: Vec<(&Locks, &Lock)> =
        report.locks().flat_map(|locks| locks.locks.iter().map(move |lock| (locks, lock))).collect();
    if all.is_empty() {
        return None;
    }
    all.sort_by_key(|(_, lock)| std::cmp::Reverse(lock.wait_ns));
    let most = all.first().map_or(1, |(_, lock)| lock.wait_ns).max(1);
    let sum = all.iter().fold(0_u64, |sum, (_, lock)| sum.saturating_add(lock.wait_ns));
    let columns = [
        Column::new("lock", Kind::Name),
        Column::new("waited", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
        Column::new("waits", Kind::Figure),
        Column::new("longest", Kind::Figure),
        Column::new("99 % at most", Kind::Figure),
        Column::new("held by", Kind::Words),
    ];
    let row = |(_, lock): &(&Locks, &Lock)| {
        let holder = lock.holders.first().map_or(String::new(), |site| {
            let call = lock.blocked.first().map_or(String::new(), |call| format!(" in {}", call.name));
            format!("<code>{}</code>", text(&format!("{}{call}", site.place.words())))
        });
        vec![
            format!("{} <span class=\"of\">{}</span>", text(&lock.name()), lock.sort.word()),
            figure("locks.wait_ns", Unit::Nanoseconds, lock.wait_ns),
            bar(lock.wait_ns, most),
            figure("locks.contended", Unit::Count, lock.contended),
            figure("locks.wait_max_ns", Unit::Nanoseconds, lock.wait_max_ns),
            lock.p99_ns.map_or("–".to_owned(), |spread| nanoseconds(spread.at_most)),
            holder,
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().take(MOST).map(row).collect();
    let circles: usize = report.locks().map(|locks| locks.circles.len()).sum();
    let mut html = format!(
        "<p>Threads waited {} in all for {}.</p>\n",
        nanoseconds(sum),
        counted(all.len() as u64, "lock", "locks")
    );
    if circles > 0 {
        html += &format!(
            "<p class=\"badly\">Possible deadlock: the order in which threads take locks has {}. <code>underbar report --report lock</code> names the locks.</p>\n",
            counted(circles as u64, "circle", "circles")
        );
    }
    html += &table("Locks by wait", &columns, &rows);
    if all.len() > MOST {
        html += &format!(
            "<p class=\"note\">{} not shown.</p>\n",
            counted((all.len() - MOST) as u64, "lock with a shorter wait is", "locks with shorter waits are")
        );
    }
    Some(html)
}

/// Entries to the kernel by component, the longest time first; None if none were counted.
pub fn switches(report: &Report) -> Option<String> {
    let costs = report.host.switch_costs.as_ref();
    let all: Vec<&Switches> =
        report.processes.iter().filter_map(|process| process.switches.as_ref()).collect();
    let time = |calls: &Calls| costs.and_then(|costs| costs.time(calls));
    let mut calls: Vec<&Calls> = all.iter().flat_map(|switches| &switches.calls).collect();
    if calls.is_empty() {
        return None;
    }
    calls.sort_by_key(|calls| std::cmp::Reverse((time(calls), calls.count)));
    let sum = all.iter().fold(0_u64, |sum, switches| sum.saturating_add(switches.count()));
    let about = calls.iter().filter_map(|calls| time(calls)).fold(0_u64, u64::saturating_add);
    let weight = |calls: &Calls| time(calls).unwrap_or(calls.count);
    let most = calls.iter().map(|calls| weight(calls)).max().unwrap_or(1).max(1);
    let columns = [
        Column::new("component", Kind::Name),
        Column::new("kind", Kind::Words),
        Column::new("function", Kind::Words),
        Column::new("count", Kind::Figure),
        Column::new("bytes", Kind::Figure),
        Column::new("about", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let row = |calls: &&Calls| {
        let name = if calls.component.is_empty() { "code outside modules" } else { &calls.component };
        vec![
            text(name),
            text(&calls.kind),
            format!("<code>{}</code>", text(&calls.function)),
            figure("switches.count", Unit::Count, calls.count),
            calls.bytes.map_or(String::new(), |bytes| figure("switches.bytes", Unit::Bytes, bytes)),
            time(calls).map_or(String::new(), |time| {
                format!("{} <span class=\"of\">{}</span>", nanoseconds(time), share(time, about))
            }),
            bar(weight(calls), most),
        ]
    };
    let rows: Vec<Vec<String>> = calls.iter().take(MOST).map(row).collect();
    let about = if about > 0 { format!(" They took about {}.", nanoseconds(about)) } else { String::new() };
    let mut html = format!("<p>{} in all.{about}</p>\n", counted(sum, "switch", "switches"));
    html += &table("Switches by component", &columns, &rows);
    if calls.len() > MOST {
        html += &format!(
            "<p class=\"note\">{} not shown.</p>\n",
            counted((calls.len() - MOST) as u64, "smaller row is", "smaller rows are")
        );
    }
    Some(html)
}
