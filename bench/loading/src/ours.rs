//! underbar's loader, from a library.
//!
//! The library is frozen: with the lookaside its directory is read only once, without it each turn searches the directory.

use std::ffi::CStr;

use underbar_fetch::table::{self, Library, Options};
use underbar_fetch::{Form, Statistics};

use crate::{Entry, Program, Turns};

/// Size of the pool for kept images, in bytes.
const POOL: u64 = 64 << 20;

/// The kind of caching, and the form in which programs are requested.
pub type Kept = (Form, u64);
/// One image, with the data of the last user.
pub const SHARED: Kept = (Form::Shared, POOL);
/// One image, with fresh data each time.
pub const FRESH: Kept = (Form::Fresh, POOL);
/// No image is kept: each LOAD reads the library.
pub const NOTHING: Kept = (Form::Fresh, 0);

struct Ours {
    library: Library,
    member: Vec<u8>,
    form: Form,
    is_kept: bool,
    lookaside: bool,
    /// The statistics after the first turn, which always reads the library.
    before: Option<Statistics>,
}

/// Opens the library.
pub fn open(program: &Program, (form, pool_bytes): Kept, lookaside: bool) -> Result<Box<dyn Turns>, String> {
    table::set_options(Options { pool_bytes, keep_after: 1, lookaside });
    let path: &CStr = &program.path;
    let library = table::open(path, true).map_err(|error| error.to_string())?;
    let member = program.member.clone().into_bytes();
    Ok(Box::new(Ours { library, member, form, is_kept: pool_bytes > 0, lookaside, before: None }))
}

impl Turns for Ours {
    fn turn(&mut self) -> Result<i32, String> {
        // SAFETY: the program has one function, which has this type; the pointer is used between LOAD and DELETE only.
        let given = unsafe {
            let loaded = table::load(&[self.library], &self.member, Some(self.form))
                .map_err(|error| error.to_string())?;
            let entry = table::entry(loaded).map_err(|error| error.to_string())?;
            let given = std::mem::transmute::<usize, Entry>(entry)(41);
            table::delete(loaded).map_err(|error| error.to_string())?;
            given
        };
        if self.before.is_none() {
            self.before = Some(table::statistics());
        }
        Ok(given)
    }

    fn check(&self, times: u64) -> Result<(), String> {
        let (now, before) = (table::statistics(), self.before.ok_or("no turn")?);
        let since = |what: fn(&Statistics) -> u64| what(&now) - what(&before);
        let fallbacks = |all: &Statistics| all.fallbacks.iter().sum::<u64>();
        let found = (since(|all| all.hits_in_pool), since(|all| all.loads), since(|all| all.searches));
        let wanted = (
            if self.is_kept { times } else { 0 },
            if self.is_kept { 0 } else { times },
            if self.lookaside { 0 } else { times },
        );
        match fallbacks(&now) {
            0 if found == wanted => Ok(()),
            0 => Err(format!("from the pool, loaded, searched: {found:?}, not {wanted:?}")),
            some => Err(format!("{some} left to the system's loader")),
        }
    }
}
