//! Makes a report from a ledger and from the launcher's facts.
//!
//! Only the ledger's header is trusted: noise gives odd figures, never a crash.

use underbar_ledger::layout::ENDED_UNTIMED;
use underbar_ledger::table::KEYS;
use underbar_ledger::view::FaultView;
use underbar_ledger::{self as ledger, AllocatorRole, Key, LedgerView, SlotState, SlotView};

use crate::buffers::Buffer;
use crate::ecb_trace::EcbTrace;
use crate::ecbs::EcbClass;
use crate::fault::{Caller, Fault, FaultKind, OfEcb};
use crate::figures::{Figures, split};
use crate::heap::Heap;
use crate::lock::gather::{Around, find};
use crate::lock::{Area, Locks};
use crate::model::{Allocator, Host, Options, Owner, Process, Report, Role, Run, SCHEMA, State, Tree};
use crate::pools::{Pools, Ranges};
use crate::sizes::{self, Sizes};
use crate::steps::Steps;
use crate::switches::Switches;

/// Facts that are not in the ledger.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The machine.
    pub host: Host,
    /// The program that was started.
    pub run: Run,
    /// The resources that the run used, if a parent waited for it.
    pub steps: Option<Steps>,
    /// The options. If `text` is empty, the ledger's own copy is used.
    pub options: Options,
    /// Programs that the launcher itself could not follow: the counter of each reason.
    pub not_followed: Vec<Key>,
    /// Lock areas found in the ledger's folder.
    pub areas: Vec<Area>,
}

impl Report {
    /// Makes the report. `alive` says whether a slot's process still exists. It is called only for processes that have not
    /// reported their end.
    #[must_use]
    pub fn from_ledger(
        ledger: &LedgerView<'_>,
        mut facts: Facts,
        alive: impl Fn(&SlotView<'_>) -> bool,
    ) -> Report {
        let mut processes: Vec<Process> =
            ledger.slots().map(|slot| section(&slot, ledger.made_ns(), &alive)).collect();
        let peak = facts.steps.as_ref().map(|steps| steps.peak_resident_bytes);
        processes.iter_mut().for_each(|process| forget_early_coverage(process, peak));
        let other_locks = place_areas(ledger, &mut processes, &facts);
        processes.sort_by_key(|process| (process.started_ns, process.process));
        if facts.options.text.is_empty() {
            facts.options.text = String::from_utf8_lossy(ledger.options().0).into_owned();
        }
        let mut report = assemble(processes, ledger.unrecorded(), facts);
        report.tree.other_locks = other_locks;
        report
    }

    /// The report of a run that kept no accounts.
    #[must_use]
    pub fn without_ledger(facts: Facts) -> Report {
        assemble(Vec::new(), 0, facts)
    }
}

fn assemble(processes: Vec<Process>, unrecorded: u64, facts: Facts) -> Report {
    let (mut counters, mut sizes) = (Figures::unknown(), None);
    for process in &processes {
        counters.fold(&process.counters);
        sizes::fold(&mut sizes, process.sizes.as_ref());
    }
    // The launcher also counts programs that are not followed, even if no process kept accounts.
    for key in KEYS.into_iter().filter(|key| split(key.entry().key).0 == "follow") {
        let launched = facts.not_followed.iter().filter(|reason| **reason == key).count() as u64;
        counters.set(key, counters.get(key).saturating_add(launched));
    }
    let steps = facts.steps.map(|steps| {
        let without = |all: Option<u64>, own| all.map(|all| all.saturating_sub(counters.get(own)));
        Steps {
            read_calls: without(steps.read_calls, Key::OwnReads),
            read_bytes: without(steps.read_bytes, Key::OwnReadBytes),
            ..steps
        }
    });
    let tree = Tree {
        processes: processes
            .iter()
            .fold(0_u64, |sum, process| sum.saturating_add(process.processes))
            .saturating_sub(counters.get(Key::ProcessContinued)),
        programs: 0,
        unrecorded,
        counters,
        sizes,
        other_locks: Vec::new(),
    };
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        underbar: env!("CARGO_PKG_VERSION").to_owned(),
        host: facts.host,
        run: facts.run,
        steps,
        options: facts.options,
        tree,
        processes,
        over_time: None,
        sites: None,
    };
    report.tree.programs = report.programs().len() as u64;
    report
}

fn section(slot: &SlotView<'_>, began_ns: u64, alive: &impl Fn(&SlotView<'_>) -> bool) -> Process {
    let state = match slot.state {
        SlotState::Aggregate => State::Folded,
        SlotState::Live if slot.ended_ns() == 0 && alive(slot) => State::Running,
        SlotState::Live if slot.ended_ns() == 0 => State::Killed,
        _ => State::Ended,
    };
    let ended = (slot.ended_ns() > ENDED_UNTIMED).then(|| slot.ended_ns().saturating_sub(began_ns));
    let mut process = Process {
        program: words(slot.program()),
        started_as: Some(words(slot.started_as())).filter(|name| !name.is_empty()),
        arguments: slot
            .arguments()
            .split(|&byte| byte == 0)
            .filter(|argument| !argument.is_empty())
            .map(words)
            .collect(),
        process: slot.process.number,
        parent: slot.parent(),
        processes: u64::from(slot.processes()),
        state,
        started_ns: slot.started_ns().saturating_sub(began_ns),
        ended_ns: ended,
        option_errors: slot.option_errors(),
        heading: words(slot.heading()),
        counters: Figures::of_slot(slot),
        sizes: Some(Sizes::of_slot(slot)),
        pools: Pools::of_slot(slot),
        ranges: Ranges::of_slot(slot),
        ecb_traces: slot.traces().map(|table| EcbTrace::of(&table)).collect(),
        ecb_threads_without_trace: slot.threads_without_trace(),
        ecbs: EcbClass::of_slot(slot),
        switches: None,
        buffers: Buffer::of_slot(slot),
        heaps: slot.heaps().map(|heap| Heap::of(&heap)).collect(),
        none: Vec::new(),
        owners: slot
            .owners()
            .map(|(name, bytes, peak_bytes)| Owner { name: words(name), bytes, peak_bytes })
            .collect(),
        allocator: slot.allocator().map(|(role, name)| Allocator {
            name: words(name),
            role: match role {
                AllocatorRole::Replaced => Role::Replaced,
                AllocatorRole::Serves => Role::Serves,
            },
        }),
        locks: None,
        fault: slot.fault().map(fault),
    };
    process.none = crate::le::none(&process);
    process.switches = Switches::of_slot(slot, process.name());
    process
}

/// Takes coverage as not measured if the heap has grown far beyond all the memory that the last look found. A process has no
/// look at its end if it was killed, and memory that it gets in one large request may come after its last look.
///
/// A heap may be larger than the memory that it occupies, but not if the largest process of the run occupied as much.
fn forget_early_coverage(process: &mut Process, peak_resident: Option<u64>) {
    let counters = &process.counters;
    let (heap, seen) = (counters.get(Key::HeapUsedPeak), counters.get(Key::CoverageAnonymous));
    let has_no_last_look = matches!(process.state, State::Killed | State::Running);
    if has_no_last_look && heap / 2 > seen && peak_resident.is_none_or(|peak| peak >= heap) {
        process.counters.forget_coverage();
        process.owners.clear();
    }
}

fn fault(fault: FaultView<'_>) -> Fault {
    Fault {
        kind: match fault.kind {
            ledger::FaultKind::DoubleFree => FaultKind::DoubleFree,
            ledger::FaultKind::InsideBlock => FaultKind::InsideBlock,
            ledger::FaultKind::NoBlock => FaultKind::NoBlock,
            ledger::FaultKind::Overflow => FaultKind::Overflow,
            ledger::FaultKind::StackOverflow => FaultKind::StackOverflow,
            ledger::FaultKind::Ended => FaultKind::Ended,
        },
        function: words(fault.function),
        address: fault.address,
        block: fault.block,
        block_bytes: (fault.block_bytes > 0).then_some(fault.block_bytes),
        size_is_asked: fault.kind == ledger::FaultKind::StackOverflow
            && fault.origin_module.is_empty()
            && fault.origin_offset == 1,
        caller: (!fault.module.is_empty())
            .then(|| Caller { module: words(fault.module), offset: fault.offset }),
        origin: (!fault.origin_module.is_empty())
            .then(|| Caller { module: words(fault.origin_module), offset: fault.origin_offset }),
        ecb: (fault.ecb > 0).then(|| OfEcb {
            number: fault.ecb,
            class: words(fault.class),
            tag: (!fault.tag.is_empty()).then(|| words(fault.tag)),
        }),
    }
}

/// Puts each lock area into the section of its process, and returns the locks of processes without a section.
///
/// An area that is older than the ledger belongs to an earlier ledger of the same name.
fn place_areas(ledger: &LedgerView<'_>, processes: &mut [Process], facts: &Facts) -> Vec<Locks> {
    let places: Vec<(u32, u64)> = ledger
        .slots()
        .map(|slot| match slot.state {
            // A folded slot has the number and moment of only one of its processes.
            SlotState::Aggregate => (0, 0),
            _ => (slot.process.number, slot.started_ns()),
        })
        .collect();
    let cpu_ns = facts.steps.as_ref().map(|steps| steps.user_ns.saturating_add(steps.system_ns));
    // A process without a section was folded. If only one program was folded, it is a process of that program.
    let mut folded =
        processes.iter().filter(|process| process.state == State::Folded).map(|process| &process.program);
    let folded = match (folded.next(), folded.next()) {
        (Some(program), None) => program.clone(),
        _ => "the program".to_owned(),
    };
    let mut other = Vec::new();
    for area in facts.areas.iter().filter(|area| area.started_ns >= ledger.made_ns()) {
        let around = |program| Around { program, began_ns: ledger.made_ns(), cpu_ns };
        match find(area, &places).and_then(|place| processes.get_mut(place)) {
            Some(process) if process.locks.is_none() => {
                process.locks = Some(Locks::of_area(area, around(&process.program)));
            }
            _ => other.push(Locks::of_area(area, around(&folded))),
        }
    }
    other
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::mem::offset_of;

    use underbar_ledger::layout::{
        Directory, FILE_BYTES, Header, MAGIC, OPTIONS_OFFSET, Owner as LedgerOwner, SLOT_BYTES, SLOTS_OFFSET,
        Slot, SlotState,
    };
    use underbar_ledger::table::{FINGERPRINT, LAYOUT_VERSION};
    use underbar_ledger::{Identity, Key, LedgerView};

    use super::*;

    fn of(number: u32) -> Identity {
        Identity { namespace: 0xeffffffc, number }
    }

    fn put(bytes: &mut [u8], at: usize, value: u64) {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// A ledger as the layout says, with slots of one program each.
    pub(crate) fn ledger(slots: &[(SlotState, u32, &str, u64)]) -> Vec<u8> {
        let mut bytes = vec![0_u8; FILE_BYTES];
        put(&mut bytes, offset_of!(Header, magic), MAGIC);
        put(&mut bytes, offset_of!(Header, layout_version), u64::from(LAYOUT_VERSION));
        put(&mut bytes, offset_of!(Header, fingerprint), FINGERPRINT);
        put(&mut bytes, offset_of!(Header, made_ns), 1_000);
        put(&mut bytes, offset_of!(Header, unrecorded), 5);
        put(&mut bytes, offset_of!(Header, options_bytes), 8);
        bytes[OPTIONS_OFFSET..OPTIONS_OFFSET + 8].copy_from_slice(b"HEAP(1M)");
        for (at, (state, process, program, ended)) in slots.iter().enumerate() {
            let slot = SLOTS_OFFSET + at * SLOT_BYTES;
            put(&mut bytes, offset_of!(Header, directory) + 8 * at, Directory::word(*state, of(*process)));
            put(&mut bytes, slot + offset_of!(Slot, started_ns), 3_000 - at as u64);
            put(&mut bytes, slot + offset_of!(Slot, ended_ns), *ended);
            put(&mut bytes, slot + offset_of!(Slot, counters) + 8 * Key::HeapGets as usize, 10);
            put(&mut bytes, slot + offset_of!(Slot, counters) + 8 * Key::NotFollowedStatic as usize, 1);
            put(&mut bytes, slot + offset_of!(Slot, sizes) + 8 * 3, 10);
            let path = slot + offset_of!(Slot, program);
            bytes[path..path + program.len()].copy_from_slice(program.as_bytes());
            let arguments = slot + offset_of!(Slot, arguments);
            bytes[arguments..arguments + 4].copy_from_slice(b"p\0-x");
            let owner = slot + offset_of!(Slot, owners);
            bytes[owner..owner + 4].copy_from_slice(b"[jit");
            put(&mut bytes, owner + offset_of!(LedgerOwner, bytes), 4096);
        }
        bytes
    }

    #[test]
    fn a_ledger_becomes_sections_and_a_tree() {
        let bytes = ledger(&[
            (SlotState::Ended, 10, "/bin/a", 9_000),
            (SlotState::Live, 11, "/bin/b", 0),
            (SlotState::Live, 12, "/bin/b", 0),
            (SlotState::Claimed, 13, "/bin/c", 0),
        ]);
        let view = LedgerView::new(&bytes).expect("a good ledger");
        let facts = Facts { not_followed: vec![Key::NotFollowedStatic], ..Facts::default() };
        let report = Report::from_ledger(&view, facts, |slot| slot.process == of(12));

        let states: Vec<_> = report.processes.iter().map(|p| (p.process, p.state, p.started_ns)).collect();
        assert_eq!(
            states,
            [(12, State::Running, 1_998), (11, State::Killed, 1_999), (10, State::Ended, 2_000)]
        );
        assert_eq!(report.processes[2].ended_ns, Some(8_000));
        assert_eq!(report.processes[0].arguments, ["p", "-x"]);
        assert_eq!(report.processes[0].owners[0].name, "[jit");
        let tree = &report.tree;
        assert_eq!((tree.processes, tree.programs, tree.unrecorded), (3, 2, 5));
        assert_eq!(tree.counters.get(Key::HeapGets), 30);
        let sizes = |of: &Option<Sizes>| of.as_ref().map(|sizes| (sizes.get(3), sizes.total()));
        assert_eq!((sizes(&report.processes[0].sizes), sizes(&tree.sizes)), (Some((10, 10)), Some((30, 30))));
        // Their stacks and mappings were not measured; a program of one thread has no other threads' stacks.
        let unknown = [
            Key::StackMain,
            Key::StackLargest,
            Key::StackConcurrent,
            Key::CoverageAnonymous,
            Key::CoverageHeap,
        ];
        assert_eq!(unknown.map(|key| tree.counters.known(key)), [None; 5]);
        assert_eq!(tree.counters.known(Key::StackThread), Some(0));
        assert_eq!(tree.counters.get(Key::NotFollowedStatic), 4, "three seen inside, one by the launcher");
        assert_eq!(report.options.text, "HEAP(1M)");
    }

    #[test]
    fn a_look_before_the_heap_grew_is_no_coverage() {
        let coverage = |ended: u64, heap: u64, peak: Option<u64>| {
            let mut bytes = ledger(&[(SlotState::Live, 11, "/bin/b", ended)]);
            let at = |key: Key| SLOTS_OFFSET + offset_of!(Slot, counters) + 8 * key as usize;
            put(&mut bytes, at(Key::CoverageAnonymous), 5 << 20);
            put(&mut bytes, at(Key::CoverageHeap), 1 << 20);
            put(&mut bytes, at(Key::HeapUsedPeak), heap);
            let steps = peak.map(|peak_resident_bytes| Steps { peak_resident_bytes, ..Steps::default() });
            let view = LedgerView::new(&bytes).expect("a good ledger");
            let report = Report::from_ledger(&view, Facts { steps, ..Facts::default() }, |_| false);
            let process = &report.processes[0];
            assert_eq!(process.owners.is_empty(), process.counters.known(Key::CoverageHeap).is_none());
            process.counters.known(Key::CoverageAnonymous)
        };
        assert_eq!(coverage(0, 200 << 20, Some(210 << 20)), None);
        assert_eq!(coverage(0, 200 << 20, None), None);
        // The look at the end saw all of it; or most of the heap was never touched; or the heap is hardly larger.
        assert_eq!(coverage(9_000, 200 << 20, Some(210 << 20)), Some(5 << 20));
        assert_eq!(coverage(0, 200 << 20, Some(10 << 20)), Some(5 << 20));
        assert_eq!(coverage(0, 8 << 20, Some(10 << 20)), Some(5 << 20));
    }

    #[test]
    fn lock_areas_come_into_the_sections_they_belong_to() {
        use crate::lock::sample::Bytes;
        let bytes = ledger(&[
            (SlotState::Ended, 10, "/bin/a", 9_000),
            (SlotState::Live, 11, "/bin/b", 0),
            (SlotState::Aggregate, 12, "/bin/c", 7_000),
        ]);
        let view = LedgerView::new(&bytes).expect("a good ledger");
        let area = |process, started_ns| {
            let mut bytes = Bytes::new(process, started_ns, 2);
            bytes.module(0, 0x1000, 0x1000, "").lock(0, |lock| lock.address = 0x1800);
            Area::read(&bytes.bytes()).expect("an area")
        };
        // In an order that a folder may have. The last area belongs to an earlier ledger.
        let areas = vec![area(12, 2_998), area(11, 2_999), area(10, 3_000), area(10, 999)];
        let report = Report::from_ledger(&view, Facts { areas, ..Facts::default() }, |_| true);
        let found: Vec<_> = report
            .processes
            .iter()
            .map(|process| (process.process, process.locks.as_ref().map(|locks| locks.locks[0].name())))
            .collect();
        let name = |file: &str| Some(format!("{file}+0x800"));
        assert_eq!(found, [(12, None), (11, name("b")), (10, name("a"))]);
        assert_eq!(report.tree.other_locks.len(), 1);
        assert_eq!((report.tree.other_locks[0].process, report.locks().count()), (12, 3));
        assert_eq!(report.tree.other_locks[0].locks[0].name(), "c+0x800", "one program was folded");
    }

    #[test]
    fn noise_behind_a_good_header_gives_a_report_all_the_same() {
        let mut bytes = ledger(&[(SlotState::Live, 1, "/bin/a", 0)]);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for at in (offset_of!(Header, directory) / 8 * 8..LedgerView::classes_of(8).end).step_by(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            put(&mut bytes, at, state);
        }
        for slot in 0..8 {
            put(
                &mut bytes,
                offset_of!(Header, directory) + 8 * slot,
                Directory::word(SlotState::Live, of(7)),
            );
        }
        let view = LedgerView::new(&bytes).expect("the header is untouched");
        let report = Report::from_ledger(&view, Facts::default(), |_| false);
        assert!(report.processes.len() >= 8);
        let again = Report::from_json(report.to_json().as_bytes()).expect("what was written");
        assert_eq!(again, report);
        let _ = crate::summary::render(&report, &[], false);
        let _ = crate::le::render(&report);
    }
}
