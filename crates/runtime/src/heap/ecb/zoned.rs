//! Check zones behind the buffers of ECBs, under HEAPZONES and HEAPCHK(ON).
//!
//! ```text
//! buffer of a list: | the bytes asked for | zone, at least 8 bytes | size, getter, sum |       as behind an element (`zone`)
//!
//! get       one buffer at a time, its zone written before another thread may look ──> trace of HEAPCHK
//! free, realloc ─────────────> zone of the buffer as written? ─┐
//! end ───────────────────────> zones of all that are in use ───┼──> the reaction of HEAPZONES, with the ECB, its class, and the name
//! walk of HEAPCHK(ON,n) ─────> the same, of all ECBs ──────────┘
//! ```
//!
//! A buffer has no header, so HEAPCHK(ON) alone has zones here, of 8 bytes.
//! All these requests take the slow path (`Seat::is_slow`), one after the other.
//!
//! Invariant: while nobody holds the lock, a buffer has a zone if and only if its mark does not say that it is free: none is carved before it is
//! asked for, and each that is freed is marked.
//! Not here: the words and the pattern (`heap::zone`), the reaction (`heap::watch`).

use core::ptr::null_mut;

use underbar_ledger::FaultKind;
use underbar_sys::lock::{Guard, Lock};

use super::super::check::Fault;
use super::super::map::{self, AREA, Descriptor};
use super::super::space::Damage;
use super::super::trace::{self, Kind as Request, Site};
use super::super::watch;
use super::super::zone::{State, Zoned, room_in_ecb};
use super::area::{self, Area, Kind};
use super::control_block::{ControlBlock, Shared};
use super::tags::{self, Tags};
use super::{Number, given, number_of, ready};

/// Taken for each request and each end while zones are on. It comes before the locks of heaps and of control blocks.
static REQUESTS: Lock<()> = Lock::new(());

/// No request, and no end, meanwhile; None if buffers have no zones.
pub fn hold_requests() -> Option<Guard<'static, ()>> {
    given::has_zones().then(|| REQUESTS.lock())
}

/// Before a fork.
pub fn hold() {
    REQUESTS.hold();
}

/// After it.
///
/// # Safety
/// This thread called [`hold`].
pub unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { REQUESTS.release() }
}

/// Is no thread in the middle of a request?
pub fn is_quiet() -> bool {
    REQUESTS.try_lock().is_some()
}

/// A buffer with a zone, for that caller: `get` gets that many bytes. Null if there is no memory. `is_below`: of storage below 2 GiB.
pub fn with_zone(size: usize, is_below: bool, caller: usize, get: impl FnOnce(usize) -> *mut u8) -> *mut u8 {
    let _requests = REQUESTS.lock();
    let Some(bytes) = size.checked_add(room_in_ecb(is_below)) else { return null_mut() };
    let buffer = get(bytes);
    // SAFETY: what comes is the caller's alone.
    unsafe { lay(buffer, size, caller) };
    buffer
}

/// # Safety
/// Null, or a buffer that nobody else has, with room for a zone behind so many bytes.
unsafe fn lay(buffer: *mut u8, size: usize, caller: usize) {
    if !buffer.is_null() {
        let area = area::of(map::lookup(buffer.addr()));
        // SAFETY: the caller's promise.
        unsafe {
            Area::set_free(area, buffer.addr(), false);
            if let Some(zoned) = zoned(area, buffer.addr()) {
                zoned.lay(size, caller);
            }
        }
    }
}

/// A buffer with its zone; None if none begins there, or its ECB has ended.
///
/// # Safety
/// The area is that of the address's page.
unsafe fn zoned(area: *mut Area, address: usize) -> Option<Zoned> {
    // SAFETY: the caller's promise; a buffer is as large as its list says.
    unsafe {
        let block = (*area).block().cast::<ControlBlock>().as_ref()?;
        let end = match Area::list_at(area, address)? {
            0 => (*area).start() + (*area).bytes() - area::behind(),
            list => address + block.class().lists.sizes[list] as usize,
        };
        Some(Zoned::new(address, end))
    }
}

/// The bytes that the program asked for; None if no buffer begins there.
///
/// # Safety
/// The area is that of the address's page, and the buffer is in use.
pub unsafe fn usable(area: *mut Area, address: usize) -> Option<usize> {
    // SAFETY: the caller's promise.
    unsafe { zoned(area, address).map(|zoned| zoned.usable()) }
}

/// Looks at the zone of a buffer that a request gives up; `function` is its C name.
///
/// # Safety
/// The area is that of the address's page.
#[cold]
pub unsafe fn before(function: &'static str, area: *mut Area, address: usize, caller: usize) {
    let site = Site::of(caller);
    watch::request(function, &site);
    // SAFETY: the caller's promise.
    let (damage, bytes) = unsafe {
        let _requests = REQUESTS.lock();
        let is_in_use = Area::list_at(area, address).is_some() && !Area::is_free(area, address);
        match zoned(area, address).filter(|_| is_in_use) {
            Some(zoned) => (damage_of(zoned, address), zoned.usable()),
            None => return,
        }
    };
    if let Some(damage) = damage {
        watch::found(function, damage, &site);
    }
    trace::note(Request::Freed, address, bytes, &site);
}

/// What is wrong with a zone, which is mended.
///
/// # Safety
/// The buffer is in use.
unsafe fn damage_of(zoned: Zoned, address: usize) -> Option<Damage> {
    // SAFETY: the caller's promise.
    unsafe {
        let State::Damaged(bytes) = zoned.state() else { return None };
        zoned.mend();
        let bytes = bytes.unwrap_or_else(|| zoned.usable());
        let fault = Fault { kind: FaultKind::Overflow, address, block: address, bytes };
        Some(Damage { fault, next: None, is_fatal: false })
    }
}

/// Looks at all zones of an ECB that ends: its buffers are not freed one by one.
///
/// # Safety
/// No thread is inside, and none enters; the caller holds no lock.
#[cold]
pub unsafe fn check_all(block: &ControlBlock) {
    loop {
        let damage = {
            let _requests = REQUESTS.lock();
            // SAFETY: the caller's promise.
            unsafe { damage_in(block) }
        };
        match damage {
            Some(damage) => watch::found("underbar_ecb_end", damage, &Site::of(0)),
            None => return,
        }
    }
}

/// The first damaged zone in any ECB, which is mended. The caller holds no lock.
#[cold]
pub fn first_damage() -> Option<Damage> {
    let _requests = REQUESTS.lock();
    let mut found = None;
    ready::each_block(|block| {
        if found.is_none() && !block.is_waiting() {
            // SAFETY: no request and no end meanwhile.
            found = unsafe { damage_in(block) };
        }
    });
    found
}

/// # Safety
/// Under the lock of requests, or no thread is inside.
unsafe fn damage_in(block: &ControlBlock) -> Option<Damage> {
    let shared = block.shared.lock();
    let mut found = None;
    // SAFETY: the areas are the block's, and nobody carves or frees meanwhile.
    unsafe {
        each_in_use(block, &shared, |area, address| {
            if found.is_none()
                && let Some(zoned) = zoned(area, address)
            {
                found = damage_of(zoned, address);
            }
        });
    }
    found
}

/// Calls `then` for each buffer in use.
///
/// # Safety
/// As [`damage_in`].
unsafe fn each_in_use(block: &ControlBlock, shared: &Shared, mut then: impl FnMut(*mut Area, usize)) {
    // SAFETY: the areas are the block's.
    unsafe {
        block.each_area(shared, |area| {
            let area = core::ptr::from_ref(area).cast_mut();
            if (*area).kind == Kind::Large {
                let first = (*area).first.addr();
                if !Area::is_free(area, first) {
                    then(area, first);
                }
                return;
            }
            let (from, end) = (*area).room();
            let mut at = from;
            while at < end {
                let mark = (*area).mark(at);
                // Of a page that is not in use there are no marks.
                if mark.is_null() {
                    at = (at | (map::PAGE - 1)) + 1;
                    continue;
                }
                let list = usize::from(*mark & area::LIST);
                if list != 0 && !Area::is_free(area, at) {
                    then(area, at);
                }
                at += match list {
                    0 => area::GRAIN,
                    list => block.class().lists.sizes[list] as usize,
                };
            }
        });
    }
}

/// The ECB of a buffer, and the buffer's name.
pub struct Living {
    /// The number of the ECB.
    pub ecb: Number,
    block: &'static ControlBlock,
    /// A name of the buffer.
    pub name: [u8; tags::LONGEST],
    /// Bytes of the name; 0: it has none.
    pub length: usize,
}

impl Living {
    /// The name of the ECB's class.
    pub fn class(&self) -> &'static [u8] {
        self.block.class().name()
    }
}

/// What is known of the ECB in whose storage an address is. None if it is in none.
pub fn find(address: usize) -> Option<Living> {
    let area = area_at(address)?;
    // SAFETY: descriptors and control blocks stay readable; the table of names is used under its lock.
    unsafe {
        let block: &'static ControlBlock = (*area).block().cast::<ControlBlock>().as_ref()?;
        let mut living = Living { ecb: number_of(block), block, name: [0; tags::LONGEST], length: 0 };
        if Area::list_at(area, address).is_some()
            && Area::is_tagged(area, address)
            && let Some(shared) = block.shared.try_lock()
            && !shared.tags.is_null()
        {
            living.length = Tags::name_of(shared.tags, address, &mut living.name);
        }
        Some(living)
    }
}

/// Who got a buffer, by the words behind its zone.
pub fn getter_of(address: usize) -> Option<usize> {
    if !given::has_zones() {
        return None;
    }
    let area = area_at(address)?;
    // SAFETY: the area is that of the page.
    unsafe { zoned(area, address)?.getter() }
}

fn area_at(address: usize) -> Option<*mut Area> {
    let descriptor: *mut Descriptor = if address < map::END { map::lookup(address) } else { null_mut() };
    // SAFETY: descriptors stay readable.
    let is_area = !descriptor.is_null()
        && unsafe { (*descriptor).owner.load(core::sync::atomic::Ordering::Relaxed) } == AREA;
    is_area.then(|| area::of(descriptor))
}
