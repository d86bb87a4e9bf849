//! CALL, LINK and XCTL: how a loaded program is run.
//!
//! ```text
//! CALL  entry(parameter)                       on the caller's stack; what it returns is returned
//! LINK  LOAD ─> main(arguments, environment) ─┬─ returns ───────────────┬─> DELETE ─> status, to the caller
//!                                             └─ exit(): back to LINK ──┘
//! XCTL  in a LINKed program: it ends here, and LINK goes on with another one instead
//! ```
//!
//! What a LINKed program's `exit` and `_exit` do is bound at loading ([`crate::replaced`]): they go back to the innermost
//! LINK of their thread, leaving the frames between without unwinding them, as `exit` does; then the program's
//! destructors and `atexit` functions run, and output is flushed. Its arguments and its environment are copies of its own;
//! where an environment is given, `environ` leads to it meanwhile, for all threads of the process.
//!
//! What is *not* covered, and ends or changes the whole process: `abort`, `quick_exit`, signals, `exec`, `pthread_exit` of
//! the thread that LINKed, `exit` called in another thread or from within a library of the system (`err`, `assert`), raw
//! system calls, and process-wide state such as the current directory, locale, signal handlers and open files. A program
//! that was left to the system's loader is not LINKed at all ([`Error::NotIsolated`]). Storage that it does not free stays.
//!
//! Invariant: a frame is the innermost of its thread from before its program's `main` until after it; programs are DELETEd
//! as often as LINK has LOADed them.
//! Not here: heaps and stacks of their own for LINKed programs; they belong where `main` is called ([`run`]).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

use underbar_sys::lock::Lock;

use crate::error::Error;
use crate::program::Form;
use crate::system;
use crate::table::{self, Library, Loaded};
use crate::vector::Vector;

/// What a program's `main` is.
type Main = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;
/// What an entry point that is CALLed is.
pub type Entry = unsafe extern "C" fn(*mut c_void) -> isize;

/// What a processor keeps over calls: rbx, rbp, r12 to r15, rsp, and two control words.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Registers([u64; 8]);

/// A LINK that is under way.
struct Frame {
    registers: Registers,
    outer: *mut Frame,
    status: c_int,
    /// What takes over, where the program has asked for that.
    next: Option<Task>,
}

/// A program to be run.
#[derive(Clone, Copy)]
struct Task {
    program: Loaded,
    main: usize,
    arguments: Vector,
    environment: Option<Vector>,
}

/// The pthread key of the innermost frame, and one; 0: not made yet.
static KEY: AtomicU32 = AtomicU32::new(0);
static MAKING: Lock<()> = Lock::new(());

/// CALL: runs a loaded program's entry on the caller's stack.
///
/// # Safety
/// The entry is a function that takes one pointer and returns a number, and does with `parameter` what it may.
///
/// # Errors
/// It is not loaded, or has no entry.
pub unsafe fn call(loaded: Loaded, parameter: *mut c_void) -> Result<isize, Error> {
    let entry = table::entry(loaded)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { core::mem::transmute::<usize, Entry>(entry)(parameter) })
}

/// LINK: loads a program, runs its `main`, and gives it back; the exit status is 0 to 255, as a parent process would see it.
/// `environment` may be null: the caller's.
///
/// # Safety
/// Both lists end with a null pointer and hold C strings (or are null); the program does what it likes in this process,
/// but for what is said at the head of this file.
///
/// # Errors
/// Why it could not be loaded, or [`Error::NoEntry`] where it has no `main`.
pub unsafe fn link(
    libraries: &[Library],
    name: &[u8],
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Result<c_int, Error> {
    key()?;
    // SAFETY: the caller's promise.
    let mut task = unsafe { Task::prepare(libraries, name, arguments, environment)? };
    let mut place = Frame { registers: Registers::default(), outer: innermost(), status: 0, next: None };
    // By pointer only: what runs in the frame changes it.
    let frame = &raw mut place;
    set_innermost(frame)?;
    loop {
        // SAFETY: the frame is the innermost one of this thread, and stays until it is not.
        unsafe {
            run(frame, task);
            let status = (*frame).status;
            task.finish();
            system::fflush(null_mut());
            match (*frame).next.take() {
                Some(next) => task = next,
                None => {
                    set_innermost((*frame).outer)?;
                    return Ok(status & 0xff);
                }
            }
        }
    }
}

/// XCTL: ends the LINKed program that calls this, and runs another one in its place, whose exit status LINK then gives.
/// Comes back only where that could not be loaded.
///
/// # Safety
/// As [`link`].
pub unsafe fn transfer(
    libraries: &[Library],
    name: &[u8],
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Error {
    let frame = innermost();
    if frame.is_null() {
        return Error::NotLinked;
    }
    // SAFETY: the caller's promise; the frame is of a LINK further up this stack.
    unsafe {
        match Task::prepare(libraries, name, arguments, environment) {
            Ok(task) => {
                (*frame).next = Some(task);
                leave(frame)
            }
            Err(error) => error,
        }
    }
}

/// `exit` and `_exit` for our programs.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    let frame = innermost();
    // SAFETY: the frame is of a LINK further up this thread's stack, or there is none.
    unsafe {
        if frame.is_null() {
            system::exit(status)
        }
        (*frame).status = status;
        leave(frame)
    }
}

/// `_exit` for our programs.
///
/// # Safety
/// As the C library's.
pub unsafe extern "C" fn exit_now(status: c_int) -> ! {
    // SAFETY: as `exit`.
    unsafe {
        if innermost().is_null() {
            system::_exit(status)
        }
        exit(status)
    }
}

/// Becomes a program: loads it, runs its `main` with our environment, and ends the process with its exit status. Comes back
/// only where that cannot be done; a program that was left to the system's loader is run too, since nobody is to come after
/// it.
///
/// This is as safe as `execve`, and for the same reason: nothing of the caller runs after the program has begun, but for
/// what it left for the end of the process.
pub fn become_program(libraries: &[Library], name: &[u8], arguments: &[&CStr]) -> Error {
    // SAFETY: the program's constructors and its `main` have the process for themselves, see above; `arguments` is made
    // into a list of C strings that ends with null, in memory that stays.
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
            let program = table::load(libraries, name, Some(Form::Fresh))?;
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

    /// Gives everything back.
    unsafe fn finish(self) {
        // SAFETY: the program has ended.
        unsafe {
            let _ = table::delete(self.program);
            self.arguments.free();
            if let Some(environment) = self.environment {
                environment.free();
            }
        }
    }
}

/// Runs a program's `main` in a frame, until it returns or exits. (Here is the door for a heap and a stack of its own.)
unsafe fn run(frame: *mut Frame, task: Task) {
    struct Run {
        frame: *mut Frame,
        task: Task,
    }
    unsafe extern "C" fn inside(run: *mut Run) {
        // SAFETY: of the call below, whose frames are there until `enter` has come back.
        unsafe {
            let Run { frame, task } = *run;
            let main = core::mem::transmute::<usize, Main>(task.main);
            let status = main(task.arguments.count as c_int, task.arguments.list(), system::environ);
            (*frame).status = status;
        }
    }
    let mut run = Run { frame, task };
    // SAFETY: `enter` comes back once, from `inside` or from `leave`; between them are frames of C only, or of Rust that
    // has nothing to drop there.
    unsafe {
        let before = system::environ;
        if let Some(environment) = task.environment {
            system::environ = environment.list();
        }
        (*frame).status = 0;
        enter(&raw mut (*frame).registers, inside as *const () as usize, (&raw mut run).cast());
        if task.environment.is_some() {
            system::environ = before;
        }
    }
}

/// Goes back to where a frame was entered.
unsafe fn leave(frame: *mut Frame) -> ! {
    // SAFETY: the frame was entered on this stack, and `enter` has not come back yet.
    unsafe { back(&raw const (*frame).registers) }
}

/// Notes the registers, and calls `function(argument)`.
#[unsafe(naked)]
unsafe extern "C" fn enter(registers: *mut Registers, function: usize, argument: *mut c_void) {
    core::arch::naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "mov [rdi + 48], rsp",
        "stmxcsr [rdi + 56]",
        "fnstcw [rdi + 60]",
        "sub rsp, 8",
        "mov rdi, rdx",
        "call rsi",
        "add rsp, 8",
        "ret",
    )
}

/// Comes back from the [`enter`] that noted these registers.
#[unsafe(naked)]
unsafe extern "C" fn back(registers: *const Registers) -> ! {
    core::arch::naked_asm!(
        "mov rbx, [rdi]",
        "mov rbp, [rdi + 8]",
        "mov r12, [rdi + 16]",
        "mov r13, [rdi + 24]",
        "mov r14, [rdi + 32]",
        "mov r15, [rdi + 40]",
        "mov rsp, [rdi + 48]",
        "ldmxcsr [rdi + 56]",
        "fldcw [rdi + 60]",
        "cld",
        "ret",
    )
}

fn key() -> Result<u32, Error> {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let _making = MAKING.lock();
    if KEY.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the destructor does nothing: a thread that ends in a LINK leaves its frame with its stack.
        if unsafe { system::pthread_key_create(&raw mut key, nothing) } != 0 {
            return Err(Error::TablesFull);
        }
        KEY.store(key + 1, Ordering::Release);
    }
    Ok(KEY.load(Ordering::Relaxed) - 1)
}

fn innermost() -> *mut Frame {
    match KEY.load(Ordering::Acquire) {
        0 => null_mut(),
        // SAFETY: a key that was made.
        key => unsafe { system::pthread_getspecific(key - 1).cast() },
    }
}

fn set_innermost(frame: *mut Frame) -> Result<(), Error> {
    // SAFETY: a key that was made.
    match unsafe { system::pthread_setspecific(key()?, frame.cast()) } {
        0 => Ok(()),
        errno => Err(Error::NoStorage(underbar_sys::syscall::Errno(errno as u16))),
    }
}
