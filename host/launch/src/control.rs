//! Changes settings in running programs by the control page of their ledger.
//!
//! ```text
//! ledger file ── locked (one host at a time), checked, its control page mapped ──> set ──> epoch raised
//!                                                                                          the programs apply it soon
//! ```
//!
//! Invariant: only the control page is written, and only in a ledger of the same version.
//! Known limit: the host is not notified when a program has applied a setting;
//! `control.obeyed` of its accounts shows it. The ledger of a
//! run is never shortened while it is mapped; a user who does so by hand kills the command. So no other user may be able to.
//! Not here: the page's layout, and the settings (`underbar_ledger::control`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use underbar_ledger::control::{Control, Full, Target};
use underbar_ledger::layout::{CONTROL_OFFSET, FILE_BYTES, SLOTS_OFFSET};
use underbar_ledger::{LedgerError, LedgerView};
use underbar_sys::shared::SharedPage;
use underbar_sys::syscall::{Errno, O_NOFOLLOW};

/// The reason why nothing was set.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The system: the file cannot be opened, locked or read.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// The system: its page cannot be mapped.
    #[error("the control page cannot be mapped: {0}")]
    NotMapped(Errno),
    /// The file: not a ledger, or one of another version.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// Earlier settings fill the page.
    #[error("{0}")]
    Full(#[from] Full),
}

/// The control page of a ledger, which this process alone writes until it is dropped.
pub struct ControlPage {
    page: SharedPage,
    /// Locked while it is open.
    _file: File,
}

impl ControlPage {
    /// Opens the control page of that ledger; waits while another process writes it.
    ///
    /// # Errors
    /// Those of [`ControlError`], except the last.
    pub fn open(ledger: &Path) -> Result<ControlPage, ControlError> {
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(O_NOFOLLOW.cast_signed()).open(ledger)?;
        let status = file.metadata()?;
        if !crate::place::is_ours(&status) {
            return Err(io::Error::other("another user could truncate it while it is mapped").into());
        }
        file.lock()?;
        let length = file.metadata()?.len();
        let mut head = vec![0; SLOTS_OFFSET];
        if length < FILE_BYTES as u64 {
            return Err(LedgerError::Short.into());
        }
        file.read_exact_at(&mut head, 0)?;
        LedgerView::new(&head)?;
        let page = SharedPage::map(file.as_raw_fd(), CONTROL_OFFSET as u64, length)
            .map_err(ControlError::NotMapped)?;
        Ok(ControlPage { page, _file: file })
    }

    /// Sets a value. Each program applies it in a slow path, the next time it reads the page.
    ///
    /// # Errors
    /// If the page has no room for another setting.
    pub fn set(&self, target: Target, value: u64) -> Result<(), ControlError> {
        Ok(Control::new(self.page.words()).set(target, value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LedgerFile;
    use std::fs;
    use underbar_ledger::control::{Disposition, Kind};
    use underbar_ledger::layout::OPTIONS_OFFSET;

    #[test]
    fn a_setting_is_in_the_file_and_nothing_else_is_touched() {
        let path = std::env::temp_dir().join(format!("underbar-control-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        let ledger = LedgerFile::create_at(&path, b"HEAP(1M)", false).expect("a ledger");
        let before = ledger.read().expect("read");
        let target = Target { kind: Kind::HeapDisposition, process: 7, object: 9 };
        for value in [Disposition::Free, Disposition::Keep] {
            let page = ControlPage::open(&path).expect("a control page");
            page.set(target, value as u64).expect("room");
        }
        let after = ledger.read().expect("read");
        let words: Vec<u64> = after[CONTROL_OFFSET..OPTIONS_OFFSET]
            .chunks(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")))
            .collect();
        assert_eq!((words[0], &words[8..12]), (2, &[1 << 32 | 7, 9, 2, 0][..]));
        assert_eq!(before[..CONTROL_OFFSET], after[..CONTROL_OFFSET]);
        assert_eq!(before[OPTIONS_OFFSET..], after[OPTIONS_OFFSET..]);
    }

    #[test]
    fn what_is_no_ledger_is_refused() {
        let path = std::env::temp_dir().join(format!("underbar-no-control-{}", std::process::id()));
        let refused = |bytes: &[u8]| {
            fs::write(&path, bytes).expect("written");
            ControlPage::open(&path).err().expect("refused").to_string()
        };
        assert_eq!(refused(b"noise"), "the ledger is cut short");
        assert_eq!(refused(&vec![0; FILE_BYTES]), "this is not a ledger");
        fs::remove_file(&path).expect("removed");
        assert!(matches!(ControlPage::open(&path), Err(ControlError::Unreadable(_))));
    }
}
