//! The answers of mallinfo, malloc_stats and malloc_info: the ledger's figures, in glibc's terms.
//!
//! glibc's figures are those of arenas and chunks; here all segments together are one arena. Figures without a counterpart are 0.
//!
//! Invariant: nothing here asks the heap for storage; text is made on the stack.
//! Not here: the structures in which C programs get them (`preload`).

use core::sync::atomic::Ordering;

use underbar_ledger::Key;
use underbar_sys::syscall;

use super::registry::{self, REGISTRY};
use super::text::Text;
use crate::ledger;

/// The heap at this moment, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// In segments.
    pub segments: u64,
    /// The peak of bytes in segments.
    pub segments_peak: u64,
    /// In elements and cells that the program holds.
    pub used: u64,
    /// In increments that malloc_trim would return to the kernel.
    pub idle: u64,
}

impl Figures {
    /// Reads the figures.
    pub fn now() -> Self {
        super::settle();
        let mut idle = 0;
        {
            let _registry = REGISTRY.lock();
            registry::each(|heap| idle += heap.space.lock().idle_bytes() as u64);
        }
        let figure = |key| ledger::slot().cell(key).load(Ordering::Relaxed);
        let segments = figure(Key::HeapSegmentBytes);
        Self {
            segments,
            segments_peak: figure(Key::HeapSegmentBytesPeak),
            // Other threads publish figures in batches: the sum may be below zero for a moment.
            used: u64::try_from(figure(Key::HeapUsed).cast_signed()).unwrap_or(0).min(segments),
            idle,
        }
    }

    /// Bytes in segments that the program does not hold.
    pub fn free(&self) -> u64 {
        self.segments - self.used
    }
}

/// malloc_stats: writes the same to standard error as glibc.
pub fn write_stats() {
    let text = stats(&Figures::now());
    // If the descriptor is closed, the program wants no output.
    let _ = syscall::write(2, text.as_bytes());
}

fn stats(figures: &Figures) -> Text {
    let mut text = Text::new();
    for title in ["Arena 0:", "Total (incl. mmap):"] {
        text.put(title);
        text.put("\nsystem bytes     = ").number(figures.segments, 10);
        text.put("\nin use bytes     = ").number(figures.used, 10).put("\n");
    }
    text.put("max mmap regions = ").number(0, 10);
    text.put("\nmax mmap bytes   = ").number(0, 10).put("\n");
    text
}

/// malloc_info: hands a C string of XML to `write`, in the form of glibc.
pub fn with_xml<R>(write: impl FnOnce(*const u8) -> R) -> R {
    let text = xml(&Figures::now());
    write(text.as_c().as_ptr())
}

fn xml(figures: &Figures) -> Text {
    let mut text = Text::new();
    text.put("<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n");
    let totals = |text: &mut Text| {
        text.put("<total type=\"fast\" count=\"0\" size=\"0\"/>\n<total type=\"rest\" count=\"0\" size=\"");
        text.number(figures.free(), 0).put("\"/>\n");
    };
    let system = |text: &mut Text| {
        text.put("<system type=\"current\" size=\"").number(figures.segments, 0);
        text.put("\"/>\n<system type=\"max\" size=\"").number(figures.segments_peak, 0);
        text.put("\"/>\n<aspace type=\"total\" size=\"").number(figures.segments, 0);
        text.put("\"/>\n<aspace type=\"mprotect\" size=\"").number(figures.segments, 0).put("\"/>\n");
    };
    totals(&mut text);
    system(&mut text);
    text.put("</heap>\n");
    totals(&mut text);
    text.put("<total type=\"mmap\" count=\"0\" size=\"0\"/>\n");
    system(&mut text);
    text.put("</malloc>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: Figures = Figures { segments: u64::MAX, segments_peak: u64::MAX, used: 12345, idle: 0 };

    #[test]
    fn the_longest_texts_fit() {
        for text in [stats(&FIGURES), xml(&FIGURES)] {
            assert!(text.as_bytes().len() < 1000 && text.as_bytes().ends_with(b"\n"), "cut");
            assert_eq!(text.as_c().last(), Some(&0));
        }
    }

    #[test]
    fn stats_are_laid_out_as_by_glibc() {
        let text = stats(&Figures { segments: 135_168, segments_peak: 0, used: 1040, idle: 0 });
        let arena = b"Arena 0:\nsystem bytes     =     135168\nin use bytes     =       1040\n";
        assert!(text.as_bytes().starts_with(arena));
    }
}
