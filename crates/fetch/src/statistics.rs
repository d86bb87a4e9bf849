//! What was done, in figures.
//!
//! Invariant: each figure has one line in the table, from which structure and names are made; `fetches` = `hits_in_use` +
//! `hits_in_pool` + `loads` + `fallbacks` of all reasons.
//! Not here: pages that the kernel reads when a mapped program is touched: no program can count these exactly
//! (`/proc/self/io` tells of the whole process).

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
            /// What searches and loads of our own libraries read: four kinds of figures that are never added to each
            /// other. A folder of files has neither tracks nor channel programs. What really came from a device only the
            /// kernel knows: `/proc/self/io`.
            pub counts: Counts,
        }

        impl Statistics {
            /// Nothing done.
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

            /// Calls `each` with key, value and meaning of every figure, but for fallbacks and `counts`.
            pub fn each(&self, mut each: impl FnMut(&'static str, u64, &'static str)) {
                $(each($key, self.$name, concat!($($about),*));)*
            }
        }
    };
}

figures! {
    /// LOADs that gave a program.
    fetches, "fetches";
    /// Of these: the program was in use already.
    hits_in_use, "hits-in-use";
    /// Of these: an image from the pool.
    hits_in_pool, "hits-in-pool";
    /// Of these: loaded from its library by us.
    loads, "loads";
    /// DELETEs.
    deletes, "deletes";
    /// Images given to the pool.
    staged, "staged";
    /// Images that the pool gave up: its bound, a purge, or a member that was replaced.
    dropped, "dropped";
    /// Images that went at once at their last DELETE.
    unloaded, "unloaded";
    /// DELETEs whose program stays as it is, since threads that go on have objects of it.

    delayed, "delayed";
    /// Pages that had been written, and were copied back.
    restored_pages, "restored-pages";
    /// Bytes of pages that were dropped to bring back what was below them, written or not.
    reset_bytes, "reset-bytes";
    /// Searches of libraries' directories.
    searches, "searches";
    /// Searches that were not made, since the lookaside knew.
    lookaside_hits, "lookaside-hits";
    /// Libraries whose kept directory was given up, since they had changed.
    refreshes, "refreshes";
    /// PDSEs opened of whose two labels one is damaged or cut short: what is read of them may be the state before the last
    /// change.
    doubtful, "doubtful";
    /// Relocations by the place of a program alone.
    relative_relocations, "relative-relocations";
    /// Relocations by symbols and thread storage.
    bound_relocations, "bound-relocations";
}
