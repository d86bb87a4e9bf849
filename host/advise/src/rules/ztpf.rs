//! The rules for z/TPF: reports of request sizes, displays and profiles. Those that have a counterpart here also serve ECBs on Linux.
//!
//! Not here: the table that joins the parts (`rules`), and the functions of the rules.

use crate::ecbs;
use crate::listing::ztpf;
use crate::rule::{Apply, Platform, Rule};

/// In the order in which they are applied.
pub(super) const RULES: [Rule; 8] = [
    Rule {
        id: "tpf-sound",
        title: "Whether a report of z/TPF can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Counts and percentages of a report contradict each other, or its classes do not grow from row to row.",
        formula: "No advice from that report.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::sound),
    },
    Rule {
        id: ztpf::AVL_SIZE,
        title: "Buffer sizes of the available lists of the ECB heap (HAVSZn; on Linux AVL)",
        source: "ECB heap talk, 2025 (PJ47265): the request size report has finer classes \"to help tune AVL sizes\"; z/TPF \
                 itself gives no advice on sizes. The optimisation is our own",
        condition: "A request size report of which at most one request in 100 is in missing rows; the best sizes \
                    spare one byte in 100 of what is handed out, or more requests find a list.",
        formula: "Of all ways to cut the classes into as many runs as there are lists (4, or as many as the listing shows) the \
                  one with the least sum of requests times (size - class limit), found exactly by dynamic programming. The \
                  lists hold all requests but one in 1,000. Sizes are class limits, multiples of 32. For a run: \
                  AVL(class,s1,...,s5) of each class that spares enough, multiples of 16, by the requests of up to 4096 bytes of the ECBs \
                  that were counted one by one.",
        stop: "The present sizes waste no more for certain: no change. Of a report with classes of 128 of which the first holds half \
               of the requests no sizes are taken where the present ones are not known.",
        risk: "A report shows one interval of one system, and a system-wide one mixes applications with shared SSL and Java, \
               which ask for many small buffers: with PJ48166 these have sizes of their own. The sizes matter even where the \
               numbers of preallocated buffers (HAVLn) are 0.",
        platforms: &[Platform::Ztpf, Platform::Linux],
        apply: Apply::Ecbs(ecbs::sizes, ztpf::avl::sizes),
    },
    Rule {
        id: "tpf-avl-count",
        title: "Numbers of preallocated buffers of the available lists (HAVLn)",
        source: "z/TPF blog, questions and answers on preallocated buffers: before PJ47265 at most 150 over AVL1 to AVL4, since \
                 the first control table has 150 entries in five 4-KB frames",
        condition: "A request size report, or values of a memory configuration, are there.",
        formula: "Nothing is set: a report of requests does not show how many buffers an ECB holds at one time. Values that are \
                  there are checked: at most 150 buffers in all, and their bytes within the preallocated area.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::counts),
    },
    Rule {
        id: "tpf-preallocated",
        title: "The preallocated area of an ECB (PEH, 31-bit; on Linux ECB)",
        source: "PJ48166: usage reports of the preallocated and of the virtual 31-bit heap, to tell which size is acceptable",
        condition: "The usage report of the preallocated area, whole, of 20 ECBs or more.",
        formula: "The smallest class that holds 95 of 100 ECBs, in 4-KB frames, over both 31-bit reports where the second holds \
                  as many ECBs as the first says exceed the area. For a run: ECB(area) over the ended ECBs of all classes, lowered only where \
                  the area is four times as large.",
        stop: "The present area is that class: no change.",
        risk: "Every ECB that is defined gets the area, used or not: a frame more is 4 KB times their number. The unit of PEH is \
               not confirmed by a public source. Buffers of the available lists come out of the area.",
        platforms: &[Platform::Ztpf, Platform::Linux],
        apply: Apply::Ecbs(ecbs::area, ztpf::preallocated::area),
    },
    Rule {
        id: "tpf-fine-classes",
        title: "Classes of 128 hide the sizes that matter",
        source: "ECB heap talk, 2025: 99.73 % of the requests in the one class up to 128; with PJ47265 99.29 % in that of 33 to 64",
        condition: "A report with classes of 128, of which the first holds half of all requests or more.",
        formula: "Nothing is set: collect again with APAR PJ47265 (and PJ48131), whose classes begin at 32, before sizes below 128 \
                  are chosen.",
        stop: "The report has the finer classes: no advice.",
        risk: "None: nothing is set. No application changes are needed for the APARs.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::fine),
    },
    Rule {
        id: "tpf-population",
        title: "Sets of sizes for shared SSL and Java, and classes of ECBs that deserve their own",
        source: "ECB heap talk, 2025, and PJ48166: shared SSL and Java run in long-running ECBs and use many small buffers; \
                 applications are likely to benefit from larger sizes. Their sizes are separately tunable",
        condition: "A display of the lists of one ECB (ZDECB HAVL) is there; or a run has two classes of ECBs with 100 counted requests or more each.",
        formula: "Nothing is set: the display names the set and its sizes, the layout of its counts is not known. Its sizes are \
                  the present ones of that set, and of no other. For a run: the classes whose own sizes spare one byte in 20 \
                  of what the best sizes for all classes together hand out.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf, Platform::Linux],
        apply: Apply::Ecbs(ecbs::own_sizes, ztpf::remarks::sets),
    },
    Rule {
        id: "tpf-read-only",
        title: "Reports without advice",
        source: "z/TPF documentation: layout of the name-value pair table (values are cumulative), ZSTAT SYSHEAP; neither it nor the \
                 talks hold a rule for them",
        condition: "Name-value pairs, or a display of the system heap, are there.",
        formula: "Nothing is set: no public source names the counters of the ECB heap among the name-value pairs. For counters \
                  whose names hold AVL or HEAP, the change from row to row of one ECB is shown.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::read_only),
    },
    Rule {
        id: "tpf-contention",
        title: "A share of compare-and-swap in the instruction profile",
        source: "Simple lock talk, 2023 (PJ46800): 99 % of CPU with most samples on CSG in slockc.goff, 8 % with the APAR, where \
                 TM, CGHSI and BRCTG take their place",
        condition: "An object with 100 samples or more, of which a quarter or more are of CS, CSG or another compare-and-swap.",
        formula: "In slockc.goff: apply PJ46800. Elsewhere: simple locks, or read before each swap, spin a bounded number of times, \
                  give up control; hold the lock for less time.",
        stop: "A smaller share: no change.",
        risk: "A profile shows where time goes, not how much of it waiting costs: compare CPU and throughput before and after. \
               Programs that refer to fields of the simple lock must be changed for PJ46800.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::contention::contention),
    },
];
