//! New libraries at a path: empty, copied from another (COPYMOD-like), or made anew without gaps (compress).
//!
//! Invariant: a copy has every member and alias of the original, whatever the organisation and block size.

use std::path::Path;

use underbar_partitioned::binder::LARGEST_BLOCK_SIZE;
use underbar_partitioned::name::{LONGEST_IN_PDS, Misnomer, Name};
use underbar_partitioned::pdse::Other;

use crate::change::{Addition, Changed, Edit};
use crate::error::{Error, Result};
use crate::library::{Library, Organisation};
use crate::storage::{InDirectory, OnDisk, Place, Storage};
use crate::{change, pds, pdse};

/// The properties of a new library.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// PDS or PDSE.
    pub organisation: Organisation,
    /// Block size of the label.
    pub block_size: u32,
    /// Directory blocks of a PDS; None for the number that its members need.
    pub directory_blocks: Option<u32>,
    /// The limit of pages of a PDSE; 0 for no limit.
    pub space_pages: u32,
    /// Seconds since 1970.
    pub now: u64,
}

impl Wanted {
    /// The default: a PDSE, with the best block size.
    #[must_use]
    pub fn usual(now: u64) -> Wanted {
        Wanted {
            organisation: Organisation::Pdse,
            block_size: LARGEST_BLOCK_SIZE,
            directory_blocks: None,
            space_pages: 0,
            now,
        }
    }
}

/// Makes an empty library.
///
/// # Errors
/// A file of that name; the system's.
pub fn create(path: &Path, wanted: &Wanted) -> Result<()> {
    fill(path, wanted, 0, std::iter::empty(), false).map(|_| ())
}

/// Makes a library from the members of another. `choose` selects them and gives their names; aliases of a member that is not
/// selected are left out. `progress` is called for each member.
///
/// # Errors
/// A file of that name; a damaged member, or one with a name that is not valid in the new organisation; the system's.
pub fn copy(
    from: &Library,
    path: &Path,
    wanted: &Wanted,
    choose: &dyn Fn(&Name) -> bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Changed> {
    let edits = edits_of(from, choose, progress)?;
    fill(path, wanted, edits.0, edits.1, false)
}

/// Makes a library anew in its place, without gaps and free pages. Its readers keep the old one.
///
/// # Errors
/// Another process that changes it; a damaged member; the system's.
pub fn compress(
    path: &Path,
    directory_blocks: Option<u32>,
    now: u64,
    wait: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Changed> {
    let path = &std::fs::canonicalize(path).map_err(|error| Error::system(path, error))?;
    let held = OnDisk::open_for_change(path, wait)?;
    let library = Library::open(path)?;
    if let Some(doubt) = library.doubt().filter(|doubt| doubt.other == Other::Damaged) {
        return Err(Error::Label(doubt));
    }
    let label = library.label()?;
    let wanted = Wanted {
        organisation: label.organisation,
        block_size: label.block_size,
        directory_blocks: directory_blocks.or(label.directory_allocated),
        space_pages: label.space_pages.unwrap_or(0),
        now,
    };
    let edits = edits_of(&library, &|_| true, progress)?;
    let changed = fill(path, &wanted, edits.0, edits.1, true);
    drop(held);
    changed
}

/// Edits that copy the selected members of a library, and the number of their entries.
///
/// # Errors
/// A damaged directory.
pub fn edits_of<'a>(
    from: &'a Library,
    choose: &dyn Fn(&Name) -> bool,
    progress: &'a mut dyn FnMut(u64),
) -> Result<(usize, impl Iterator<Item = Result<Edit>> + 'a)> {
    let mut members = Vec::new();
    let mut aliases = std::collections::BTreeMap::<Name, usize>::new();
    for (name, of) in from.names()? {
        match of {
            None if choose(&name) => members.push(name),
            None => {}
            Some(of) => *aliases.entry(of).or_default() += 1,
        }
    }
    let entries = members.len() + members.iter().filter_map(|member| aliases.get(member)).sum::<usize>();
    let mut done = 0;
    let edits = members.into_iter().map(move |name| {
        let addition = from.member(&name)?;
        let aliases = if aliases.contains_key(&name) { from.aliases(&name)? } else { Vec::new() };
        done += 1;
        progress(done);
        Ok(Edit::Add(Box::new(Addition { aliases, ..addition })))
    });
    Ok((entries, edits))
}

/// Makes a new file from edits, and puts it into place.
fn fill(
    path: &Path,
    wanted: &Wanted,
    entries: usize,
    edits: impl IntoIterator<Item = Result<Edit>>,
    replace: bool,
) -> Result<Changed> {
    if !replace && std::fs::symlink_metadata(path).is_ok() {
        return Err(Error::FileExists(path.to_owned()));
    }
    let mut place = InDirectory::new(path)?;
    let made = match wanted.organisation {
        Organisation::Pds => fill_pds(&mut place, wanted, entries, edits),
        Organisation::Pdse => fill_pdse(&mut place, wanted, edits),
    };
    let installed = made.and_then(|(changed, file)| place.install(file, replace).map(|()| changed));
    // A file of another maker, or one that may be in place already, is not removed.
    if matches!(&installed, Err(error) if !matches!(error, Error::Busy | Error::Unsure { .. })) {
        place.abandon();
    }
    installed
}

fn fill_pds<P: Place>(
    place: &mut P,
    wanted: &Wanted,
    entries: usize,
    edits: impl IntoIterator<Item = Result<Edit>>,
) -> Result<(Changed, P::Storage)> {
    let making = pds::Making {
        identity: identity()?,
        block_size: wanted.block_size,
        directory_blocks: wanted.directory_blocks.unwrap_or_else(|| pds::directory_blocks_for(entries)),
        generation: 1,
        now: wanted.now,
    };
    let mut make = pds::Make::new(place.temporary()?, &making)?;
    let mut made = 0;
    for edit in edits {
        change::edit_pds(&mut make, &edit?)?;
        made += 1;
    }
    let (header, file) = make.finish()?;
    Ok((Changed { edits: made, members: header.members, aliases: header.aliases }, file))
}

fn fill_pdse<P: Place>(
    place: &mut P,
    wanted: &Wanted,
    edits: impl IntoIterator<Item = Result<Edit>>,
) -> Result<(Changed, P::Storage)>
where
    P::Storage: Storage,
{
    let making = pdse::Making {
        identity: identity()?,
        block_size: wanted.block_size,
        space: wanted.space_pages,
        now: wanted.now,
    };
    let file = pdse::begin_new(place, &making)?;
    change::fill_pdse(file, edits, wanted.now)
}

/// A number for a new library.
///
/// # Errors
/// A kernel without random numbers.
pub fn identity() -> Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK)
        .map_err(|errno| Error::system("/dev/urandom", errno.into()))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// A member name from a file name: the part before `.so`, or all of it. For a PDS, `shorten` takes the first eight
/// characters.
///
/// # Errors
/// A text that is not a valid name there.
pub fn name_of_file(path: &Path, organisation: Organisation, shorten: bool) -> Result<Name> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = match file.find(".so") {
        Some(at) if at > 0 && matches!(file.as_bytes().get(at + 3), None | Some(b'.')) => &file[..at],
        _ => file.as_str(),
    };
    let text = match organisation {
        Organisation::Pds if shorten => stem.get(..LONGEST_IN_PDS).unwrap_or(stem),
        _ => stem,
    };
    let wrong = |why: Misnomer| Error::Name { text: text.to_owned(), why };
    let name = Name::new(text.as_bytes()).map_err(wrong)?;
    match organisation {
        Organisation::Pds => pds::short(&name),
        Organisation::Pdse => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::add;
    use crate::simulated::{Disk, Random};
    use crate::verify;
    use underbar_partitioned::pds::Pds;
    use underbar_partitioned::pdse::Pdse;

    /// Makes a library of members on a simulated disk, as `create`, `copy` and `compress` do.
    fn make_on(disk: &Disk, wanted: &Wanted, edits: &[Edit]) -> Result<()> {
        let (mut place, edits) = (disk.clone(), edits.iter().cloned().map(Ok));
        let file = match wanted.organisation {
            Organisation::Pds => fill_pds(&mut place, wanted, 200, edits)?.1,
            Organisation::Pdse => fill_pdse(&mut place, wanted, edits)?.1,
        };
        place.install(file, true)
    }

    /// The names in the library on a disk; None if there is none. It is sound.
    fn names_on(disk: &Disk) -> Option<usize> {
        let bytes = disk.bytes()?;
        let (verdict, names) = match Pds::open(&bytes[..]) {
            Ok(pds) => (verify::pds(&pds, &mut |_| ()), pds.entries().count()),
            Err(_) => {
                let pdse = Pdse::open(&bytes[..]).expect("a library of either organisation");
                (verify::pdse(&pdse, &mut |_| ()), pdse.entries().expect("sound").count())
            }
        };
        assert_eq!(verdict.problems, []);
        Some(names)
    }

    #[test]
    fn made_anew_and_ended_at_every_write_it_is_the_old_or_the_new_one() {
        let mut random = Random(11);
        for organisation in [Organisation::Pds, Organisation::Pdse] {
            let wanted = Wanted { organisation, block_size: 6_144, ..Wanted::usual(1) };
            let few = [add("A", 60_000, false)];
            let many: Vec<Edit> =
                (0..60).map(|number| add(&format!("M{number}"), number * 300, false)).collect();
            // On an empty disk, and on one with an old library.
            let (none, old) = (Disk::default(), Disk::default());
            make_on(&old, &wanted, &few).expect("no end");
            old.settle();
            for (disk, before) in [(none, None), (old, Some(1))] {
                let whole = disk.copy();
                make_on(&whole, &wanted, &many).expect("no end");
                let operations = whole.0.borrow().done;
                let mut outcomes = [0, 0];
                for end in 0..=operations {
                    let ended = disk.copy();
                    ended.0.borrow_mut().left = Some(end);
                    make_on(&ended, &wanted, &many).expect_err("it was ended");
                    for cut in 0..4 {
                        let seen = ended.copy();
                        if cut > 0 {
                            seen.power_cut(&mut random);
                        }
                        let names = names_on(&seen);
                        assert!(names == before || names == Some(60), "ended at {end}: {names:?}");
                        outcomes[usize::from(names == Some(60))] += 1;
                    }
                }
                assert!(outcomes[0] > 10 && outcomes[1] > 0, "{outcomes:?}");
            }
        }
    }

    #[test]
    fn a_full_disk_leaves_the_old_one() {
        for organisation in [Organisation::Pds, Organisation::Pdse] {
            let wanted = Wanted { organisation, ..Wanted::usual(1) };
            let disk = Disk::default();
            make_on(&disk, &wanted, &[add("A", 60_000, false)]).expect("room");
            for room in (0..130_000).step_by(10_000) {
                disk.0.borrow_mut().room = Some(room);
                let made = make_on(&disk, &wanted, &[add("A", 9, false), add("B", 150_000, false)]);
                assert!(matches!(made, Err(Error::DeviceFull)), "{room}: {made:?}");
                assert_eq!(names_on(&disk), Some(1));
            }
        }
    }

    #[test]
    fn names_of_files() {
        for (file, name) in [
            ("/lib/libm.so.6", "libm"),
            ("libz.so", "libz"),
            ("some.sound", "some.sound"),
            (".so", ".so"),
            ("data.txt", "data.txt"),
        ] {
            let given = name_of_file(Path::new(file), Organisation::Pdse, false).expect(file);
            assert_eq!(given.to_string(), name);
        }
        let long = Path::new("libsomething.so");
        assert!(name_of_file(long, Organisation::Pds, false).is_err());
        assert_eq!(name_of_file(long, Organisation::Pds, true).expect("short").to_string(), "libsomet");
        assert!(name_of_file(Path::new("a b.so"), Organisation::Pdse, false).is_err());
        assert!(name_of_file(Path::new("/"), Organisation::Pdse, false).is_err());
    }
}
