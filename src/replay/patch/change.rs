//! What a patch says about one path.

use gix::ObjectId;

use crate::git::BString;
use crate::replay::patch::text::Hunk;

/// One `diff --git` section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<'a> {
    /// The path, the same on both sides.
    pub path: BString,
    /// The mode before; `None` for a new path, and when no line names it.
    pub old_mode: Option<u32>,
    /// The mode after; `None` for a deleted path, and when no line names it.
    pub new_mode: Option<u32>,
    /// Whether the path did not exist before.
    pub is_new: bool,
    /// Whether the path does not exist after.
    pub is_deleted: bool,
    /// The full ids of the `index` line, before and after.
    pub ids: Option<(ObjectId, ObjectId)>,
    /// How the content changes.
    pub body: Body<'a>,
}

/// How content changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// Not at all.
    None,
    /// By lines.
    Text(Vec<Hunk<'a>>),
    /// To these bytes: their length, and their base85 lines.
    Literal(usize, Vec<&'a str>),
    /// By a delta of this length, in base85 lines.
    Delta(usize, Vec<&'a str>),
}

/// Why a patch was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It holds what only git may understand.
    Unknown(String),
    /// It names a path that no patch may write.
    Unsafe(String),
}

impl Refusal {
    pub(super) fn unknown(line: usize, why: impl std::fmt::Display) -> Self {
        Refusal::Unknown(format!("line {line}: {why}"))
    }
}
