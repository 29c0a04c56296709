//! What `drop` and `prune` have in common: show, ask, delete, and print the ids
//! by which all of it can be had back until a gc.

use crate::checkpoint::time::local;
use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::lane::{Checkpoint, remove};
use crate::ui::{self, Ui};

/// What is to go.
pub(super) struct Removal<'r> {
    pub(super) going: &'r [Checkpoint],
    /// How a line about one begins when it is gone.
    pub(super) word: &'r str,
    /// And when it is only planned.
    pub(super) would: &'r str,
    /// What must be asked before.
    pub(super) question: Option<String>,
    pub(super) dry_run: bool,
    pub(super) yes: bool,
}

/// Deletes, unless the answer is no.
pub(super) fn carry_out(repo: &Repo, removal: &Removal<'_>, ui: &mut Ui) -> Result<Exit> {
    let going = removal.going;
    if going.is_empty() {
        return Ok(Exit::Done);
    }
    if !removal.dry_run
        && !removal.yes
        && let Some(question) = &removal.question
    {
        if !ui::can_ask() {
            ui.say(format_args!("error: {question}"));
            ui.say("hint: '--yes' answers this, '--dry-run' shows what would go");
            return Ok(Exit::No);
        }
        if !ui::confirm(question)? {
            return Ok(Exit::No);
        }
    }
    let freed = remove::would_free(repo, going);
    let word = if removal.dry_run {
        removal.would
    } else {
        remove::remove(repo, going)?;
        removal.word
    };
    for checkpoint in going {
        writeln!(
            ui.out,
            "{word} {} {}  {}  {}",
            checkpoint.lane_and_number(),
            checkpoint.commit,
            local(checkpoint.time),
            checkpoint.record.label
        )?;
    }
    match freed {
        Ok(bytes) => ui.note(format_args!("a 'git gc' frees about {}", size(bytes))),
        // What is gone is gone; how much that is must not make it a failure.
        Err(unknown) => ui.note(format_args!(
            "how much a 'git gc' frees is unknown: {unknown}"
        )),
    }
    if !removal.dry_run {
        ui.note(
            "until then 'git update-ref refs/harness/checkpoints/<lane>/<NNN> <id>' brings one back",
        );
    }
    Ok(Exit::Done)
}

/// `bytes` for people.
fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = ["KiB", "MiB", "GiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_for_people() {
        assert_eq!(size(12), "12 bytes");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 40), "5120.0 GiB");
    }
}
