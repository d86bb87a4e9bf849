//! The rules for programs under Language Environment, from their storage reports.
//!
//! Not here: the table that joins the parts (`rules`), and the functions of the rules.

use crate::listing::le;
use crate::rule::{Apply, Platform, Rule};

/// In the order in which they are applied.
pub(super) const RULES: [Rule; 8] = [
    Rule {
        id: "le-sound",
        title: "Whether the report can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Lines of two reports are mixed, or lines are cut at the right; or an options report or text of the \
                    same listing sets a size that the storage report shows otherwise.",
        formula: "No advice based on that report or option.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::sound::apply),
    },
    Rule {
        id: "le-heap-size",
        title: "Initial size and increment of the heaps",
        source: "Language Environment, \"Total heap storage used (sugg. initial size)\"; storage tuning talk: 27,949 segments \
                 of 32K took 15.44 s of CPU, 8 segments of 100M 0.12 s",
        condition: "More used than the initial size holds, in more than 8 segments, or in any number of them where one of 16M \
                    or less would do (raise); an initial size of which less than 62 % and 64K less are used, or an increment \
                    of which less than a sixteenth is used (lower).",
        formula: "Initial size: the most that was used in any run and an eighth of it for headers and packing, rounded up; \
                  above 128M an eighth of it, as initial size and as increment, which makes about 8 segments. Increment: \
                  a quarter of the initial size. In ten runs or more, what was needed long ago counts less: each later run \
                  forgets a sixteenth of what it did not need. Where the largest of ten runs or more is twice the usual \
                  (nine in ten), or the region is less than twice the initial size or leaves less than an increment above \
                  the peak, only the increment is raised, to half of what is left at most. ANYHEAP \
                  grows with the stacks of threads, whose first segments are in it (BELOWHEAP where they are BELOW).",
        stop: "The initial size holds all, or 8 segments or fewer hold more than 16M: no change. Nothing goes down where more \
               segments were allocated than the use takes, and nothing is set by a size that is neither whole K nor a round \
               number: digits may be missing.",
        risk: "A peak of the runs seen need not be the largest. The initial size is taken at once, by each enclave: under \
               CICS and IMS by as many as run at one time.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::heap::apply),
    },
    Rule {
        id: "le-keep-free",
        title: "KEEP or FREE for increments",
        source: "Storage tuning talk: 39,122 segments allocated and 39,120 freed under FREE took 25.79 s of CPU and 62 s, \
                 under KEEP 22.34 s and 25 s",
        condition: "16 segments or more were freed, and nine of ten of those allocated.",
        formula: "KEEP for the increments of that heap or stack; nothing where requests are larger than the increment, since \
                  KEEP then fragments in servers that run for long.",
        stop: "Fewer were freed, or KEEP is set: no change.",
        risk: "KEEP holds storage that others could use. In long-running servers with requests larger than the increment \
               KEEP fragments, and FREE is right.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::keep::apply),
    },
    Rule {
        id: "le-stack",
        title: "Stacks from the largest use of any thread",
        source: "Language Environment, storage report: Largest used by any thread (not the maximum of all threads, which \
                 popular advice takes and which is wrong for threaded programs)",
        condition: "A thread used more than the initial size (raise), or less than 62 % of it and 64K less (lower), of STACK, \
                    THREADSTACK, LIBSTACK, THREADHEAP or the downward stacks.",
        formula: "Initial size: the largest use of any thread and an eighth of it, rounded up. THREADSTACK only where it is \
                  known to be ON. First segments of all threads but the first come out of ANYHEAP (BELOWHEAP if BELOW), \
                  which needs threads times the difference more. STACK64 and THREADSTACK64 are left alone: their increments ask nothing of the system.",
        stop: "The initial size holds what any thread used: no change. Nothing goes down where more segments were allocated \
               than there were threads, and nothing is set by a size that is neither whole K nor a round number: digits may be \
               missing.",
        risk: "The next run may call deeper, which costs an increment.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::stack::apply),
    },
    Rule {
        id: "le-storage-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR.",
        formula: "STORAGE(,,NONE).",
        stop: "It is NONE or CLEAR: no change.",
        risk: "A program that uses variables before it sets them behaves otherwise; CLEAR clears the unused initial stack \
               once and may serve it.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::fill::apply),
    },
    Rule {
        id: "le-heap-pools",
        title: "HEAPPOOLS: percentages, sizes, leaks",
        source: "Language Environment, storage report: extents allocated should be 1 or 2; suggested percentage = maximum \
                 cells used x element size x 100 / initial heap size, 1 to 90. The method of the suggested sizes is not \
                 published; ours is least waste over the requests by ranges of 8 bytes",
        condition: "A pool needed more than 2 extents, a quarter of the bytes of cells is wasted or a tenth of the requests is \
                    larger than the largest cell, or half of the cells were in use at the end.",
        formula: "Percentages: the published formula, rounded up. Sizes: of all sets of up to 12 sizes the one in which the \
                  requests waste least, with empty percentages as the system itself suggests them; then one more run.",
        stop: "2 extents or fewer everywhere, and sizes that fit: no change.",
        risk: "Counts of pools are not serialized and so inexact. An extent is taken whole.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::pools::apply),
    },
    Rule {
        id: "le-region",
        title: "Initial sizes against the region",
        source: "A site's system member asked for an initial heap of 256M where about 125M was free: the program ended in \
                 abend 0C4 (zowe/zowe-common-c#505)",
        condition: "The initial sizes of heap, stack and library heap above the line are half of the region or more.",
        formula: "Nothing is set by this rule: sizes that are not used go down by le-heap-size and le-stack; otherwise the \
                  region has to be raised.",
        stop: "They are less than half of the region, or the region is unknown: no advice.",
        risk: "An initial size that cannot be had ends the program.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::region::apply),
    },
    Rule {
        id: "le-link-call",
        title: "Many small enclaves",
        source: "Storage tuning talk: 10 levels of LINK took 1760K, of dynamic CALL 128K",
        condition: "Eight storage reports or more in one listing, none of which used more heap than 64K.",
        formula: "Nothing is set: where programs LINK to each other, dynamic CALL saves an enclave each.",
        stop: "Fewer, or larger ones: no advice.",
        risk: "A called program shares the caller's run-time: its options and its leftovers.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::link::apply),
    },
];
