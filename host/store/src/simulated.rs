//! A simulated disk that ends at the n-th write, and then may have lost anything that was not made durable.
//!
//! ```text
//! write, cut, sync, rename: each counts; the n-th does nothing (or half of it), and all later ones fail
//! kill:       written data is there
//! power cut:  of data that was not made durable, any subset of sectors of 512 bytes is there, in any order
//! ```
//!
//! Invariant: durable data is there in any case.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use underbar_partitioned::read::{ReadAt, Unread};

use crate::error::{Error, Result};
use crate::storage::{Place, Storage};

const SECTOR: usize = 512;

/// The disk: files by number, and the number of the library's name.
#[derive(Clone, Debug, Default)]
pub struct World {
    files: Vec<Contents>,
    name: Option<usize>,
    durable_name: Option<usize>,
    /// Operations until the end; None for never.
    pub left: Option<usize>,
    /// Operations so far.
    pub done: usize,
    /// The limit of a file's bytes; None for no limit.
    pub room: Option<usize>,
    /// The readers' generation that the writer sees.
    pub lowest_reader: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    now: Vec<u8>,
    durable: Vec<u8>,
    /// Writes since then, in order.
    since: Vec<Write>,
}

#[derive(Clone, Debug)]
enum Write {
    At(usize, Vec<u8>),
    Cut(usize),
}

impl World {
    /// A library of these bytes.
    pub fn put_file(&mut self, bytes: Vec<u8>) {
        self.files.push(Contents { durable: bytes.clone(), now: bytes, since: Vec::new() });
        self.name = Some(self.files.len() - 1);
        self.durable_name = self.name;
    }
}

/// One disk, shared by its users.
#[derive(Clone, Debug, Default)]
pub struct Disk(pub Rc<RefCell<World>>);

/// A file of it.
#[derive(Clone, Debug)]
pub struct SimulatedFile {
    disk: Disk,
    number: usize,
}

/// Random numbers, the same for the same seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

impl Disk {
    /// The library's file.
    pub fn open(&self) -> Option<SimulatedFile> {
        let number = self.0.borrow().name?;
        Some(SimulatedFile { disk: self.clone(), number })
    }

    /// The library's bytes as a process sees them.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let world = self.0.borrow();
        world.name.map(|number| world.files[number].now.clone())
    }

    /// A copy of the disk: changes to one do not affect the other.
    pub fn copy(&self) -> Disk {
        Disk(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    /// Everything is durable from now on, and nothing ends.
    pub fn settle(&self) {
        let mut world = self.0.borrow_mut();
        (world.left, world.done, world.room) = (None, 0, None);
        world.durable_name = world.name;
        for file in &mut world.files {
            file.durable = file.now.clone();
            file.since.clear();
        }
    }

    /// The power comes back: a random part of the data is there.
    pub fn power_cut(&self, random: &mut Random) {
        let mut world = self.0.borrow_mut();
        world.left = None;
        if random.below(2) == 0 {
            world.name = world.durable_name;
        }
        world.durable_name = world.name;
        for file in &mut world.files {
            let mut now = file.durable.clone();
            // All, none, or each at random.
            let mood = random.below(4);
            for write in std::mem::take(&mut file.since) {
                match write {
                    Write::Cut(length) if mood == 0 || random.below(2) == 0 => now.resize(length, 0),
                    Write::Cut(_) => {}
                    Write::At(offset, bytes) => {
                        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                            let is_there = mood == 0 || (mood > 1 && random.below(2) == 0);
                            let at = offset + index * SECTOR;
                            if is_there {
                                now.resize(now.len().max(at + sector.len()), 0);
                                now[at..at + sector.len()].copy_from_slice(sector);
                            }
                        }
                    }
                }
            }
            file.now = now.clone();
            file.durable = now;
        }
    }

    /// Counts an operation; an error at the end and after it. True for the last operation.
    fn operate(&self) -> std::result::Result<bool, io::Error> {
        let mut world = self.0.borrow_mut();
        world.done += 1;
        match world.left {
            None => Ok(false),
            Some(0) => Err(io::Error::other("the power is gone")),
            Some(left) => {
                world.left = Some(left - 1);
                Ok(left == 1)
            }
        }
    }
}

impl ReadAt for SimulatedFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::result::Result<(), Unread> {
        self.disk.0.borrow().files[self.number].now[..].read_at(offset, into)
    }
}

impl Storage for SimulatedFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let is_last = self.disk.operate()?;
        let mut world = self.disk.0.borrow_mut();
        if world.room.is_some_and(|room| offset as usize + bytes.len() > room) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let file = &mut world.files[self.number];
        // The last write is torn: a part of it is done.
        let done = if is_last { bytes.len() / 2 / SECTOR * SECTOR } else { bytes.len() };
        let (offset, bytes) = (offset as usize, &bytes[..done]);
        file.now.resize(file.now.len().max(offset + done), 0);
        file.now[offset..offset + done].copy_from_slice(bytes);
        file.since.push(Write::At(offset, bytes.to_vec()));
        if is_last { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.disk.operate()? {
            return Err(io::Error::other("the power is gone"));
        }
        let mut world = self.disk.0.borrow_mut();
        let file = &mut world.files[self.number];
        file.durable = file.now.clone();
        file.since.clear();
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.disk.operate()?;
        let mut world = self.disk.0.borrow_mut();
        let file = &mut world.files[self.number];
        file.now.truncate(length as usize);
        file.since.push(Write::Cut(file.now.len()));
        Ok(())
    }

    fn lowest_reader(&self) -> io::Result<Option<u64>> {
        Ok(self.disk.0.borrow().lowest_reader)
    }
}

impl Place for Disk {
    type Storage = SimulatedFile;

    fn temporary(&mut self) -> Result<SimulatedFile> {
        self.operate().map_err(|error| Error::system("the disk", error))?;
        let mut world = self.0.borrow_mut();
        world.files.push(Contents::default());
        Ok(SimulatedFile { disk: self.clone(), number: world.files.len() - 1 })
    }

    fn install(&mut self, mut file: SimulatedFile, _replace: bool) -> Result<()> {
        let system = |error| Error::system("the disk", error);
        file.sync().map_err(system)?;
        if self.operate().map_err(system)? {
            return Err(system(io::Error::other("the power is gone")));
        }
        self.0.borrow_mut().name = Some(file.number);
        let is_last = self.operate();
        let durable = match is_last {
            Ok(false) => Ok(()),
            Ok(true) => Err(io::Error::other("the power is gone")),
            Err(error) => Err(error),
        };
        durable.map_err(|error| Error::Unsure { what: "the disk".into(), error })?;
        let mut world = self.0.borrow_mut();
        world.durable_name = world.name;
        Ok(())
    }
}
