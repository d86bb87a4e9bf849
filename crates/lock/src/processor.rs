//! The current processor, the number of processors of the process, and the cost of a pause.
//!
//! The kernel writes the processor's number into each thread's area for restartable sequences. The C library (glibc 2.35 and
//! later) registers this area and exports its offset. Reading it costs a third of a nanosecond. Without it, the processor is
//! unknown, and the steps that need it are left out.
//!
//! Invariant: these values are hints. They may be out of date when they are returned.

/// In the value of [`this`]: the processor's number plus one.
pub const PROCESSOR: u32 = 0xffff;
/// In the value of [`this`]: some bits of the address of the thread's own memory, which distinguish most threads.
pub const THREAD: u32 = 0x3fff_0000;

#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
mod real {
    use core::sync::atomic::{AtomicIsize, AtomicU32, Ordering};
    use underbar_sys::{clock, syscall};

    /// Distance of the area from the thread pointer; 0: not looked for yet, or there is none. Set by the first thread that
    /// waits (all find the same); relaxed.
    static AREA: AtomicIsize = AtomicIsize::new(0);
    /// Number of processors; 0: not asked for yet.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    /// Thousandths of a nanosecond for one pause; 0: not measured yet.
    static PAUSE: AtomicU32 = AtomicU32::new(0);

    /// This thread and its processor. 0: unknown; before the first wait for any lock it is not needed.
    #[inline(always)]
    pub fn this() -> u32 {
        let area = AREA.load(Ordering::Relaxed);
        if area == 0 {
            return 0;
        }
        let (number, thread): (u32, u32);
        // SAFETY: the C library keeps the area there for each thread; its second word is the processor's number, which the kernel
        // changes. The first word at the thread pointer is that pointer.
        unsafe {
            core::arch::asm!(
                "mov {number:e}, dword ptr fs:[{area} + 4]",
                "mov {thread:e}, dword ptr fs:[0]",
                number = out(reg) number, thread = out(reg) thread, area = in(reg) area,
                options(nostack, preserves_flags, readonly)
            );
        }
        (thread << 4 & super::THREAD) | (number.wrapping_add(1) & super::PROCESSOR)
    }

    /// The number of processors of this process, and a pause in thousandths of a nanosecond. The first call determines them.
    #[inline]
    pub fn known() -> (u32, u32) {
        let (count, pause) = (COUNT.load(Ordering::Relaxed), PAUSE.load(Ordering::Relaxed));
        if count != 0 && pause != 0 { (count, pause) } else { find_out() }
    }

    #[cold]
    fn find_out() -> (u32, u32) {
        let size = address_of_size();
        if !size.is_null() {
            // SAFETY: both are constants of the C library, if it has them.
            unsafe {
                if *size >= 8 {
                    AREA.store(*address_of_offset(), Ordering::Relaxed);
                }
            }
        }
        let count = syscall::processors().max(1);
        COUNT.store(count, Ordering::Relaxed);
        // The shortest of three: an interrupted measurement is too long.
        let pause = (0..3).map(|_| time_of_pauses()).min().unwrap_or(0).clamp(1_000, 200_000);
        PAUSE.store(pause, Ordering::Relaxed);
        (count, pause)
    }

    fn time_of_pauses() -> u32 {
        const PAUSES: u32 = 64;
        let before = now();
        for _ in 0..PAUSES {
            core::hint::spin_loop();
        }
        u32::try_from((now() - before) * 1000 / u64::from(PAUSES)).unwrap_or(u32::MAX)
    }

    /// Has the kernel clear pages in children: whole pages of this library's zeros. False if the kernel cannot.
    pub fn clears_in_children(pages: *const u8, length: usize) -> bool {
        // SAFETY: static pages of this library; their content in this process does not change.
        unsafe { syscall::madvise(pages.cast_mut(), length, syscall::MADV_WIPEONFORK) }.is_ok()
    }

    /// Nanoseconds of the monotonic clock.
    pub fn now() -> u64 {
        clock::monotonic()
    }

    #[unsafe(naked)]
    extern "C" fn address_of_offset() -> *const isize {
        core::arch::naked_asm!(
            ".weak __rseq_offset",
            "mov rax, qword ptr [rip + __rseq_offset@GOTPCREL]",
            "ret"
        )
    }

    #[unsafe(naked)]
    extern "C" fn address_of_size() -> *const u32 {
        core::arch::naked_asm!(".weak __rseq_size", "mov rax, qword ptr [rip + __rseq_size@GOTPCREL]", "ret")
    }
}
#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
pub use real::{clears_in_children, known, now, this};

/// For the model checker and the interpreter: time advances with each read, and processors are unknown.
#[cfg(any(loom, miri, not(target_arch = "x86_64")))]
mod plain {
    use core::sync::atomic::{AtomicU64, Ordering};

    pub fn this() -> u32 {
        0
    }

    /// Never, in this form.
    pub fn clears_in_children(_: *const u8, _: usize) -> bool {
        false
    }

    /// Two processors, and a pause of ten nanoseconds.
    pub fn known() -> (u32, u32) {
        (2, 10_000)
    }

    /// More with each call.
    pub fn now() -> u64 {
        static TIME: AtomicU64 = AtomicU64::new(1);
        // The model checker has no time: the effect of one order of events on it would change the next one.
        if cfg!(loom) { 1 } else { TIME.fetch_add(600_000, Ordering::Relaxed) }
    }
}
#[cfg(any(loom, miri, not(target_arch = "x86_64")))]
pub use plain::{clears_in_children, known, now, this};
