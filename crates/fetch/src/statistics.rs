//! The loader's work, in figures.
//!
//! Invariant: each figure has one line in the table, from which structure and names are made; `fetches` = `hits_in_use` +
//! `hits_in_pool` + `loads` + `fallbacks` of all reasons.
//! Not here: pages that the kernel reads when a mapped program is touched: no program can count these exactly
//! (`/proc/self/io` covers the whole process).

use underbar_partitioned::count::Counts;

use crate::error::REASONS;

/// Makes the structure and the list of names from one table.
macro_rules! figures {
    ($($(#[doc = $about:literal])+ $name:ident, $key:literal;)*) => {
        /// Figures since the process began.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Statistics {
            $($(#[doc = $about])+ pub $name: u64,)*
            /// Programs left to the system's loader, by the number of the reason.
            pub fallbacks: [u64; REASONS.len()],
            /// The reads of searches and loads in our own libraries: four kinds of figures that are never added to each other. A
            /// folder of files has neither tracks nor channel programs. Only the kernel knows the reads from a device:
            /// `/proc/self/io`.
            pub counts: Counts,
        }

        impl Statistics {
            /// No work.
            pub const NONE: Statistics = Statistics {
                $($name: 0,)*
                fallbacks: [0; REASONS.len()],
                counts: Counts {
                    programs_by_article: 0,
                    programs_by_fetch: 0,
                    blocks: 0,
                    tracks: 0,
                    directory_blocks: 0,
                    directory_tracks: 0,
                },
            };

            /// Calls `each` with key, value and meaning of every figure, except fallbacks and `counts`.
            pub fn each(&self, mut each: impl FnMut(&'static str, u64, &'static str)) {
                $(each($key, self.$name, concat!($($about),*));)*
            }
        }
    };
}

figures! {
    /// LOADs that returned a program.
    fetches, "fetches";
    /// Of these: the program was already in use.
    hits_in_use, "hits-in-use";
    /// Of these: an image from the pool.
    hits_in_pool, "hits-in-pool";
    /// Of these: loaded from its library by us.
    loads, "loads";
    /// DELETEs.
    deletes, "deletes";
    /// Images put into the pool.
    staged, "staged";
    /// Images that the pool dropped: its bound, a purge, or a member that was replaced.
    dropped, "dropped";
    /// Images removed at once at their last DELETE.
    unloaded, "unloaded";
    /// DELETEs whose program stays unchanged, since running threads have objects of it.

    delayed, "delayed";
    /// Pages that had been written and were copied back.
    restored_pages, "restored-pages";
    /// Bytes of pages that were dropped to restore their original content, written or not.
    reset_bytes, "reset-bytes";
    /// Searches of libraries' directories.
    searches, "searches";
    /// Searches that were avoided by the lookaside.
    lookaside_hits, "lookaside-hits";
    /// Libraries whose kept directory was given up after a change.
    refreshes, "refreshes";
    /// PDSEs opened with one of two labels damaged or cut short: they may be in the state before the last
    /// change.
    doubtful, "doubtful";
    /// Relocations by the place of a program alone.
    relative_relocations, "relative-relocations";
    /// Relocations by symbols and thread storage.
    bound_relocations, "bound-relocations";
}
