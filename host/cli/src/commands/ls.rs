//! `underbar ls`: the programs that keep accounts now, and the accounts that programs have left.
//!
//! Not here: how they are found and listed (`underbar_top`).

use clap::Args;
use underbar_launch::ledger::found::Whose;
use underbar_top::{Watch, list};

use crate::exit::ExitCode;
use crate::printing::Printing;
use crate::shared::glyphs;
use underbar_shown::door;

/// The flags of `ls`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar ls                    programs that keep accounts, with heap, memory, options and command line
  underbar report 4711-5e3       the report of one of them, by the name in the column LEDGER
  underbar top server            a live view of one, by the name of its program
  underbar ls --json             one object, schema underbar.ls/1
  underbar ls --all-users        those of all users, as root

A ledger without a running process is left over: it stays for a day after its last process has ended, so that its report \
can be read, and a later run removes it. One that `run --exec -o FILE` or MSGFILE made stays until you remove it; it is \
listed while a process that names it runs.

Exit status: 0 listed, also if there is nothing, 2 wrong usage.")]
pub struct Ls {
    /// List all ledgers that programs have left, not only the last ten
    #[arg(long)]
    left: bool,

    /// List those of all users: for root
    #[arg(long)]
    all_users: bool,

    #[command(flatten)]
    printing: Printing,
}

impl Ls {
    /// Prints the list.
    pub fn run(self) -> ExitCode {
        let whose = match whose(self.all_users) {
            Ok(whose) => whose,
            Err(why) => return self.printing.fail(why),
        };
        let list = list::list(&mut Watch::new(whose, None));
        if self.printing.json {
            // Plain structs with string keys: writing them into memory cannot fail.
            let text = serde_json::to_string(&list).unwrap_or_default() + "\n";
            return self.printing.print(&text, None, 0);
        }
        let limit = door::output_columns().map(usize::from);
        self.printing.print(&list::render(&list, self.all_users, self.left, limit, glyphs()), None, 0)
    }
}

/// Whose ledgers are asked for.
///
/// # Errors
/// Why those of all users cannot be read.
pub fn whose(all_users: bool) -> Result<Whose, &'static str> {
    match all_users {
        false => Ok(Whose::Own),
        true if underbar_launch::user() == 0 => Ok(Whose::Everyone),
        true => Err("--all-users: only root can read the accounts of other users"),
    }
}
