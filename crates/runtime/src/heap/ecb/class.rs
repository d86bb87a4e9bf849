//! Classes of ECBs: a heap, lists and counts for each.
//!
//! ```text
//! class "SSL" ── heap (its row in the ledger) ── areas, frames, large buffers
//!      | lists: the sizes of AVL1 to AVL5
//!      '-- waiting: control blocks for its next ECBs
//! ```
//!
//! The last class is that of all names for which there is no other. It has a name of its own, so that its figures are not taken for
//! those of one of them.
//!
//! Invariant: a class is never removed.
//! Not here: control blocks that wait (`ready`), and an ECB that is alive (`control_block`).

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::HeapKind;
use underbar_ledger::classes::{ClassRow, OTHERS, SHARING, Sum};
use underbar_options::{AvailableLists, DEFAULT_LISTS, ListSizes, Without};
use underbar_sys::lock::Lock;

use super::super::map::PAGE;
use super::super::object::{self, DEFAULT, Heap, UNNUMBERED};
use super::super::private_storage::OWN;
use super::super::registry;
use super::super::space::HugePages;
use super::area::{AREA_BYTES, Area, FRAME_BYTES, Kind, Owner, Uncut};
use super::given;
use super::lists::{AVAILABLE, Lists};
use crate::ledger;

/// Classes; the last one is shared.
pub const CLASSES: usize = underbar_ledger::classes::ROWS;
/// Bytes of the name of a class that are kept.
pub const NAME: usize = 32;
/// One ECB in so many is counted request by request.
const COUNTED: usize = 32;
/// Frames that wait, at least and at most; the further ones, if little of them was used. A frame from the heap has 64 KB of marks to
/// clear.
const FRAMES: usize = 8;
const MOST_FRAMES: usize = 64;
const LITTLE: usize = 256 << 10;

/// Control entries are made when an ECB begins: WITHOUT(ENTRIES).
pub const ENTRIES: u8 = 1;
/// Each ECB is counted itself (`named`).
pub const COUNTS: u8 = 2;

/// One class.
pub struct Class {
    name: [u8; NAME],
    length: usize,
    heap: &'static Heap,
    /// The sizes of its buffers.
    pub lists: Lists,
    /// Bytes of the preallocated area of each ECB.
    pub area_bytes: usize,
    /// No request finds a ready piece: TRACE, zones, or WITHOUT.
    pub is_slow: bool,
    /// What else is done when an ECB begins: [`ENTRIES`], [`COUNTS`]. Any thread sets COUNTS, once; relaxed: ECBs that begin meanwhile may miss it.
    at_create: AtomicU8,
    /// ECBs alive; relaxed: a hint for how many blocks may wait.
    alive: AtomicUsize,
    /// ECBs created, as far as it matters for who is counted; relaxed.
    created: AtomicUsize,
    /// Its place among the classes.
    index: usize,
    /// Control blocks for its next ECBs.
    pub waiting: Lock<Waiting>,
}

/// Control blocks that wait, linked by `next_ready`, and pages for areas of new ones; frames.
pub struct Waiting {
    pub first: *mut Owner,
    pub count: usize,
    /// Those without pages in memory.
    pub clean: *mut Owner,
    pub uncut: Uncut,
    /// Frames without marks, linked by `next`.
    pub frames: *mut Area,
    pub frame_count: usize,
}

// SAFETY: followed under the lock only.
unsafe impl Send for Waiting {}

/// The classes, the first ones filled. Written under [`MAKING`] (Release), read by any thread (Acquire).
static ALL: [AtomicPtr<Class>; CLASSES] = [const { AtomicPtr::new(null_mut()) }; CLASSES];

/// Under this lock classes and control blocks are made, by what is given. It comes after the registry of heaps, and before all other locks.
pub static MAKING: Lock<Given> = Lock::new(Given { lists: AvailableLists::NONE, area_bytes: 0 });

/// What AVL and ECB say about classes that are made from now on.
pub struct Given {
    /// No sizes: the default.
    lists: AvailableLists,
    /// 0: the default.
    area_bytes: usize,
}

/// Applies AVL and ECB: to classes that are made from now on.
pub fn configure(lists: &AvailableLists, area_bytes: usize) {
    // Under the defaults no page is touched.
    if !lists.are_default() || area_bytes != AREA_BYTES {
        *MAKING.lock() = Given { lists: *lists, area_bytes };
    }
}

impl Given {
    fn sizes_of(&self, class: &[u8]) -> [u32; AVAILABLE] {
        let given = self.lists.of(class);
        if given == ListSizes::NONE { DEFAULT_LISTS } else { given }.bytes()
    }
}

/// The class of that name, made if missing. None if there is no memory.
pub fn of(name: &[u8]) -> Option<&'static Class> {
    let name = if name.is_empty() { b"ECB" } else { &name[..name.len().min(NAME)] };
    if let Some(class) = known(name) {
        return Some(class);
    }
    // The registry's lock comes first.
    let policy = {
        let mut policy = DEFAULT.space.lock().policy();
        (policy.initial, policy.increment) = (0, 0);
        // Areas are larger than what most ECBs touch of them.
        policy.huge_pages = HugePages::Off;
        policy
    };
    let mut registry = registry::REGISTRY.lock();
    let making = MAKING.lock();
    if let Some(class) = known(name) {
        return Some(class);
    }
    let index = ALL.iter().position(|class| class.load(Ordering::Relaxed).is_null())?;
    let asked = name;
    let name = if index == CLASSES - 1 { OTHERS } else { name };
    let free = &ALL[index];
    let handle = registry::create_in(&mut registry, HeapKind::Class, name, policy, UNNUMBERED)?;
    handle.heap.settings.serve_ecbs();
    let place: *mut Class = OWN.lock().get(size_of::<Class>()).cast();
    if place.is_null() {
        return None;
    }
    let mut kept = [0; NAME];
    kept[..name.len()].copy_from_slice(name);
    let sizes = making.sizes_of(name);
    let area_bytes = if making.area_bytes == 0 { AREA_BYTES } else { making.area_bytes };
    // Under CHECK no buffer is in the last page.
    let area_bytes = if given::check() > 0 { area_bytes + PAGE } else { area_bytes };
    // SAFETY: new storage of that size, aligned to 64.
    unsafe {
        place.write(Class {
            name: kept,
            length: name.len(),
            heap: handle.heap,
            lists: Lists::new(sizes),
            area_bytes,
            is_slow: given::is_slow(),
            at_create: AtomicU8::new(
                if given::without() == Without::Entries { ENTRIES } else { 0 }
                    | if handle.heap.settings.counts_each() { COUNTS } else { 0 },
            ),
            alive: AtomicUsize::new(0),
            created: AtomicUsize::new(0),
            index,
            waiting: Lock::new(Waiting {
                first: null_mut(),
                count: 0,
                clean: null_mut(),
                uncut: Uncut::NONE,
                frames: null_mut(),
                frame_count: 0,
            }),
        });
    }
    let counted_one_in = if handle.heap.settings.counts_each() { 1 } else { COUNTED as u64 };
    // SAFETY: it stays for ever.
    let class = unsafe { &*place };
    ledger::make_class(index, |row| {
        let sizes = core::array::from_fn(|at| class.lists.sizes[at + 1].into());
        row.begin(name, sizes, [class.area_bytes as u64, given::low() as u64], counted_one_in);
    });
    free.store(place, Ordering::Release);
    if index == CLASSES - 1 {
        shares(class, asked);
    }
    object::lasts(class.heap);
    Some(class)
}

/// A class that is there; the last one, if there is room for no other.
fn known(name: &[u8]) -> Option<&'static Class> {
    let mut last: Option<&'static Class> = None;
    for class in &ALL {
        // SAFETY: classes stay for ever.
        let class = unsafe { class.load(Ordering::Acquire).as_ref() }?;
        if class.name() == name {
            return Some(class);
        }
        last = Some(class);
    }
    if let Some(last) = last {
        shares(last, name);
    }
    last
}

/// Names that share the last class, as hashes. Any thread claims a place, relaxed: nothing is read by it.
static NAMES: [AtomicU64; SHARING] = [const { AtomicU64::new(0) }; SHARING];

/// Counts a name that shares the last class, once.
#[cold]
fn shares(class: &Class, name: &[u8]) {
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    }) | 1;
    for place in &NAMES {
        let mut found = place.load(Ordering::Relaxed);
        if found == 0 {
            match place.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    if let Some(row) = class.row() {
                        row.sharing.fetch_add(1, Ordering::Relaxed);
                    }
                    return;
                }
                Err(other) => found = other,
            }
        }
        if found == hash {
            return;
        }
    }
}

/// Calls `then` for each class.
pub fn each(mut then: impl FnMut(&'static Class)) {
    for class in &ALL {
        // SAFETY: classes stay for ever.
        if let Some(class) = unsafe { class.load(Ordering::Acquire).as_ref() } {
            then(class);
        }
    }
}

impl Class {
    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name[..self.length]
    }

    /// Its number among the classes.
    pub fn index(&self) -> usize {
        self.index
    }

    /// From now on, each ECB that begins is counted itself.
    pub fn count_ecbs(&self) {
        if self.at_create() & COUNTS == 0 {
            self.at_create.fetch_or(COUNTS, Ordering::Relaxed);
        }
    }

    /// What else is done when an ECB begins: [`ENTRIES`], [`COUNTS`].
    #[inline]
    pub fn at_create(&self) -> u8 {
        self.at_create.load(Ordering::Relaxed)
    }

    /// Its heap, with its row in the ledger.
    #[inline(always)]
    pub fn heap(&self) -> &'static Heap {
        self.heap
    }

    /// Its page in the ledger; None if it has none.
    pub fn row(&self) -> Option<&'static ClassRow> {
        ledger::classes::row(self.index)
    }

    /// Before a fork: the child begins with the ECBs that are alive.
    pub fn keep_alive(&self) {
        ledger::classes::keep(self.index, self.alive() as u64);
    }

    /// A frame for an ECB, without marks: one that waits, or a new one. Null if there is no memory.
    pub fn take_frame(&self, owner: *mut Owner) -> *mut Area {
        let mut waiting = self.waiting.lock();
        // SAFETY: frames that wait are the class's, under the lock.
        let frame: *mut Area = match unsafe { waiting.frames.as_mut() } {
            Some(frame) => {
                waiting.frames = frame.next;
                waiting.frame_count -= 1;
                frame.set_block(owner);
                frame
            }
            None => {
                drop(waiting);
                Area::make(self.heap, Kind::Frame, FRAME_BYTES, owner, null_mut())
            }
        };
        if !frame.is_null()
            && let Some(row) = self.row()
        {
            row.sum(Sum::Frames).fetch_add(1, Ordering::Relaxed);
        }
        frame
    }

    /// Takes a frame back whose ECB has ended, with marks up to that address.
    ///
    /// # Safety
    /// Nothing in it is in use, and no list knows it.
    pub unsafe fn put_frame(&self, frame: *mut Area, up_to: usize) {
        let mut waiting = self.waiting.lock();
        // SAFETY: the caller's promise.
        unsafe {
            let is_much = up_to > (*frame).start() + LITTLE;
            if waiting.frame_count >= if is_much { FRAMES } else { MOST_FRAMES } {
                drop(waiting);
                Area::unmake(frame, self.heap);
                return;
            }
            (*frame).set_block(null_mut());
            (*frame).clear_frame(up_to);
            (*frame).next = waiting.frames;
        }
        waiting.frames = frame;
        waiting.frame_count += 1;
    }

    /// Gives the frames that wait to the heap of the class. False: none waits.
    #[cold]
    pub fn give_back_frames(&self) -> bool {
        let mut frame = {
            let mut waiting = self.waiting.lock();
            waiting.frame_count = 0;
            core::mem::replace(&mut waiting.frames, null_mut())
        };
        let went = !frame.is_null();
        // SAFETY: frames that waited are ours now, and nothing in them is in use.
        unsafe {
            while let Some(area) = frame.as_ref() {
                let next = area.next;
                Area::unmake(core::mem::replace(&mut frame, next), self.heap);
            }
        }
        went
    }

    /// An ECB begins. Whether it is to be counted request by request.
    pub fn begins(&self) -> bool {
        self.alive.fetch_add(1, Ordering::Relaxed);
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        self.heap.settings.counts_each() || number % COUNTED == COUNTED - 1
    }

    /// ECBs that are alive.
    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    /// An ECB has ended.
    pub fn ends(&self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }

    /// Is no thread at the blocks that wait?
    pub fn is_quiet(&self) -> bool {
        self.waiting.try_lock().is_some()
    }

    /// The lock of the blocks that wait, for a fork.
    pub fn hold(&self) {
        self.waiting.hold();
    }

    /// Gives it back.
    ///
    /// # Safety
    /// This thread called [`Self::hold`].
    pub unsafe fn release(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.waiting.release() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Disposition, ONE_AT_A_TIME};
    use super::*;
    use underbar_options::{ProgramName, Settings, WhereSet};

    /// Storage that a burst of ECBs leaves goes back although no thread works with the class any more.
    #[test]
    fn threads_elsewhere_look_after_idle_storage_of_a_class() {
        let _turn = ONE_AT_A_TIME.lock();
        let class = of(b"SIZES").expect("memory");
        let before = class.heap().space.lock().policy().disposition;
        let dispose = |how| class.heap().space.lock().change_disposition(how);
        dispose(Disposition::Auto);
        DEFAULT.space.lock().heartbeat();
        let next = || class.heap().next_look.load(Ordering::Relaxed);
        for _ in 0..2 {
            let frames: std::vec::Vec<_> = (0..20).map(|_| class.take_frame(core::ptr::null_mut())).collect();
            for frame in frames {
                // SAFETY: nothing is in the frame, whose marks are clear.
                unsafe { class.put_frame(frame, usize::MAX) };
            }
            assert!(DEFAULT.next_look.load(Ordering::Relaxed) <= next() && next() < u64::MAX);
            // The time has come.
            class.heap().next_look.store(1, Ordering::Relaxed);
            DEFAULT.next_look.store(1, Ordering::Relaxed);
            object::heartbeat_if_due();
            assert!(next() > 1, "a look was taken");
        }
        dispose(before);
    }

    #[test]
    fn a_class_has_its_own_sizes_or_those_of_all_others() {
        let given = |text: &str| {
            let mut settings = Settings::default();
            settings.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, &mut |_| ());
            Given { lists: settings.available_lists(), area_bytes: 0 }
        };
        let usable = |given: &Given, class: &str| {
            let lists = Lists::new(given.sizes_of(class.as_bytes()));
            [1, 33, 65, 200, 513, 40_000].map(|size| lists.sizes[lists.of(size)])
        };
        let standard = [32, 64, 128, 256, 640, 40_960];
        assert_eq!(usable(&Given { lists: AvailableLists::NONE, area_bytes: 0 }, "SSL"), standard);
        assert_eq!(usable(&given(""), "SSL"), standard);
        let three = given("AVL(SSL,48) AVL(JAVA,48,96,64K) AVL(,80)");
        assert_eq!(usable(&three, "SSL"), [48, 48, 128, 256, 640, 40_960]);
        assert_eq!(usable(&three, "JAVA"), [48, 48, 96, 65_536, 65_536, 65_536]);
        assert_eq!(usable(&three, "HTTP"), [80, 80, 80, 256, 640, 40_960]);
    }
}
