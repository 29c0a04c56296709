//! What a checkpoint says about itself, to and from its commit.

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use crate::error::{Context, Result};
use crate::git::head::Head;
use crate::git::quote::{quoted, unquoted};
use crate::lane::trailer::{Reader, Writer, split_path};
use crate::lane::wrote::Wrote;
use crate::snapshot::scan::Skipped;

/// The version of the stored format.
const VERSION: u32 = 1;

/// At most this many Skipped or Raw lines stand in the message itself.
pub const LINES_AT_MOST: usize = 1000;

/// Why a checkpoint was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Someone asked for it.
    #[default]
    Save,
    /// A tool is about to write the named paths.
    BeforeWrite,
    /// A command is about to run.
    BeforeCommand,
    /// A command has ended.
    AfterCommand,
    /// An undo or redo is about to begin; the way back.
    BeforeUndo,
}

impl Kind {
    const NAMES: [(Kind, &'static str); 5] = [
        (Kind::Save, "save"),
        (Kind::BeforeWrite, "before-write"),
        (Kind::BeforeCommand, "before-command"),
        (Kind::AfterCommand, "after-command"),
        (Kind::BeforeUndo, "before-undo"),
    ];

    /// Its name in the stored format.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("save", |(_, name)| name)
    }

    fn parse(name: &str) -> Self {
        Self::NAMES
            .iter()
            .find(|(_, n)| *n == name)
            .map_or(Kind::Save, |(kind, _)| *kind)
    }
}

/// Everything but the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// The first line.
    pub label: String,
    /// Its number in the lane, from 1.
    pub number: u32,
    /// Its lane.
    pub lane: String,
    /// The id of the worktree it was taken in.
    pub worktree: String,
    /// HEAD at that moment.
    pub head: Head,
    /// The operation that was under way: merge, rebase, cherry-pick, revert, bisect.
    pub operation: Option<String>,
    /// The commit that holds the index, when it was worth one.
    pub index: Option<ObjectId>,
    /// Why it was taken.
    pub kind: Kind,
    /// The tool that is about to write.
    pub tool: Option<String>,
    /// The paths it is about to write.
    pub paths: Vec<BString>,
    /// The agent's id of the call.
    pub call: Option<String>,
    /// The agent's id of the session.
    pub session: Option<String>,
    /// After a command: the number of the checkpoint before it.
    pub after: Option<u32>,
    /// The command, masked.
    pub command: Option<String>,
    /// Before an undo: the checkpoint that it restores.
    pub target: Option<String>,
    /// What tools left since the checkpoint before: the blob, or nothing for "absent".
    pub wrote: Vec<Wrote>,
    /// Pathspecs by which ignored files were captured.
    pub include: Vec<BString>,
    /// What could not be captured.
    pub skipped: Vec<Skipped>,
    /// Paths stored as they are although a conversion applies.
    pub raw: Vec<BString>,
    /// Configuration under which git's form gives back the bytes: `key=value`.
    pub config: Vec<String>,
    /// HEAD or the index moved while it was taken.
    pub moved: bool,
    /// It came from another repository or lane: its commit there, its lane and number.
    pub imported: Option<String>,
}

impl Record {
    /// The commit's message. Of very long lists the first
    /// [`LINES_AT_MOST`] stand in it.
    pub fn message(&self) -> String {
        let mut out = Writer::new(&self.label);
        out.add("Version", VERSION);
        out.add("Number", self.number);
        out.add("Lane", &self.lane);
        out.add("Worktree", &self.worktree);
        out.add("Head", head_text(&self.head));
        out.add_some("Operation", self.operation.as_ref());
        out.add_some("Index", self.index);
        out.add("Kind", self.kind.name());
        out.add_some("Tool", self.tool.as_ref());
        for path in &self.paths {
            out.add_path("Path", path.as_bstr());
        }
        out.add_some("Call", self.call.as_ref());
        out.add_some("Session", self.session.as_ref());
        out.add_some("After", self.after);
        out.add_some("Command", self.command.as_ref());
        out.add_some("Target", self.target.as_ref());
        for wrote in &self.wrote {
            out.add("Wrote", wrote_text(wrote));
        }
        for spec in &self.include {
            out.add_path("Include", spec.as_bstr());
        }
        for entry in &self.config {
            out.add("Config", entry);
        }
        if self.moved {
            out.add("Moved", "HEAD or the index moved while this was taken");
        }
        out.add_some("Imported", self.imported.as_ref());
        if self.skipped.len() > LINES_AT_MOST {
            out.add("Skipped-Count", self.skipped.len());
        }
        for skipped in self.skipped.iter().take(LINES_AT_MOST) {
            out.add("Skipped", skipped_line(skipped));
        }
        if self.raw.len() > LINES_AT_MOST {
            out.add("Raw-Count", self.raw.len());
        }
        for path in self.raw.iter().take(LINES_AT_MOST) {
            out.add_path("Raw", path.as_bstr());
        }
        out.finish()
    }

    /// What stood for the rules that are in no tree, as [`include::unseen`] gives it.
    ///
    /// [`include::unseen`]: crate::snapshot::include::unseen
    pub fn unseen(&self) -> Option<&str> {
        self.config.iter().find_map(|c| c.strip_prefix("unseen="))
    }

    /// Reads a message.
    ///
    /// # Errors
    /// When it is none of ours.
    pub fn parse(message: &BStr) -> Result<Self> {
        let read = Reader::new(message);
        let number = |key: &str| read.text(key).and_then(|n| n.parse().ok());
        Ok(Record {
            number: number("Number").context("it has no Harness-Number")?,
            lane: read.text("Lane").context("it has no Harness-Lane")?,
            worktree: read.text("Worktree").unwrap_or_default(),
            head: read.first("Head").map(parse_head).unwrap_or_default(),
            operation: read.text("Operation"),
            index: read.first("Index").and_then(|v| ObjectId::from_hex(v).ok()),
            kind: Kind::parse(&read.text("Kind").unwrap_or_default()),
            tool: read.text("Tool"),
            paths: read.paths("Path"),
            call: read.text("Call"),
            session: read.text("Session"),
            after: number("After"),
            command: read.text("Command"),
            target: read.text("Target"),
            wrote: read.all("Wrote").filter_map(parse_wrote).collect(),
            include: read.paths("Include"),
            skipped: read.all("Skipped").filter_map(parse_skipped).collect(),
            raw: read.paths("Raw"),
            config: read
                .all("Config")
                .map(|v| v.to_str_lossy().into_owned())
                .collect(),
            moved: read.first("Moved").is_some(),
            imported: read.text("Imported"),
            label: read.label,
        })
    }
}

/// `<oid> <ref>`, `<oid> (detached)` or `unborn <ref>`.
fn head_text(head: &Head) -> String {
    let commit = head
        .commit
        .map_or_else(|| "unborn".to_owned(), |id| id.to_string());
    let branch = head
        .branch
        .as_ref()
        .map_or_else(|| "(detached)".to_owned(), |name| quoted(name.as_bstr()));
    format!("{commit} {branch}")
}

fn parse_head(text: &BStr) -> Head {
    let (commit, branch) = text.split_once_str(" ").unwrap_or((text, b"(detached)"));
    Head {
        commit: ObjectId::from_hex(commit).ok(),
        branch: (branch != b"(detached)")
            .then(|| unquoted(branch.as_bstr()))
            .flatten(),
    }
}

/// `<oid> <path>` or `absent <path>`; a session stands in quotes between them.
fn wrote_text(wrote: &Wrote) -> String {
    let left = wrote.left();
    let path = quoted(wrote.path.as_bstr());
    match &wrote.session {
        Some(session) => format!(
            "{left} session={} {path}",
            in_quotes(session.as_bytes().as_bstr())
        ),
        None => format!("{left} {path}"),
    }
}

fn parse_wrote(value: &BStr) -> Option<Wrote> {
    let (id, rest) = value.split_once_str(" ")?;
    let id = match id {
        b"absent" => None,
        hex => Some(ObjectId::from_hex(hex).ok()?),
    };
    let (session, path) = match rest.strip_prefix(b"session=") {
        // A path can begin so, but not go on with a quote: then it is quoted itself.
        Some(quoted) if quoted.starts_with(b"\"") => {
            let (session, path) = split_path(quoted.as_bstr())?;
            (
                Some(session.to_str_lossy().into_owned()),
                path.strip_prefix(b" ")?.as_bstr(),
            )
        }
        _ => (None, rest.as_bstr()),
    };
    Some(Wrote {
        path: unquoted(path)?,
        id,
        session,
    })
}

/// A path that was skipped, always in quotes so that its reason can follow.
pub fn skipped_line(skipped: &Skipped) -> String {
    format!("{} {}", in_quotes(skipped.path.as_bstr()), skipped.reason)
}

fn in_quotes(bytes: &BStr) -> String {
    let text = quoted(bytes);
    if text.starts_with('"') {
        text
    } else {
        format!("\"{text}\"")
    }
}

/// The inverse of [`skipped_line`].
pub fn parse_skipped(value: &BStr) -> Option<Skipped> {
    let (path, rest) = split_path(value)?;
    Some(Skipped {
        path,
        reason: rest.trim().to_str_lossy().into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(path: &str, id: Option<ObjectId>, session: Option<&str>) -> Wrote {
        Wrote {
            path: path.into(),
            id,
            session: session.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let id = ObjectId::from_hex(b"0123456789012345678901234567890123456789").expect("hex");
        let record = Record {
            label: "before edit_file a b".to_owned(),
            number: 12,
            lane: "main".to_owned(),
            worktree: "00ff".to_owned(),
            head: Head {
                branch: Some("refs/heads/a b".into()),
                commit: Some(id),
            },
            operation: Some("merge".to_owned()),
            index: Some(id),
            kind: Kind::BeforeWrite,
            tool: Some("edit_file".to_owned()),
            paths: vec!["a b".into(), b"\xff\n".as_slice().into()],
            call: Some("toolu_1".to_owned()),
            session: Some("s".to_owned()),
            after: Some(3),
            command: Some("cargo test".to_owned()),
            target: Some("main/002".to_owned()),
            wrote: vec![
                wrote("x y", Some(id), None),
                wrote("gone", None, Some("a \"b\"\n")),
                wrote("session=\"s\" x", Some(id), None),
            ],
            include: vec!["var/*.db".into()],
            skipped: vec![Skipped {
                path: "big \"file\"".into(),
                reason: "too large".to_owned(),
            }],
            raw: vec!["mixed.txt".into()],
            config: vec!["core.autocrlf=true".to_owned()],
            moved: true,
            imported: Some("0123 task/007".to_owned()),
        };
        let message = record.message();
        let read = Record::parse(message.as_bytes().as_bstr()).expect("ours");
        assert_eq!(read, record);
    }
}
