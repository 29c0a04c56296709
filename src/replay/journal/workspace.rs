//! `workspace-commits`: where the run began, and each commit as a patch.

use gix::ObjectId;
use serde_json::Value;

use crate::error::{Context, Result};
use crate::replay::journal::extension::Extension;
use crate::replay::journal::fields::Fields;
use crate::replay::patch::{self, Refusal};

/// The commits of one dispatch.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// The index of its entry, from 0.
    pub entry: usize,
    /// What errors call its entry.
    pub place: String,
    /// Where the commits begin; a history with a root commit has none.
    pub baseline: Option<Baseline>,
    /// The commits, parents first.
    pub commits: Vec<Commit>,
    /// Why a reader of the plain fields must not rebuild it.
    pub unavailable: Option<String>,
}

/// The state in which a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Baseline {
    /// The commit that was checked out.
    pub commit: ObjectId,
    /// Its tree.
    pub tree: ObjectId,
}

/// One recorded commit.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The id it had.
    pub oid: ObjectId,
    /// The tree it had.
    pub tree: ObjectId,
    /// Who wrote it.
    pub author: Identity,
    /// Who committed it.
    pub committer: Identity,
    /// The message, whole.
    pub message: String,
    /// What it changed against its first parent.
    pub patch: String,
    /// Its bytes, when they were recorded.
    pub extension: Option<Extension>,
}

/// A name, an address and a date in git's raw form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// May be empty.
    pub name: String,
    /// Without the angle brackets.
    pub email: String,
    /// `<seconds> <zone>`.
    pub date: String,
}

impl Workspace {
    /// Whether its commits can be rebuilt from the record.
    pub fn is_rebuildable(&self) -> bool {
        match self.unavailable {
            None => true,
            Some(_) => {
                !self.commits.is_empty() && self.commits.iter().all(|c| c.extension.is_some())
            }
        }
    }

    /// Reads the entry at `entry` with its `fields`.
    ///
    /// # Errors
    /// When it is malformed; the message says where.
    pub(super) fn read(entry: usize, mut fields: Fields) -> Result<Self> {
        let unavailable = fields.text("unavailable")?;
        let listed = match &unavailable {
            // Outpost ignores what stands beside a reason, and so do we unless it is ours.
            Some(_) => fields
                .array("commits")
                .ok()
                .flatten()
                .filter(|list| is_ours(list)),
            None => Some(fields.require_array("commits")?),
        };
        let baseline = match (&unavailable, &listed) {
            (None, _) => Some(Baseline::read(fields.require_object("baseline")?)?),
            (Some(_), Some(_)) => fields.object("baseline")?.map(Baseline::read).transpose()?,
            // As little as its commits: with a reason nothing else counts.
            (Some(_), None) => None,
        };
        let mut commits = Vec::new();
        let mut previous = baseline.map(|b| b.commit);
        for (number, value) in listed.unwrap_or_default().into_iter().enumerate() {
            let place = format!("{}, commit {}", fields.place(), number + 1);
            let mut commit = Commit::read(Fields::of(place.clone(), value)?)?;
            commit
                .settle(previous, unavailable.is_none())
                .context(place)?;
            previous = Some(commit.oid);
            commits.push(commit);
        }
        let place = fields.place().to_owned();
        Ok(Workspace {
            entry,
            place,
            baseline,
            commits,
            unavailable,
        })
    }

    /// All ids it names, to be of one kind.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let baseline = self.baseline.iter().flat_map(|b| [b.commit, b.tree]);
        baseline.chain(self.commits.iter().flat_map(|c| [c.oid, c.tree]))
    }
}

fn is_ours(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|commit| commit.get("x").is_some())
}

impl Baseline {
    fn read(mut fields: Fields) -> Result<Self> {
        Ok(Baseline {
            commit: fields.require_id("commit")?,
            tree: fields.require_id("tree")?,
        })
    }
}

impl Commit {
    fn read(mut fields: Fields) -> Result<Self> {
        let extension = match fields.object("x")? {
            Some(x) => Extension::read(x)?,
            None => None,
        };
        Ok(Commit {
            oid: fields.require_id("oid")?,
            tree: fields.require_id("tree")?,
            author: Identity::read(fields.require_object("author")?)?,
            committer: Identity::read(fields.require_object("committer")?)?,
            message: fields.require_text("message")?,
            patch: fields.require_text("patch")?,
            extension,
        })
    }

    /// Checks what depends on other fields, and mends a trimmed patch.
    fn settle(&mut self, previous: Option<ObjectId>, is_linear: bool) -> Result<()> {
        match &self.extension {
            Some(extension) => {
                extension.agree(self)?;
                let computed: Vec<ObjectId> = previous.into_iter().collect();
                crate::error::ensure!(
                    !is_linear || extension.parents == computed,
                    "its parent is not the commit before it"
                );
            }
            None => {
                self.author.check().context("author")?;
                self.committer.check().context("committer")?;
            }
        }
        patch::mend(&mut self.patch);
        match patch::parse(&self.patch) {
            Err(Refusal::Unsafe(why)) => Err(crate::error::anyhow!("its patch {why}")),
            Ok(_) => Ok(()),
            // What only git understands is git's to judge, but for its paths.
            Err(Refusal::Unknown(_)) => match patch::danger_in(&self.patch) {
                None => Ok(()),
                Some((path, danger)) => Err(crate::error::anyhow!(
                    "its patch names '{}', {danger}",
                    crate::git::quote::quoted(path.as_ref())
                )),
            },
        }
    }

    /// The first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

impl Identity {
    fn read(mut fields: Fields) -> Result<Self> {
        Ok(Identity {
            name: fields.require_text("name")?,
            email: fields.require_text("email")?,
            date: fields.require_text("date")?,
        })
    }

    /// Requires what a commit header can hold, and the date as Outpost does.
    fn check(&self) -> Result<()> {
        let forbidden = |text: &str| text.contains(['\0', '\n', '<', '>']);
        crate::error::ensure!(
            !forbidden(&self.name),
            "'name' holds a NUL, a newline or an angle bracket"
        );
        crate::error::ensure!(
            !forbidden(&self.email),
            "'email' holds a NUL, a newline or an angle bracket"
        );
        crate::error::ensure!(
            is_raw_date(&self.date),
            "'date' is not '<seconds> <+hhmm>' but '{}'",
            self.date.escape_debug()
        );
        Ok(())
    }

    /// The value of a commit header.
    pub fn header(&self) -> String {
        format!("{} <{}> {}", self.name, self.email, self.date)
    }
}

/// Whether `date` is decimal seconds, a space, a sign and exactly four digits.
pub fn is_raw_date(date: &str) -> bool {
    let Some((seconds, zone)) = date.split_once(' ') else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(seconds) && zone.len() == 5 && zone.starts_with(['+', '-']) && digits(&zone[1..])
}
