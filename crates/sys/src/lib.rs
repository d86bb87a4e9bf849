//! Raw system calls, clocks, pages; the one door to atomics
#![no_std]

#[cfg(any(test, loom))]
extern crate std;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("underbar runs on Linux on x86-64 only");

#[cfg(feature = "launch")]
mod addressed;
pub mod bare_thread;
pub mod clock;
#[cfg(feature = "launch")]
pub mod continuation;
pub mod description;
#[cfg(feature = "launch")]
pub mod entries;
#[cfg(feature = "launch")]
pub mod entry;
pub mod file;
pub mod image;
#[cfg(feature = "launch")]
pub mod inherited;
#[cfg(feature = "launch")]
pub mod instrumented;
#[cfg(loom)]
mod kept_stacks;
#[cfg(feature = "launch")]
pub mod lease;
pub mod lock;
pub mod machine;
#[cfg(feature = "launch")]
pub mod mapping;
#[cfg(feature = "launch")]
pub mod perf;
pub mod planted;
#[cfg(feature = "launch")]
pub mod process;
pub mod process_lock;
pub mod range_lock;
#[cfg(feature = "launch")]
pub mod shared;
#[cfg(feature = "launch")]
pub mod signal;
#[cfg(feature = "launch")]
mod strings;
pub mod sync;
pub mod syscall;
#[cfg(feature = "launch")]
pub mod thread;
pub mod timer;
#[cfg(feature = "launch")]
pub mod transfers;
#[cfg(feature = "launch")]
mod withheld;
#[cfg(feature = "launch")]
pub mod zone;

/// Held by tests that touch much memory, start children, or check what children share with this process. Tests run side by side in
/// one process: its memory is a child's first peak, a child has its descriptors until its exec, and the end of one start ends what
/// another withholds from its child.
#[cfg(test)]
static PROCESS_WIDE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Waits for [`PROCESS_WIDE`], also after a test that held it has failed.
#[cfg(test)]
fn process_wide() -> std::sync::MutexGuard<'static, ()> {
    PROCESS_WIDE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
