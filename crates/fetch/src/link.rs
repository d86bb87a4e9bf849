//! CALL, LINK and XCTL: running a loaded program.
//!
//! ```text
//! CALL  entry(parameter)                       on the caller's stack; its result is returned
//! LINK  LOAD ─> main(arguments, environment) ─┬─ returns ───────────────┬─> DELETE ─> status, to the caller
//!                                             └─ exit(): back to LINK ──┘
//! XCTL  in a LINKed program: it ends here, and LINK continues with another one instead
//! ```
//!
//! The actions of a LINKed program's `exit` and `_exit` are bound at loading ([`crate::replaced`]). They return to the
//! innermost LINK of their thread and skip the frames between without unwinding them, as `exit` does; then the program's
//! destructors and `atexit` functions run, and output is flushed. They do the same in its constructors, and in those of
//! programs that it LOADs, which are given back first; in a destructor they end that destructor. In a child that the program forks
//! they end the child, and so does the end of its `main`. If the program jumps to a place of its caller's, throws an exception out of
//! `main`, or its thread ends (`pthread_exit`, cancellation), it is given back first ([`crate::departure`]). The program's arguments and environment are separate copies. If an
//! environment is given, `environ` points to it meanwhile, for all threads of the process. If the program is in use, LINK makes
//! another copy with its own data, unless it is reentrant (RENT).
//!
//! Under the preload library a program with its own data has a heap of its own ([`crate::enclave`]): what it does not free goes with
//! it. If the option STACK gives a size, its `main` runs on a stack of its own, which the next LINK gets. That is no default: a library
//! that looks for the limits of the thread's stack itself (collectors of garbage do) finds those of its caller's stack. If threads that it made still run when it ends, it lingers, and is given back by the first LINK that begins or ends after them.
//!
//! *Not* covered, with effect on the whole process: `abort`, `quick_exit`, signals, `exec`, `exit` called in another thread or from within a library of the system (`err`, `assert`), raw system calls, and
//! process-wide state such as the current directory, locale, signal handlers and open files. A program that was left to the
//! system's loader is not LINKed at all ([`Error::NotIsolated`]). Storage that the program hands to the process for later use
//! (`setvbuf`, `sigaltstack`, `putenv`) must not be of its heap. Without the preload library, and of a program
//! that is shared, storage that it does not free stays.
//!
//! Invariant: a LINK's frame is the innermost of its thread from before the LOAD of its program until after its DELETE;
//! programs are DELETEd as often as LINK has LOADed them, in the end.
//! Not here: the stacks of LINKed programs (the preload library).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{NonNull, null_mut};

use crate::arena;
use crate::departure::{self, call_main};
use crate::enclave::{self, Counted, Enclave, Entered, Lingering};
use crate::error::Error;
use crate::exit::exit;
use crate::frame::{self, Frame};
use crate::program::Form;
use crate::system;
use crate::table::{self, Library, Loaded};
use crate::vector::Vector;

/// The type of a program's `main`.
type Main = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;
/// The type of an entry point that is CALLed. It may throw.
pub type Entry = unsafe extern "C-unwind" fn(*mut c_void) -> isize;

/// A LINK in progress. In the arena: if code jumps past it, it is found there.
#[repr(C)]
struct Linked {
    /// First, so that the frame's address is that of its LINK.
    frame: Frame,
    /// The program that takes over, if the program has asked for one.
    next: Option<Task>,
    /// The program that runs.
    running: Option<Running>,
}

/// A program whose `main` runs, and what is undone when it has ended.
#[derive(Clone, Copy)]
struct Running {
    task: Task,
    entered: Option<Entered>,
    /// The environment of the caller.
    environment: *const *const c_char,
    /// Of [`enclave::program_starts`].
    start: usize,
    counted: Counted,
}

/// A program to run.
#[derive(Clone, Copy)]
struct Task {
    program: Loaded,
    main: usize,
    arguments: Vector,
    environment: Option<Vector>,
}

/// CALL: runs a loaded program's entry on the caller's stack.
///
/// # Safety
/// The entry is a function that takes one pointer and returns a number, and may use `parameter` as it does.
///
/// # Errors
/// It is not loaded, or has no entry.
pub unsafe fn call(loaded: Loaded, parameter: *mut c_void) -> Result<isize, Error> {
    let entry = table::entry(loaded)?;
    let counted = Counted::begin(entry, false);
    // SAFETY: the caller's promise.
    let result = unsafe { core::mem::transmute::<usize, Entry>(entry)(parameter) };
    counted.end();
    Ok(result)
}

/// LINK: loads a program, runs its `main`, and gives it back; the exit status is 0 to 255, as a parent process would see it.
/// `environment` may be null: the caller's.
///
/// # Safety
/// Both lists end with a null pointer and hold C strings (or are null); the program may do anything in this process, within
/// the limits that the head of this file describes.
///
/// # Errors
/// The reason why it could not be loaded, or [`Error::NoEntry`] if it has no `main`. [`Error::Thrown`] if it ended by an exception.
pub unsafe fn link(
    libraries: &[Library],
    name: &[u8],
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Result<c_int, Error> {
    let mut token = 0;
    enclave::give_back();
    let new = Linked { frame: Frame::new(Some(give_back_passed)), next: None, running: None };
    let kept = arena::keep(new).map_err(Error::NoStorage)?;
    // By pointer only: the code in the frame changes it.
    let linked = kept.as_ptr();
    // SAFETY: the frame is popped before it ceases to exist; the caller's promise.
    unsafe {
        let pushed = Frame::push(linked.cast(), &raw mut token);
        if pushed.is_err() {
            let _ = arena::take(kept);
            pushed?;
        }
        frame::give_back_dead();
        let status = turns(linked, libraries, name, arguments, environment);
        frame::give_back_dead();
        let departure = Frame::take_departure(linked.cast());
        Frame::pop(linked.cast());
        let _ = arena::take(kept);
        enclave::give_back();
        match departure {
            None => status,
            Some(departure) => {
                departure::go_on(departure);
                Err(Error::Thrown)
            }
        }
    }
}

/// Gives back a LINK that code has jumped past, with its program.
unsafe fn give_back_passed(frame: *mut Frame) {
    let linked = frame.cast::<Linked>();
    // SAFETY: a frame of this file, in the arena; nobody returns to it, so nothing runs on its stack.
    unsafe {
        let stack = Frame::begin_to_end(frame);
        if let Some(running) = (*linked).running.take() {
            enclave::give_stack_back(stack);
            running.ends();
            running.task.finish();
            system::fflush(null_mut());
        }
        if let Some(next) = (*linked).next.take() {
            next.finish();
        }
        Frame::pop(frame);
        let _ = arena::take(NonNull::new_unchecked(linked));
    }
}

/// Runs the program, and those that take its place. If its constructors exit, it has ended with that status before its `main`.
unsafe fn turns(
    linked: *mut Linked,
    libraries: &[Library],
    name: &[u8],
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Result<c_int, Error> {
    // SAFETY: the frame is the innermost one of this thread, and stays until this is done; the caller's promise.
    unsafe {
        let mut prepared = Task::prepare(libraries, name, arguments, environment);
        loop {
            let status = match prepared {
                Ok(task) => {
                    let status = run(linked, task);
                    task.finish();
                    system::fflush(null_mut());
                    status
                }
                Err(error) => Frame::take_exit(linked.cast()).ok_or(error)?,
            };
            match (*linked).next.take() {
                Some(next) => prepared = Ok(next),
                None => return Ok(status & 0xff),
            }
        }
    }
}

/// XCTL: ends the LINKed program that calls this, and runs another one in its place; LINK then returns the exit status of that
/// program. Returns only if it could not be loaded.
///
/// # Safety
/// As [`link`].
pub unsafe fn transfer(
    libraries: &[Library],
    name: &[u8],
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Error {
    let linked = Frame::of_link((&raw const name).addr()).cast::<Linked>();
    if linked.is_null() {
        return Error::NotLinked;
    }
    // SAFETY: the caller's promise; the frame belongs to a LINK further up this stack.
    unsafe {
        match Task::prepare(libraries, name, arguments, environment) {
            Ok(task) => {
                (*linked).next = Some(task);
                exit(0)
            }
            Err(error) => error,
        }
    }
}

/// Becomes a program: loads it, runs its `main` with our environment, and ends the process with its exit status. Returns only
/// on failure. A program that was left to the system's loader is run too, since nothing runs after it.
///
/// This is as safe as `execve`, and for the same reason: nothing of the caller runs after the program has begun, except the
/// functions that it registered for the end of the process.
pub fn become_program(libraries: &[Library], name: &[u8], arguments: &[&CStr]) -> Error {
    // SAFETY: the program's constructors and its `main` have the process for themselves, see above; `arguments` is made into a
    // list of C strings that ends with null, in memory that stays.
    unsafe {
        let program = match table::load(libraries, name, Some(Form::Fresh)) {
            Ok(program) => program,
            Err(error) => return error,
        };
        let main = match table::symbol(program, c"main") {
            Ok(Some(main)) => main,
            Ok(None) => return Error::NoEntry,
            Err(error) => return error,
        };
        let size = (arguments.len() + 1) * size_of::<*const c_char>();
        let list = match crate::arena::get(size) {
            Ok(room) => room.cast::<*const c_char>().as_ptr(),
            Err(errno) => return Error::NoStorage(errno),
        };
        for (at, text) in arguments.iter().enumerate() {
            list.add(at).write(text.as_ptr());
        }
        list.add(arguments.len()).write(core::ptr::null());
        let main = core::mem::transmute::<usize, Main>(main);
        system::exit(main(arguments.len() as c_int, list, system::environ))
    }
}

impl Task {
    unsafe fn prepare(
        libraries: &[Library],
        name: &[u8],
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> Result<Task, Error> {
        // SAFETY: the caller's promise.
        unsafe {
            let program = table::load_alone(libraries, name)?;
            let prepared = Task::of(program, arguments, environment);
            if prepared.is_err() {
                let _ = table::delete(program);
            }
            prepared
        }
    }

    unsafe fn of(
        program: Loaded,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> Result<Task, Error> {
        if table::is_of_system(program)? {
            return Err(Error::NotIsolated);
        }
        let main = table::symbol(program, c"main")?.ok_or(Error::NoEntry)?;
        // SAFETY: the caller's promise.
        unsafe {
            let arguments = Vector::copy(arguments).map_err(Error::NoStorage)?;
            let environment = match environment.is_null() {
                true => None,
                false => Some(Vector::copy(environment).map_err(|errno| {
                    arguments.free();
                    Error::NoStorage(errno)
                })?),
            };
            Ok(Task { program, main, arguments, environment })
        }
    }

    /// Gives everything back, or lets it linger: threads of the program still run its code.
    unsafe fn finish(self) {
        let enclave = table::enclave(self.program).unwrap_or(Enclave::NONE);
        if enclave.threads() > 0
            && let Ok(left) =
                arena::keep(Left { lingering: Lingering::new(enclave, Left::give_back), task: self })
        {
            // SAFETY: a piece of the arena, which stays until `Left::give_back` takes it.
            unsafe { enclave::linger(left.cast()) };
            return;
        }
        // SAFETY: the program has ended.
        unsafe { self.give_back() };
    }

    unsafe fn give_back(self) {
        // SAFETY: the caller's promise.
        unsafe {
            let _ = table::delete(self.program);
            self.arguments.free();
            if let Some(environment) = self.environment {
                environment.free();
            }
        }
    }
}

/// A program that has ended, but for threads that it made.
#[repr(C)]
struct Left {
    lingering: Lingering,
    task: Task,
}

impl Left {
    unsafe fn give_back(left: NonNull<Lingering>) {
        // SAFETY: made in `finish`; the last of its threads has ended, and nobody else has it.
        unsafe { arena::take(left.cast::<Left>()).task.give_back() }
    }
}

impl Running {
    /// It has ended, and its stack was given back: the thread is outside again.
    unsafe fn ends(self) {
        if let Some(entered) = self.entered {
            entered.leave();
        }
        enclave::program_ends(self.start);
        self.counted.end();
        if self.task.environment.is_some() {
            // SAFETY: as the program around has set it.
            unsafe { system::environ = self.environment };
        }
    }
}

/// Runs a program's `main` in a frame and in its enclave, until it returns or exits: on a stack of its own if the option STACK gives a size.
unsafe fn run(linked: *mut Linked, task: Task) -> c_int {
    struct Run {
        task: Task,
        frame: *mut Frame,
        returned: c_int,
    }
    unsafe extern "C" fn inside(run: *mut c_void) {
        let run = run.cast::<Run>();
        // SAFETY: of the call below, whose frames exist until the frame is left.
        unsafe {
            let Run { task, .. } = *run;
            let (count, list) = (task.arguments.count as c_int, task.arguments.list());
            (*run).returned = call_main(task.main, count, list, system::environ);
            if !Frame::is_of_this_process((*run).frame) {
                system::exit((*run).returned)
            }
        }
    }
    let frame = linked.cast();
    let mut run = Run { task, frame, returned: 0 };
    let run = &raw mut run;
    // SAFETY: the frame is the innermost; between it and an exit are only frames of C, and `inside`, which has nothing to
    // drop.
    unsafe {
        let enclave = table::enclave(task.program).unwrap_or(Enclave::NONE);
        let environment = system::environ;
        if let Some(own) = task.environment {
            system::environ = own.list();
        }
        let start = enclave::program_starts();
        let counted = Counted::begin(task.main, true);
        let running = Running { task, entered: enclave.enter(), environment, start, counted };
        (*linked).running = Some(running);
        let own = enclave.stack();
        let exited = Frame::run_on(frame, own, inside, run.cast());
        (*linked).running = None;
        enclave::give_stack_back(own.1);
        running.ends();
        exited.unwrap_or((*run).returned)
    }
}
