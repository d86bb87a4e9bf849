//! Carriers: free cells that hold the addresses of other free cells, on their way to the thread whose cells they are.
//!
//! ```text
//! head -> | next carrier | cell + how many | cell | cell ...  |      up to 15, as far as the cell has room
//!             |
//!             v
//!         | next carrier | cell + how many | cell ...         |
//! ```
//!
//! So one cell in sixteen is touched by the thread that frees them, and the owner need not wait for one cell to learn the address of
//! the next: it asks for all of them at once.
//!
//! Invariant: a carrier that was closed is not changed until its owner takes the cell back. It carries cells of its own owner only.
//! Not here: when a carrier is begun and sent (`remote`).

use core::ptr::null_mut;

use super::Cell;

/// The most cells that a carrier carries: the number is in the low bits of the first address.
const MOST: u32 = 15;
const COUNT: usize = MOST as usize;
const _: () = assert!(align_of::<u128>() > COUNT);

/// The number of cells that one of so many bytes has room for.
pub fn room(cell_bytes: u32) -> u32 {
    (cell_bytes / 8 - 1).min(MOST)
}

/// The place of the address with that number.
///
/// # Safety
/// The cell has room for it.
#[inline(always)]
unsafe fn place(carrier: *mut Cell, number: u32) -> *mut *mut Cell {
    // SAFETY: the caller's promise.
    unsafe { carrier.cast::<*mut Cell>().add(1 + number as usize) }
}

/// Makes a free cell a carrier of nothing, which is closed.
///
/// # Safety
/// The cell is the caller's, and every cell has room for one address.
#[inline(always)]
pub unsafe fn begin(carrier: *mut Cell, next: *mut Cell) {
    // SAFETY: the caller's promise.
    unsafe {
        (*carrier).next.set(next);
        place(carrier, 0).write(null_mut());
    }
}

/// Puts another cell into a carrier that carries `carried` cells, and opens it.
///
/// # Safety
/// The carrier is the caller's, and has room.
#[inline(always)]
pub unsafe fn put(carrier: *mut Cell, carried: u32, cell: *mut Cell) {
    // SAFETY: the caller's promise.
    unsafe { place(carrier, carried).write(cell) }
}

/// Closes a carrier of `carried` cells.
///
/// # Safety
/// The carrier is the caller's.
#[inline(always)]
pub unsafe fn close(carrier: *mut Cell, carried: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        let first = place(carrier, 0);
        first.write((*first).map_addr(|address| address | carried as usize));
    }
}

/// The cells of a closed carrier: the first `count` of the array.
///
/// # Safety
/// The carrier is the caller's.
#[inline(always)]
pub unsafe fn carried(carrier: *mut Cell) -> (usize, [*mut Cell; COUNT]) {
    let mut cells = [null_mut(); COUNT];
    // SAFETY: the caller's promise; it has as many addresses as it says.
    unsafe {
        let first = *place(carrier, 0);
        let count = first.addr() & COUNT;
        cells[0] = first.map_addr(|address| address & !COUNT);
        for (number, cell) in (1..).zip(&mut cells[1..count.max(1)]) {
            *cell = *place(carrier, number);
        }
        (count, cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr::without_provenance_mut;
    use std::vec::Vec;

    /// With every number of cells that a carrier of each size has room for: it carries those, in their order, and nothing behind its
    /// last address was written.
    #[test]
    fn a_carrier_carries_what_was_put_into_it() {
        for cell_bytes in (16..=256).step_by(16) {
            assert!(room(cell_bytes) >= 1 && (room(cell_bytes) + 1) * 8 <= cell_bytes);
            for count in 0..=room(cell_bytes) {
                let mut words = [u128::MAX; 16];
                let carrier: *mut Cell = words.as_mut_ptr().cast();
                let next: *mut Cell = without_provenance_mut(0x1230);
                let cells: Vec<*mut Cell> = (0..count as usize)
                    .map(|number| without_provenance_mut(0x10_0000 + 16 * number))
                    .collect();
                // SAFETY: the test's own words.
                unsafe {
                    begin(carrier, next);
                    assert_eq!(carried(carrier).0, 0, "it is closed at first");
                    for (number, &cell) in cells.iter().enumerate() {
                        put(carrier, number as u32, cell);
                    }
                    close(carrier, count);
                    let (is_count, is_carried) = carried(carrier);
                    assert_eq!((&is_carried[..is_count], (*carrier).next.get()), (&cells[..], next));
                }
                let written = (1 + count.max(1) as usize).div_ceil(2);
                assert!(words[written..].iter().all(|word| *word == u128::MAX));
            }
        }
    }
}
