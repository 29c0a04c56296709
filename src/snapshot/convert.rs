//! Between the bytes on disk and the bytes that git stores. A snapshot must
//! give back what was there, so git's form is only used when converting it
//! back gives the same bytes; otherwise the file is stored raw.

use gix::ObjectId;
use gix::attrs::search::MetadataCollection;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::filter::Pipeline;
use gix::filter::plumbing::pipeline::convert::{ToGitOutcome, ToWorktreeOutcome, to_worktree};
use gix::glob::pattern::Case;
use gix::worktree::Stack;
use gix::worktree::stack::State;
use gix::worktree::stack::state::Attributes;
use gix::worktree::stack::state::attributes::Source;

use crate::error::{Context, Result, bail};
use crate::snapshot::programs::{Programs, Rules, drivers};

/// What git does to a file on its way in and out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversion {
    /// Nothing.
    None,
    /// Line ends, on the way in only: the size tells whether it changed anything.
    Lines,
    /// Line ends, on the way out too.
    BothWays,
    /// A file kept by git-lfs: never run, it may use the network.
    Lfs,
    /// By git: through the filter of this name (empty: none), by `ident`, or by
    /// `working-tree-encoding`, which gix writes in another way or not at all.
    Git(BString),
}

/// How a file is stored.
#[derive(Debug, PartialEq, Eq)]
pub enum Stored {
    /// As it is on disk, since nothing converts it, or what does changes nothing.
    Same,
    /// In git's form, which gives back the same bytes.
    Git(Vec<u8>),
    /// As it is on disk, although a conversion applies.
    Raw,
}

/// One thread's converter, under the rules of one tree.
pub struct Converter<'c> {
    pipeline: Pipeline<'c>,
    programs: Programs<'c>,
    attributes: Stack,
    index: &'c gix::index::State,
    auto_crlf: bool,
    writes_crlf: bool,
}

impl<'c> Converter<'c> {
    /// The rules of the worktree of `repo`, as far as a checkpoint holds them: the
    /// user's own attributes files, and `info/attributes`, may be others when it is
    /// restored.
    ///
    /// # Errors
    /// When configuration or attributes cannot be read.
    pub fn on_disk(repo: &'c gix::Repository, index: &'c gix::index::State) -> Result<Self> {
        let stack = held(repo, index, Source::WorktreeThenIdMapping)?;
        Self::new(
            repo,
            index,
            stack,
            Programs::new(repo, index, Rules::OnDisk),
        )
    }

    /// All rules of the worktree of `repo`, by which git made the blobs of `index`.
    ///
    /// # Errors
    /// When configuration or attributes cannot be read.
    pub fn of_index(repo: &'c gix::Repository, index: &'c gix::index::State) -> Result<Self> {
        let stack = repo
            .attributes_only(index, Source::WorktreeThenIdMapping)
            .context("cannot read the attributes")?
            .detach();
        Self::new(
            repo,
            index,
            stack,
            Programs::new(repo, index, Rules::OnDisk),
        )
    }

    /// The rules as they are in `tree`, of which `index` is made; with the settings
    /// of then, `config`, as [`config_of`] gave them.
    ///
    /// # Errors
    /// When configuration or attributes cannot be read.
    pub fn in_tree(
        repo: &'c gix::Repository,
        index: &'c gix::index::State,
        tree: ObjectId,
        config: &[String],
    ) -> Result<Self> {
        let stack = held(repo, index, Source::IdMapping)?;
        let then = config
            .iter()
            .filter_map(|entry| entry.strip_prefix("filter="));
        let then = then.map(BString::from).collect();
        let rules = Rules::Tree { tree, then };
        Self::new(repo, index, stack, Programs::new(repo, index, rules))
    }

    fn new(
        repo: &'c gix::Repository,
        index: &'c gix::index::State,
        stack: Stack,
        programs: Programs<'c>,
    ) -> Result<Self> {
        let value = repo.config_snapshot().string("core.autocrlf");
        let auto_crlf = value.is_some_and(|v| {
            !matches!(
                v.to_ascii_lowercase().as_slice(),
                b"false" | b"no" | b"off" | b"0" | b""
            )
        });
        let config = repo.config_snapshot();
        let is = |key, word: &str| {
            config
                .string(key)
                .is_some_and(|v| v.eq_ignore_ascii_case(word.as_bytes()))
        };
        let writes_crlf = !is("core.autocrlf", "input") && (auto_crlf || is("core.eol", "crlf"));
        Ok(Converter {
            writes_crlf,
            programs,
            pipeline: Pipeline::new(repo, stack.clone()).context("cannot set up the filters")?,
            attributes: stack,
            index,
            auto_crlf,
        })
    }

    /// What applies to `path`.
    ///
    /// # Errors
    /// When an attributes file on the way cannot be read.
    pub fn conversion(&mut self, path: &BStr) -> Result<Conversion> {
        const NAMES: [&str; 6] = [
            "text",
            "crlf",
            "eol",
            "ident",
            "filter",
            "working-tree-encoding",
        ];
        let objects = &self.pipeline.repo.objects;
        // Once to load the files on the way, whose attribute names the outcome must know.
        let _loaded = self.attributes.at_entry(path, None, objects)?;
        let mut found = self.attributes.selected_attribute_matches(NAMES);
        self.attributes
            .at_entry(path, None, objects)?
            .matching_attributes(&mut found);
        let mut states = found.iter_selected().map(|m| m.assignment.state);
        let mut next = || states.next().unwrap_or(gix::attrs::StateRef::Unspecified);
        let (text, crlf, eol, ident, filter, encoding) =
            (next(), next(), next(), next(), next(), next());
        let named = |state: &gix::attrs::StateRef<'_>| state.as_bstr().map(ToOwned::to_owned);
        if let Some(driver) = named(&filter) {
            if driver == "lfs" {
                return Ok(Conversion::Lfs);
            }
            if self.programs.applies(driver.as_ref()) {
                return Ok(Conversion::Git(driver));
            }
        }
        if named(&encoding).is_some() || ident.is_set() {
            return Ok(Conversion::Git(BString::default()));
        }
        let text = if text.is_unspecified() { crlf } else { text };
        let lines = if text.is_unset() {
            false
        } else if text.is_unspecified() {
            self.auto_crlf || eol.as_bstr().is_some()
        } else {
            true
        };
        let out = match named(&eol) {
            Some(eol) => eol == "crlf",
            None => self.writes_crlf,
        };
        Ok(if lines && out {
            Conversion::BothWays
        } else if lines {
            Conversion::Lines
        } else {
            Conversion::None
        })
    }

    /// How `bytes`, the file at `path`, are stored.
    ///
    /// # Errors
    /// When attributes cannot be read, or git cannot be started. A conversion that
    /// fails is no error: the file is stored raw.
    pub fn store(&mut self, path: &BStr, bytes: &[u8]) -> Result<Stored> {
        match self.conversion(path)? {
            Conversion::None => return Ok(Stored::Same),
            Conversion::Lfs => return Ok(Stored::Raw),
            Conversion::Git(driver) => return self.programs.store(path, driver.as_ref(), bytes),
            Conversion::Lines | Conversion::BothWays => {}
        }
        let Ok(cleaned) = self.clean(path, bytes) else {
            return Ok(Stored::Raw);
        };
        let form = cleaned.as_deref().unwrap_or(bytes);
        match self.lines(path, form) {
            Ok(back) if back.as_deref().unwrap_or(form) == bytes => Ok(match cleaned {
                Some(form) => Stored::Git(form),
                None => Stored::Same,
            }),
            _ => Ok(Stored::Raw),
        }
    }

    fn clean(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let os_path = gix::path::from_bstr(path)?;
        match self.pipeline.convert_to_git(bytes, &os_path, self.index)? {
            ToGitOutcome::Unchanged(_) => Ok(None),
            ToGitOutcome::Buffer(form) => Ok(Some(form.to_owned())),
            ToGitOutcome::Process(_) => bail!("'{path}' is converted by a program"),
        }
    }

    /// What a checkout makes of the blob `id` at `path`, whose content is `form`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn smudge(&mut self, path: &BStr, id: ObjectId, form: Vec<u8>) -> Result<Vec<u8>> {
        match self.conversion(path)? {
            Conversion::None | Conversion::Lfs => Ok(form),
            Conversion::Lines | Conversion::BothWays => {
                Ok(self.lines(path, &form)?.unwrap_or(form))
            }
            Conversion::Git(driver) => match self.programs.smudge(path, driver.as_ref(), id)? {
                Some(bytes) => Ok(bytes),
                None if driver.is_empty() => bail!("git cannot convert it"),
                None => bail!("the filter '{driver}' fails, does not end, or is set no more"),
            },
        }
    }

    fn lines(&mut self, path: &BStr, form: &[u8]) -> Result<Option<Vec<u8>>> {
        let outcome =
            self.pipeline
                .convert_to_worktree(form, path, to_worktree::Options::default())?;
        match outcome {
            ToWorktreeOutcome::Unchanged(_) => Ok(None),
            ToWorktreeOutcome::Buffer(bytes) => Ok(Some(bytes.to_owned())),
            ToWorktreeOutcome::Process(_) => bail!("'{path}' is converted by a program"),
        }
    }
}

/// The rules that are in the tree, and no others.
fn held(repo: &gix::Repository, index: &gix::index::State, source: Source) -> Result<Stack> {
    let case = match repo.config_snapshot().boolean("core.ignoreCase") {
        Some(true) => Case::Fold,
        _ => Case::Sensitive,
    };
    let mut buffer = Vec::new();
    let mut collection = MetadataCollection::default();
    let none = std::iter::empty::<std::path::PathBuf>();
    let globals = gix::attrs::Search::new_globals(none, &mut buffer, &mut collection)
        .context("cannot set up the attributes")?;
    let state = State::AttributesStack(Attributes::new(globals, None, source, collection));
    let mappings = state.id_mappings_from_index(index, index.path_backing(), case);
    let root = repo.workdir().unwrap_or(repo.git_dir());
    Ok(Stack::new(root, state, case, buffer, mappings))
}

/// The settings besides attributes that decide what a checkout makes of a blob.
pub fn config_of(repo: &gix::Repository) -> Vec<String> {
    let config = repo.config_snapshot();
    let lines = ["core.autocrlf", "core.eol"]
        .into_iter()
        .filter_map(|key| Some(format!("{key}={}", config.string(key)?)));
    let filters = drivers(repo)
        .into_iter()
        .filter(|driver| driver != "lfs" && !driver.contains_str("\n"))
        .map(|driver| format!("filter={driver}"));
    lines.chain(filters).collect()
}
