//! Between the bytes on disk and the bytes that git stores. A snapshot must
//! give back what was there, so git's form is only used when converting it
//! back gives the same bytes; otherwise the file is stored raw.

use std::io::Read;

use gix::bstr::BStr;
use gix::filter::Pipeline;
use gix::filter::plumbing::pipeline::convert::{ToGitOutcome, ToWorktreeOutcome, to_worktree};
use gix::worktree::Stack;
use gix::worktree::stack::state::attributes::Source;

use crate::error::{Context, Result, bail};

/// What git does to a file on its way in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// Nothing.
    None,
    /// Line ends, on the way in only: the size tells whether it changed anything.
    Lines,
    /// Line ends on the way out too, `ident`, or a filter program: only running it tells.
    Content,
    /// A file kept by git-lfs: never run, it may use the network.
    Lfs,
    /// `working-tree-encoding`, which gix cannot turn back.
    Encoding,
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
    attributes: Stack,
    index: &'c gix::index::State,
    auto_crlf: bool,
    writes_crlf: bool,
}

impl<'c> Converter<'c> {
    /// The rules as they stand in the worktree of `repo`.
    ///
    /// # Errors
    /// When configuration or attributes cannot be read.
    pub fn on_disk(repo: &'c gix::Repository, index: &'c gix::index::State) -> Result<Self> {
        Self::new(repo, index, Source::WorktreeThenIdMapping)
    }

    /// The rules as the tree has them of which `index` is made.
    ///
    /// # Errors
    /// When configuration or attributes cannot be read.
    pub fn in_tree(repo: &'c gix::Repository, index: &'c gix::index::State) -> Result<Self> {
        Self::new(repo, index, Source::IdMapping)
    }

    fn new(
        repo: &'c gix::Repository,
        index: &'c gix::index::State,
        source: Source,
    ) -> Result<Self> {
        let stack = || -> Result<Stack> {
            Ok(repo
                .attributes_only(index, source)
                .context("cannot read the attributes")?
                .detach())
        };
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
            pipeline: Pipeline::new(repo, stack()?).context("cannot set up the filters")?,
            attributes: stack()?,
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
            return Ok(if driver == "lfs" {
                Conversion::Lfs
            } else {
                Conversion::Content
            });
        }
        if named(&encoding).is_some() {
            return Ok(Conversion::Encoding);
        }
        if ident.is_set() {
            return Ok(Conversion::Content);
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
            Conversion::Content
        } else if lines {
            Conversion::Lines
        } else {
            Conversion::None
        })
    }

    /// How `bytes`, the file at `path`, are stored.
    ///
    /// # Errors
    /// When attributes cannot be read. A filter that fails is no error: the file
    /// is stored raw.
    pub fn store(&mut self, path: &BStr, bytes: &[u8]) -> Result<Stored> {
        match self.conversion(path)? {
            Conversion::None => return Ok(Stored::Same),
            Conversion::Lfs | Conversion::Encoding => return Ok(Stored::Raw),
            Conversion::Lines | Conversion::Content => {}
        }
        let Ok(cleaned) = self.clean(path, bytes) else {
            return Ok(Stored::Raw);
        };
        let form = cleaned.as_deref().unwrap_or(bytes);
        match self.smudge(path, form) {
            Ok(back) if back.as_deref().unwrap_or(form) == bytes => Ok(match cleaned {
                Some(form) => Stored::Git(form),
                None => Stored::Same,
            }),
            _ => Ok(Stored::Raw),
        }
    }

    fn clean(&mut self, path: &BStr, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let os_path = gix::path::from_bstr(path)?;
        let outcome = self.pipeline.convert_to_git(bytes, &os_path, self.index)?;
        Ok(match outcome {
            ToGitOutcome::Unchanged(_) => None,
            ToGitOutcome::Buffer(form) => Some(form.to_owned()),
            ToGitOutcome::Process(mut output) => {
                let mut form = Vec::new();
                output.read_to_end(&mut form)?;
                Some(form)
            }
        })
    }

    /// What a checkout makes of the blob `form` at `path`; `None` when it is the same.
    ///
    /// # Errors
    /// When a filter fails, or the encoding cannot be produced here.
    pub fn smudge(&mut self, path: &BStr, form: &[u8]) -> Result<Option<Vec<u8>>> {
        let outcome =
            self.pipeline
                .convert_to_worktree(form, path, to_worktree::Options::default())?;
        Ok(match outcome {
            ToWorktreeOutcome::Unchanged(_) => None,
            ToWorktreeOutcome::Buffer(bytes) => Some(bytes.to_owned()),
            ToWorktreeOutcome::Process(
                gix::filter::plumbing::driver::apply::MaybeDelayed::Immediate(mut output),
            ) => {
                let mut bytes = Vec::new();
                output.read_to_end(&mut bytes)?;
                Some(bytes)
            }
            ToWorktreeOutcome::Process(_) => bail!("the filter of '{path}' delays its answer"),
        })
    }
}
