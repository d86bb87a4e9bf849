//! The options of files and cursors: what is gathered, and what is fetched ahead.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::Honoured;
use crate::entry::{Entry, words};
use crate::row::*;
use crate::value::Kind;
use crate::value::Value::{Auto, Bytes, Number, Unset};

pub(super) const MAINPR: Entry = Entry {
    name: "MAINPR",
    least: 4,
    alias: "",
    sub_options: &[sub("file", Kind::File, Auto, Unset, "AUTO: standard output stays where it is; or a file name")],
    meaning: words("A file that gets standard output, through a cache. Natural's name."),
    explanation: words("\
MAINPR(out) creates the file, or empties it, and the program that underbar starts writes its standard output there.
Its lines are cached as under PRINT(132), or as PRINT or PWCSIZE say. What the program reads from a terminal or a pipe
still finds all lines before it in the file. In the name, %p is the process id, %e the program's name, %h the host, and
%% a percent sign."),
    effect: Honoured,
};

pub(super) const MULTIFETCH: Entry = Entry {
    name: "MULTIFETCH",
    least: 3,
    alias: "",
    sub_options: &[
        sub("rows", COUNT, Number(0), Unset, "rows of one fetch, at most; 0 and 1: as the program writes"),
        sub("size", SIZE_OF_FETCH, Bytes(256 * K), Unset, "bytes of one fetch, at most"),
    ],
    meaning: words("How many rows of a cursor are fetched when the program asks for one. An underbar option."),
    explanation: words("\
MULTIFETCH(100) applies to programs that read a cursor of PostgreSQL row by row through libpq: FETCH 1, FETCH NEXT. The
third and later fetches of a cursor take 2, 4, 8 and so on up to 100 rows, and the program gets them one by one. That is
done where the program cannot tell: in a READ ONLY transaction, with a cursor that is not SCROLL, WITH HOLD or BINARY,
whose plan reads, compares and sorts tables, and does nothing else. Other cursors are left alone, and the report counts
them with the reason. psycopg's iteration and pgjdbc's defaultRowFetchSize already fetch many rows, and gain nothing.
The Adabas and Natural parameters of that purpose are MULTI-FETCH and PREFETCH."),
    effect: Honoured,
};

pub(super) const PRINT: Entry = Entry {
    name: "PRINT",
    least: 5,
    alias: "",
    sub_options: &[sub("size", CACHE, Bytes(0), Unset, "KiB of the cache; 0: none")],
    meaning: words("The cache of standard output and standard error, if they are files. An underbar option."),
    explanation: words("\
PRINT(132) gathers small writes to standard output and standard error in 132 KiB of storage that underbar run
shares, so that nothing is lost whatever ends the program: std::endl, fflush, flush=True and the like no longer
enter the kernel for each line. Only regular files are cached, which are not opened for appending. The report names
what was left alone, with the reason. The processes that the program starts have caches, too; without the command
underbar run nothing is cached. Natural's spelling is PWCSIZE(132)."),
    effect: Honoured,
};

pub(super) const PWCSIZE: Entry = Entry {
    name: "PWCSIZE",
    least: 4,
    alias: "PCWSIZE",
    sub_options: &[
        sub("print", CACHE, Bytes(0), Unset, "KiB of the cache of printed output; 0: as PRINT says"),
        sub("read", CACHE, Bytes(0), Unset, "KiB of the cache of each work file that is read; 0: as WORKFILE says"),
        sub("write", CACHE, Bytes(0), Unset, "KiB of the cache of work files that are written; 0: as WORKFILE says"),
    ],
    meaning: words("Sizes of the print and work file caches, in Natural's order."),
    explanation: words("\
PWCSIZE(300,200,300) is PRINT(300), and 200 and 300 KiB for the files that WORKFILE names without sizes. Natural's
manuals have both spellings. WORKFILE names the work files."),
    effect: Honoured,
};

pub(super) const WORKFILE: Entry = Entry {
    name: "WORKFILE",
    least: 4,
    alias: "",
    sub_options: &[
        sub("pattern", Kind::WorkFiles, Unset, Unset, "the file's name, or a pattern of names"),
        sub("read", CACHE, Bytes(300 * K), Unset, "KiB of the cache of each such file that is read; 0: none"),
        sub("write", CACHE, Bytes(200 * K), Unset, "KiB of the cache of each such file that is written; 0: none"),
    ],
    meaning: words("Files whose small reads and writes are gathered. An underbar option."),
    explanation: words("\
WORKFILE('*.out',300,200) may be given several times; a file belongs to the first pattern that fits. A pattern
without / fits the last part of the file's path, another one the whole path, absolute or from the working directory.
* and ? do not fit /. Quote a pattern with /*, which begins a comment, with commas, parentheses or blanks. Written
bytes are in storage that underbar run shares, so that nothing is lost whatever ends the program; others see them
when the file is closed, synchronised, looked at or read by the program, when the cache is full, and when the
program ends. Only regular files are cached; those opened for appending are not. Anything that a cache cannot follow
makes the file plain again, and the report counts it with the reason. The processes that the program starts have
caches, too; without the command underbar run nothing is cached."),
    effect: Honoured,
};
