//! The options of ECBs.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::Honoured;
use crate::entry::{Entry, words};
use crate::lists::DEFAULT_LISTS;
use crate::row::*;
use crate::value::Kind;
use crate::value::Value::{Bytes, Lists, Unset};

pub(super) const AVL: Entry = Entry {
    name: "AVL",
    least: 3,
    alias: "",
    sub_options: &[sub(
        "class,size1,size2,size3,size4,size5",
        Kind::Lists,
        Lists(DEFAULT_LISTS),
        Unset,
        "a class of ECBs, and bytes of the buffers of its available lists",
    )],
    meaning: words("Sizes of the available lists of a class of ECBs. An underbar option."),
    explanation: words("\
AVL(SSL,32,64,128,256) sets the sizes of the lists AVL1 to AVL4 of all ECBs of the class SSL. Without a class, as
AVL(,48,512), it sets those of each class that has none of its own. A request takes a buffer of the smallest size that
holds it; one above the largest size takes a buffer of another list, whose sizes grow in steps of a quarter. AVL may be
given for up to 12 classes. If it is given twice for a class, the last one counts as a whole. Sizes are rounded up to
multiples of 16. A class has the sizes that are in force when its first ECB is created."),
    effect: Honoured,
};

pub(super) const ECB: Entry = Entry {
    name: "ECB",
    least: 3,
    alias: "",
    sub_options: &[
        sub("area", SIZE_OF_AREA, Bytes(36 * K), Unset, "bytes of the area with which an ECB begins"),
        sub("OUTSIDE(file,file)", Kind::Files("OUTSIDE"), Unset, Unset, "libraries whose storage stays with the process"),
        sub("CHECK(size)", CHECK, Unset, Unset, "bytes of ended ECBs that are kept without access; 0: none"),
        sub("TRACE(n)", TRACE, Unset, Unset, "last requests of each thread that are kept; 0: none"),
        sub("LOW(size)", LOW, Unset, Unset, "bytes of the part of an ECB below 2 GiB"),
        sub("WITHOUT(item)", WITHOUT, Unset, Unset, "for underbar demo pj47265: what is left out"),
    ],
    meaning: words("The storage of ECBs, libraries that are served outside of them, and their checks. An underbar option."),
    explanation: words("\
An ECB begins with an area of this size, a multiple of 4K up to 1M. Only the pages that its buffers touch take memory.
An ECB that needs more gets frames of 1M. A good area is one that most ECBs do not outgrow, and an odd multiple of 4K:
areas at distances of a power of two meet in the same sets of the processor's caches.
What the C library, the C++ library and the loader get for themselves while a thread is in an ECB is served from the
process's heap, since it must outlive the ECB. OUTSIDE adds libraries to these: ECB(OUTSIDE(libssl,libcrypto)). A
name is that of a file up to .so; * stands for any end, and / ends the name of a folder. OUTSIDE may be the first
sub-option. It replaces the names of the layer below.
__malloc31 (underbar/malloc31.h) gets storage below 2 GiB from a part of the ECB: LOW is what it takes at a time, 32K
by default. The part ends with the ECB.
CHECK is for a search: an end fills the storage of its ECB and takes access from it, and up to this many bytes are kept
so. A program that reads, writes or frees such storage dies of the same signal as ever, and the ECB and its class, the
buffer, its size and its name are told before. CHECK alone keeps 64M. Requests and ends are slower. A system call that
is given such an address fails with EFAULT, and is not told.
TRACE(n) keeps the last n requests that each thread made in ECBs, up to 127: kind, size, address and caller. They are
in the report (--report ecbs), and on standard error when CHECK tells of a fault. Requests are slower.
Words like these may be given in any order."),
    effect: Honoured,
};
