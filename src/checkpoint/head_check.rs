//! A checkpoint belongs to the branch and the operation it was taken in.

use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::Result;
use crate::git::Repo;
use crate::lane::Checkpoint;
use crate::ui::Ui;

/// Whether HEAD allows `target` to be restored; if not, says why.
pub(super) fn allows(repo: &Repo, target: &Checkpoint, ui: &mut Ui) -> Result<bool> {
    let now = repo.head()?;
    let then = &target.record.head;
    let refused = if now.branch != then.branch {
        Some(format!(
            "it was taken {} and you are now {}",
            place(then.branch.as_ref()),
            place(now.branch.as_ref())
        ))
    } else {
        match (target.record.operation.as_deref(), repo.operation()) {
            (then, now) if then == now => None,
            (_, Some(now)) => Some(format!("a {now} has begun since")),
            (Some(then), None) => Some(format!("the {then} of then has ended")),
            (None, None) => None,
        }
    };
    if let Some(reason) = refused {
        ui.say(format_args!(
            "error: cannot restore {}: {reason}",
            target.number()
        ));
        ui.say(
            "hint: '--head' goes back to where HEAD was; with '--no-head' the files are \
             restored where you are now",
        );
        return Ok(false);
    }
    if let (Some(then), Some(now)) = (then.commit, now.commit)
        && then != now
    {
        let made = repo
            .git(["rev-list", "--count"])
            .arg(format!("{then}..{now}"))
            .output()?;
        let count = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        let what = match count.as_str() {
            "1" => "1 commit made since stays".to_owned(),
            "" | "0" => "HEAD moved since and stays".to_owned(),
            n => format!("{n} commits made since stay"),
        };
        ui.note(format_args!(
            "hint: {what} where it is ({}); only files are restored, '--head' would move it back",
            now.to_hex_with_len(10)
        ));
    }
    Ok(true)
}

fn place(branch: Option<&BString>) -> String {
    match branch {
        Some(name) => {
            let short: &BStr = name
                .strip_prefix(b"refs/heads/")
                .map_or(name.as_bstr(), ByteSlice::as_bstr);
            format!("on '{short}'")
        }
        None => "on no branch".to_owned(),
    }
}
