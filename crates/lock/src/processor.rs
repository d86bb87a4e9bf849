//! Which processor this is, how many the process may use, and what a pause costs.
//!
//! The kernel writes the number of the processor into each thread's area for restartable sequences, which the C library
//! registers (glibc 2.35 and later) and whose place it tells. Reading it costs a third of a nanosecond; where there is
//! none, it is not known, and nothing here is done that needs it.
//!
//! Invariant: what is asked here is a hint. It may be old when it is returned.

/// In what [`this`] gives: the processor's number and one.
pub const PROCESSOR: u32 = 0xffff;
/// In what [`this`] gives: some bits of where the thread's own memory lies, which tell few threads apart from many.
pub const THREAD: u32 = 0x3fff_0000;

#[cfg(all(not(loom), not(miri), target_arch = "x86_64"))]
mod real {
    use core::sync::atomic::{AtomicIsize, AtomicU32, Ordering};
    use underbar_sys::syscall;

    /// Distance of the area from the thread pointer; 0: not looked for yet, or there is none. Set by whoever waits first
    /// (all find the same); relaxed.
    static AREA: AtomicIsize = AtomicIsize::new(0);
    /// Number of processors; 0: not asked for yet.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    /// Thousandths of a nanosecond for one pause; 0: not measured yet.
    static PAUSE: AtomicU32 = AtomicU32::new(0);

    /// This thread, and where it runs. 0: not known; before anybody has waited for any lock nobody needs it.
    #[inline(always)]
    pub fn this() -> u32 {
        let area = AREA.load(Ordering::Relaxed);
        if area == 0 {
            return 0;
        }
        let (number, thread): (u32, u32);
        // SAFETY: the C library keeps the area there for each thread; its second word is the processor's number, which
        // the kernel changes. The first word at the thread pointer is that pointer.
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

    /// How many processors there are for this process, nanoseconds of a pause in thousandths. The first call finds out.
    #[inline]
    pub fn known() -> (u32, u32) {
        let (count, pause) = (COUNT.load(Ordering::Relaxed), PAUSE.load(Ordering::Relaxed));
        if count != 0 && pause != 0 { (count, pause) } else { find_out() }
    }

    #[cold]
    fn find_out() -> (u32, u32) {
        let size = address_of_size();
        if !size.is_null() {
            // SAFETY: both are constants of the C library, where it has them.
            unsafe {
                if *size >= 8 {
                    AREA.store(*address_of_offset(), Ordering::Relaxed);
                }
            }
        }
        let count = syscall::processors().max(1);
        COUNT.store(count, Ordering::Relaxed);
        // The shortest of three: a measurement that was interrupted reads long.
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

    /// Has the kernel clear pages in children: whole pages of this library's zeros. False where it does not.
    pub fn clears_in_children(pages: *const u8, length: usize) -> bool {
        // SAFETY: static pages of ours; nothing becomes of them here.
        unsafe { syscall::madvise(pages.cast_mut(), length, syscall::MADV_WIPEONFORK) }.is_ok()
    }

    /// Nanoseconds of the monotonic clock.
    pub fn now() -> u64 {
        let mut time = syscall::Timespec::default();
        // SAFETY: `time` is ours to fill; the C library reads this clock without entering the kernel.
        unsafe { clock_gettime(syscall::CLOCK_MONOTONIC as i32, &raw mut time) };
        (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
    }

    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut syscall::Timespec) -> i32;
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

/// For the model checker and the interpreter: time goes on with each look at it, and nothing is known of processors.
#[cfg(any(loom, miri, not(target_arch = "x86_64")))]
mod plain {
    use core::sync::atomic::{AtomicU64, Ordering};

    pub fn this() -> u32 {
        0
    }

    /// Never, here.
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
        // For the model checker there is no time: what one order of events did to it would change the next one.
        if cfg!(loom) { 1 } else { TIME.fetch_add(600_000, Ordering::Relaxed) }
    }
}
#[cfg(any(loom, miri, not(target_arch = "x86_64")))]
pub use plain::{clears_in_children, known, now, this};
