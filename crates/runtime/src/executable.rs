//! Executable mappings of this process, as the kernel lists them: for hosts that name code after the process has ended.
//!
//! Not here: the areas in which they are kept (`sample`, `sites`).

use underbar_sys::syscall;

use crate::ledger::own_reads;

/// Copies the kernel's lines of executable mappings; returns the number of bytes, and whether one found no room.
pub(crate) fn executable_mappings(into: &mut [u8]) -> (usize, bool) {
    let Ok(fd) = syscall::open(c"/proc/self/maps", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) else {
        return (0, false);
    };
    // A line contains a path, which may have 4096 bytes.
    let mut text = [0_u8; 4096 + 256];
    let (mut filled, mut length, mut is_cut) = (0, 0, false);
    while let Some(rest) = text.get_mut(filled..)
        && let Ok(read) = own_reads::read(fd, rest)
        && read > 0
    {
        filled += read;
        let mut done = 0;
        while let Some(end) = text[done..filled].iter().position(|&byte| byte == b'\n') {
            let line = &text[done..=done + end];
            if is_executable(line) {
                match into.get_mut(length..length + line.len()) {
                    Some(place) => {
                        place.copy_from_slice(line);
                        length += line.len();
                    }
                    None => is_cut = true,
                }
            }
            done += end + 1;
        }
        if done == 0 && filled == text.len() {
            // Longer than any line from the kernel.
            done = filled;
        }
        text.copy_within(done..filled, 0);
        filled -= done;
    }
    let _ = syscall::close(fd);
    (length, is_cut)
}

/// `7f00-7f10 r-xp ...`
fn is_executable(line: &[u8]) -> bool {
    line.split(|&byte| byte == b' ').nth(1).is_some_and(|rights| rights.get(2) == Some(&b'x'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT_ROOM: usize = 60 * 1024;

    #[test]
    fn executable_mappings_are_copied_whole_and_nothing_else() {
        let mut room = std::vec![0; TEXT_ROOM];
        let (length, is_cut) = executable_mappings(&mut room);
        let text = std::str::from_utf8(&room[..length]).expect("text");
        assert!(!is_cut && text.lines().count() > 2, "{text}");
        assert!(text.lines().all(|line| line.contains(" r-xp ") || line.contains(" --xp ")), "{text}");
        let here = is_executable as *const () as usize;
        let holds = |line: &str| {
            let (start, rest) = line.split_once('-').expect("a range");
            let end = rest.split(' ').next().expect("an end");
            let number = |text| usize::from_str_radix(text, 16).expect("hexadecimal");
            (number(start)..number(end)).contains(&here)
        };
        assert!(text.lines().any(holds), "{text}");
        // A line without room is left out as a whole.
        let (short, is_cut) = executable_mappings(&mut room[..length - 1]);
        assert!(is_cut && short < length && room[short - 1] == b'\n');
    }
}
