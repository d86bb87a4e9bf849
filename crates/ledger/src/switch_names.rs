//! The functions of the C library by which programs enter the kernel, each once: its name, its kind of work, and what is known of its
//! arguments.
//!
//! ```text
//! number   0 ........ COUNTED ........ NOTED ................. NAMED ............ FUNCTIONS
//!          counted    counted, and     not counted: the        the C library's own entries
//!                     noted as the     caller is noted only    for its streams, by no name
//!                     stream's caller
//! ```
//!
//! A stream (`FILE`) enters the kernel inside the C library, by functions that no program calls. Those have numbers here, too, and their
//! caller is the last one that called a noted function.
//!
//! Invariant: names are ASCII, and none is there twice. The runtime needs no address of this table: a table of addresses would have to be
//! relocated in each process.
//! Not here: how the functions are replaced (`runtime::switch`), and costs of kinds (`report`).

/// The kind of work for which a function enters the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SwitchKind {
    /// Files: open, read, write, and their names.
    File = 0,
    /// Standard output and standard error.
    Print = 1,
    /// Files that the user named as work files.
    WorkFile = 2,
    /// Storage from the kernel.
    Storage = 3,
    /// Locks between processes, and giving up the processor.
    Lock = 4,
    /// Timers and sleep.
    Timer = 5,
    /// Calls of a database's library.
    Database = 6,
    /// Sockets, pipes, and waits for them.
    Network = 7,
    /// Processes, threads, and signals.
    Process = 8,
    /// Libraries and programs that are loaded.
    Load = 9,
    /// The rest.
    Other = 10,
    /// Work that goes to another thread or process, and waits for it: pipes, conditions, mutexes that are held.
    HandOver = 11,
}

/// All kinds, by number.
pub const KINDS: [SwitchKind; 12] = {
    use SwitchKind::*;
    [File, Print, WorkFile, Storage, Lock, Timer, Database, Network, Process, Load, Other, HandOver]
};

impl SwitchKind {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Print => "print",
            Self::WorkFile => "work file",
            Self::Storage => "storage",
            Self::Lock => "lock",
            Self::Timer => "timer",
            Self::Database => "database",
            Self::Network => "network",
            Self::Process => "process",
            Self::Load => "load",
            Self::Other => "other",
            Self::HandOver => "hand-over",
        }
    }
}

/// What is known of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its kind of work.
    pub kind: SwitchKind,
    /// A bit for each of [`Function::READS`] and so on.
    pub facts: u8,
}

impl Function {
    /// The kernel counts it as a call of the read type (`syscr` of /proc/PID/io).
    pub const READS: u8 = 1;
    /// The kernel counts it as a call of the write type (`syscw`).
    pub const WRITES: u8 = 2;
    /// Its third argument is a number of bytes.
    pub const BYTES: u8 = 4;
    /// Its first argument is a descriptor.
    pub const DESCRIPTOR: u8 = 8;

    /// Whether it has that fact.
    #[must_use]
    pub const fn is(self, fact: u8) -> bool {
        self.facts & fact != 0
    }
}

macro_rules! facts {
    ($($fact:ident)*) => { 0 $(| Function::$fact)* };
}

macro_rules! functions {
    ($(counted $($c:literal)+ : $ck:ident $cf:tt;)* | $(noted $($b:literal)+ : $bk:ident;)* | $(stream $($o:literal)+ ;)* | $(hidden $h:literal : $hk:ident $hf:tt;)*) => {
        /// Functions that are counted.
        pub const COUNTED: usize = [$($($c),+),*].len();
        /// And those that are counted and noted.
        pub const NOTED: usize = COUNTED + [$($($b),+),*].len();
        /// And those that are noted only: all that have a name for the loader.
        pub const NAMED: usize = NOTED + [$($($o),+),*].len();
        /// And the C library's own.
        pub const FUNCTIONS: usize = NAMED + [$($h),*].len();
        /// All names, each with a zero.
        const NAMES: &str = concat!($($($c, "\0"),+,)* $($($b, "\0"),+,)* $($($o, "\0"),+,)* $($h, "\0"),*);
        /// What is known of each.
        const FACTS: [Function; FUNCTIONS] = [
            $($({ let _ = $c; Function { kind: SwitchKind::$ck, facts: facts! $cf } }),+,)*
            $($({ let _ = $b; Function { kind: SwitchKind::$bk, facts: 0 } }),+,)*
            $($({ let _ = $o; Function { kind: SwitchKind::File, facts: 0 } }),+,)*
            $(Function { kind: SwitchKind::$hk, facts: facts! $hf }),*
        ];
    };
}

functions! {
    counted "read" "pread" "pread64" "__read_chk" "__pread_chk" "__pread64_chk": File (READS BYTES DESCRIPTOR);
    counted "write" "pwrite" "pwrite64": File (WRITES BYTES DESCRIPTOR);
    counted "readv" "preadv" "preadv64" "preadv2" "preadv64v2": File (READS DESCRIPTOR);
    counted "writev" "pwritev" "pwritev64" "pwritev2" "pwritev64v2": File (WRITES DESCRIPTOR);
    counted "sendfile" "sendfile64" "copy_file_range": File (READS WRITES);
    counted "open" "open64" "openat" "openat64" "creat" "creat64" "__open_2" "__open64_2" "__openat_2" "__openat64_2": File ();
    counted "close" "close_range" "closefrom" "lseek" "lseek64" "fsync" "fdatasync" "sync" "syncfs" "sync_file_range": File ();
    counted "ftruncate" "ftruncate64" "truncate" "truncate64" "fallocate" "fallocate64" "posix_fallocate": File ();
    counted "posix_fallocate64" "posix_fadvise" "posix_fadvise64" "dup" "dup2" "dup3" "fcntl" "fcntl64" "ioctl": File ();
    counted "flock" "lockf" "lockf64" "isatty" "tcgetattr" "tcsetattr": File ();
    counted "stat" "stat64" "lstat" "lstat64" "fstat" "fstat64" "fstatat" "fstatat64" "statx": File ();
    counted "__xstat" "__xstat64" "__lxstat" "__lxstat64" "__fxstat" "__fxstat64" "__fxstatat" "__fxstatat64": File ();
    counted "statfs" "statfs64" "fstatfs" "fstatfs64" "statvfs" "statvfs64" "fstatvfs" "fstatvfs64": File ();
    counted "access" "faccessat" "eaccess" "euidaccess" "rename" "renameat" "renameat2" "unlink" "unlinkat" "remove": File ();
    counted "link" "linkat" "symlink" "symlinkat" "readlink" "readlinkat" "__readlink_chk" "__readlinkat_chk": File ();
    counted "mkdir" "mkdirat" "rmdir" "mkfifo" "mkfifoat" "mknod" "mknodat" "chmod" "fchmod" "fchmodat" "lchmod": File ();
    counted "chown" "fchown" "lchown" "fchownat" "umask" "utime" "utimes" "utimensat" "futimens" "futimes" "futimesat" "lutimes": File ();
    counted "mkstemp" "mkstemp64" "mkostemp" "mkostemp64" "mkdtemp" "chdir" "fchdir" "getcwd" "__getcwd_chk": File ();
    counted "getdents64" "opendir" "fdopendir" "closedir" "inotify_init" "inotify_init1" "inotify_add_watch" "inotify_rm_watch": File ();
    counted "getxattr" "lgetxattr" "fgetxattr" "setxattr" "lsetxattr" "fsetxattr" "listxattr" "llistxattr" "flistxattr": File ();
    counted "splice" "tee" "vmsplice" "pipe" "pipe2" "poll" "ppoll" "__poll_chk" "__ppoll_chk" "select" "pselect": Network ();
    counted "epoll_create" "epoll_create1" "epoll_ctl" "epoll_wait" "epoll_pwait" "epoll_pwait2" "eventfd" "signalfd": Network ();
    counted "socket" "socketpair" "connect" "accept" "accept4" "bind" "listen" "sendmsg" "sendmmsg" "recvmsg" "recvmmsg": Network ();
    counted "send" "sendto" "recv" "recvfrom" "__recv_chk" "__recvfrom_chk": Network (BYTES);
    counted "shutdown" "getsockopt" "setsockopt" "getsockname" "getpeername" "getaddrinfo" "gethostname": Network ();
    counted "mmap" "mmap64" "munmap" "mremap" "mprotect" "madvise" "posix_madvise" "msync" "mlock" "munlock" "mlockall": Storage ();
    counted "brk" "sbrk" "memfd_create" "shm_open" "shm_unlink" "mincore": Storage ();
    counted "pthread_cond_wait" "pthread_cond_timedwait" "pthread_cond_clockwait" "pthread_barrier_wait": HandOver ();
    counted "semop" "semtimedop" "msgsnd" "msgrcv" "shmat" "shmdt" "sched_yield" "pthread_yield": Lock ();
    counted "nanosleep" "usleep" "sleep" "clock_nanosleep" "setitimer" "getitimer" "alarm" "ualarm": Timer ();
    counted "timer_create" "timer_settime" "timer_gettime" "timer_delete" "timer_getoverrun": Timer ();
    counted "timerfd_create" "timerfd_settime" "timerfd_gettime" "times" "getrusage" "clock" "clock_settime": Timer ();
    counted "fork" "vfork" "clone" "execve" "execv" "execvp" "execvpe" "execl" "execlp" "execle" "fexecve" "execveat": Process ();
    counted "posix_spawn" "posix_spawnp" "wait" "wait3" "wait4" "waitpid" "waitid" "system" "pthread_create": Process ();
    counted "kill" "tgkill" "killpg" "raise" "pthread_kill" "sigaction" "signal" "sigprocmask" "pthread_sigmask": Process ();
    counted "sigaltstack" "sigsuspend" "sigtimedwait" "sigwaitinfo" "sigwait" "sigqueue" "pause" "setsid" "setpgid": Process ();
    counted "getrlimit" "getrlimit64" "setrlimit" "setrlimit64" "prlimit" "prlimit64" "prctl" "arch_prctl": Process ();
    counted "sched_getaffinity" "sched_setaffinity" "sched_setscheduler" "sched_getscheduler" "getpriority" "setpriority" "nice": Process ();
    counted "dlopen" "dlmopen" "dlclose": Load ();
    counted "getpid" "getppid" "gettid" "getuid" "geteuid" "getgid" "getegid" "getgroups" "getpgrp" "getpgid" "getsid": Other ();
    counted "setuid" "setgid" "seteuid" "setegid" "setresuid" "setresgid" "setgroups" "uname" "sysinfo" "syscall" "getrandom" "getentropy": Other ();
    |
    noted "fopen" "fopen64" "freopen" "freopen64" "fdopen" "tmpfile" "tmpfile64": File;
    noted "popen" "pclose": Process;
    |
    stream "fclose" "fcloseall" "fflush" "fflush_unlocked" "fwrite" "fwrite_unlocked" "fread" "fread_unlocked" "__fread_chk" "__fread_unlocked_chk";
    stream "fputs" "fputs_unlocked" "fputc" "fputc_unlocked" "putc" "putc_unlocked" "_IO_putc" "putchar" "putchar_unlocked" "puts" "putw";
    stream "printf" "fprintf" "vprintf" "vfprintf" "dprintf" "vdprintf" "__printf_chk" "__fprintf_chk" "__vprintf_chk" "__vfprintf_chk";
    stream "__dprintf_chk" "__vdprintf_chk" "perror" "error" "error_at_line" "warn" "warnx" "vwarn" "vwarnx" "err" "errx" "psignal" "psiginfo";
    stream "fgets" "fgets_unlocked" "__fgets_chk" "__fgets_unlocked_chk" "getc" "getc_unlocked" "_IO_getc" "fgetc" "fgetc_unlocked" "getchar";
    stream "getchar_unlocked" "gets" "__gets_chk" "getline" "getdelim" "__getdelim" "getw" "ungetc" "scanf" "fscanf" "vscanf" "vfscanf";
    stream "__isoc99_scanf" "__isoc99_fscanf" "__isoc99_vscanf" "__isoc99_vfscanf" "__isoc23_scanf" "__isoc23_fscanf" "__isoc23_vfscanf";
    stream "fseek" "fseeko" "fseeko64" "ftell" "ftello" "ftello64" "rewind" "fgetpos" "fgetpos64" "fsetpos" "fsetpos64" "setvbuf" "setbuf" "setbuffer" "setlinebuf";
    stream "__overflow" "__uflow" "__underflow" "__woverflow" "__wuflow" "__wunderflow" "fputwc" "putwc" "putwchar" "fputws" "fgetwc" "getwc" "getwchar" "fgetws";
    stream "wprintf" "fwprintf" "vfwprintf" "vwprintf" "fwscanf" "ungetwc" "exit" "getpwnam" "getpwuid" "getgrnam" "getgrgid" "fwide";
    |
    hidden "stream read": File (READS BYTES);
    hidden "stream write": File (WRITES BYTES);
    hidden "stream seek": File ();
    hidden "stream close": File ();
    hidden "stream fstat": File ();
    hidden "stream write to print": Print (WRITES BYTES);
    hidden "LINK": Load ();
    hidden "cache read": File (READS BYTES);
    hidden "cache write": File (WRITES BYTES);
    hidden "CALL": Load ();
}

/// Where each name begins in [`NAMES`]; the last one is its length.
const BEGINS: [u16; FUNCTIONS + 1] = {
    let names = NAMES.as_bytes();
    let (mut begins, mut number, mut at) = ([0; FUNCTIONS + 1], 0, 0);
    while at < names.len() {
        if names[at] == 0 {
            number += 1;
            begins[number] = at as u16 + 1;
        }
        at += 1;
    }
    assert!(number == FUNCTIONS && names.len() < u16::MAX as usize);
    begins
};

/// The hashes by which the GNU tables of symbols are searched.
static HASHES: [u32; NAMED] = {
    let names = NAMES.as_bytes();
    let (mut hashes, mut number) = ([0; NAMED], 0);
    while number < NAMED {
        let (mut hash, mut at) = (5381_u32, BEGINS[number] as usize);
        while names[at] != 0 {
            hash = hash.wrapping_mul(33).wrapping_add(names[at] as u32);
            at += 1;
        }
        hashes[number] = hash;
        number += 1;
    }
    hashes
};
static BEGINS_OF: [u16; FUNCTIONS + 1] = BEGINS;
static FACTS_OF: [Function; FUNCTIONS] = FACTS;

/// A number that changes with the table.
pub(crate) const FINGERPRINT: u64 = {
    let names = NAMES.as_bytes();
    let (mut hash, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < names.len() {
        hash = (hash ^ names[at] as u64).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    hash
};

/// The number of the C library's own entry that comes at this place: 0 is the first.
#[must_use]
pub const fn hidden(at: usize) -> usize {
    NAMED + at
}

/// Starts of a program by LINK: no function of the C library, but counted like one, for the program that is started.
pub const LINK: usize = hidden(6);

/// Calls of a program's entry by CALL. The bytes of both are CPU time, in nanoseconds.
pub const CALL: usize = hidden(9);

/// What a cache of a file reads and writes for the program.
pub const CACHE_READ: usize = hidden(7);
/// Its flushes.
pub const CACHE_WRITE: usize = hidden(8);

/// The name of a function; empty if there is none of that number.
#[must_use]
pub fn name(number: usize) -> &'static str {
    c_name(number).map_or("", |name| name.to_str().unwrap_or(""))
}

/// The same with its zero.
#[must_use]
pub fn c_name(number: usize) -> Option<&'static core::ffi::CStr> {
    let (begin, end) = (*BEGINS_OF.get(number)?, *BEGINS_OF.get(number + 1)?);
    let bytes = NAMES.as_bytes().get(usize::from(begin)..usize::from(end))?;
    core::ffi::CStr::from_bytes_with_nul(bytes).ok()
}

/// The hash of a name that the loader knows.
#[must_use]
pub fn hash(number: usize) -> Option<u32> {
    HASHES.get(number).copied()
}

/// What is known of a function.
#[must_use]
pub fn function(number: usize) -> Option<Function> {
    FACTS_OF.get(number).copied()
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_there_once_and_their_numbers_are_in_order() {
        let all: std::vec::Vec<_> = (0..FUNCTIONS).map(name).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), FUNCTIONS);
        assert!(all.iter().all(|name| name.is_ascii() && !name.is_empty()));
        assert_eq!((all[0], all[COUNTED], all[NOTED]), ("read", "fopen", "fclose"));
        assert_eq!((name(hidden(0)), name(LINK), name(FUNCTIONS)), ("stream read", "LINK", ""));
        assert_eq!([CACHE_READ, CACHE_WRITE].map(name), ["cache read", "cache write"]);
        const { assert!(COUNTED > 240 && NAMED < 1 << 12) };
        for (at, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
        }
    }

    #[test]
    fn facts_and_hashes_are_those_of_the_name() {
        let of = |wanted: &str| (0..FUNCTIONS).find(|&number| name(number) == wanted).expect("there");
        let write = function(of("write")).expect("there");
        assert!(write.is(Function::WRITES) && write.is(Function::BYTES) && !write.is(Function::READS));
        assert_eq!(function(of("sendfile")).expect("there").facts, Function::READS | Function::WRITES);
        assert_eq!(function(of("mmap")).expect("there").kind, SwitchKind::Storage);
        // As `printf` in the description of the format.
        assert_eq!(hash(of("printf")), Some(0x156b_2bb8));
        assert_eq!(hash(of("exit")), Some(0x7c96_7e3f));
        assert_eq!(hash(hidden(0)), None);
    }
}
