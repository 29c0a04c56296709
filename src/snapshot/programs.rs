//! Conversions that git itself makes for us: filter programs of the user's, which
//! must not hang or use the network, and what gix cannot turn back. One git for
//! each way stays for a whole snapshot.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use tempfile::TempDir;

use crate::error::{Context, Result};
use crate::git::command::Child;
use crate::git::quote::quoted;
use crate::git::talk::{Silence, Talk};
use crate::snapshot::attributes::{info, is_attributes_file, may_convert};
use crate::snapshot::convert::Stored;

/// Where the attributes come from.
#[derive(Debug, Clone)]
pub(super) enum Rules {
    /// From the worktree, then the index.
    OnDisk,
    /// From a tree.
    Tree {
        /// Its id.
        tree: ObjectId,
        /// The filters that were set then.
        then: Vec<BString>,
    },
}

/// One thread's gits.
pub(super) struct Programs<'c> {
    repo: gix::Repository,
    index: &'c gix::index::State,
    rules: Rules,
    limit: Duration,
    drivers: Vec<BString>,
    /// Whether this repository has rules of its own, which git cannot be kept from.
    outside: bool,
    scratch: Option<TempDir>,
    clean: Option<Talk>,
    smudge: Option<Talk>,
    /// Those that gave no answer in time: not asked again.
    hung: Vec<BString>,
}

impl<'c> Programs<'c> {
    /// None is started yet. `index` is the one that belongs to `rules`.
    pub(super) fn new(repo: &gix::Repository, index: &'c gix::index::State, rules: Rules) -> Self {
        let seconds = repo
            .config_snapshot()
            .integer("checkpoint.filterTimeout")
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(5);
        Programs {
            repo: repo.clone(),
            index,
            rules,
            limit: Duration::from_secs(seconds),
            drivers: drivers(repo),
            outside: std::fs::read(info(repo.common_dir())).is_ok_and(|rules| may_convert(&rules)),
            scratch: None,
            clean: None,
            smudge: None,
            hung: Vec::new(),
        }
    }

    /// Whether the user's configuration says, or said then, what `driver` does.
    pub(super) fn applies(&self, driver: &BStr) -> bool {
        let drivers = match &self.rules {
            Rules::OnDisk => &self.drivers,
            Rules::Tree { then, .. } => then,
        };
        drivers.iter().any(|known| known == driver)
    }

    /// Whether git can be asked: it would follow rules that no tree holds, or know
    /// nothing of a filter that is set no more.
    fn can_ask(&self, driver: &BStr) -> bool {
        let is_set = driver.is_empty() || self.drivers.iter().any(|known| known == driver);
        let is_hung = self.hung.iter().any(|hung| hung == driver);
        is_set && !is_hung && !driver.contains_str("=") && !self.outside
    }

    /// How the file at `path` with these `bytes` is stored. A filter that fails, has
    /// no name that git can be given, or takes too long is no error: then as it is.
    ///
    /// # Errors
    /// When git cannot be started.
    pub(super) fn store(&mut self, path: &BStr, driver: &BStr, bytes: &[u8]) -> Result<Stored> {
        if !self.can_ask(driver) || self.rules_are_only_in_index(path) {
            return Ok(Stored::Raw);
        }
        let Some(id) = self.clean(path, driver)? else {
            return Ok(Stored::Raw);
        };
        Ok(match self.smudge(path, driver, id)? {
            Some(back) if back == bytes => match self.form(id) {
                Some(form) if form == bytes => Stored::Same,
                Some(form) => Stored::Git(form),
                None => Stored::Raw,
            },
            _ => Stored::Raw,
        })
    }

    /// The id of git's form of the file at `path`.
    fn clean(&mut self, path: &BStr, driver: &BStr) -> Result<Option<ObjectId>> {
        if self.clean.is_none() {
            let child = self.git(&["hash-object", "-w", "--stdin-paths"])?;
            self.clean = Some(child.talk(self.limit)?);
        }
        let request = format!("{}\n", quoted(path));
        let answer = self
            .clean
            .as_mut()
            .map(|git| git.ask(request.as_bytes(), b"\n"));
        Ok(match answer {
            Some(Ok(hex)) => ObjectId::from_hex(&hex).ok(),
            Some(Err(silence)) => {
                self.clean = None;
                self.note(driver, silence);
                None
            }
            None => None,
        })
    }

    /// What a checkout makes of the blob `id` at `path`; `None` when it fails.
    ///
    /// # Errors
    /// When git cannot be started.
    pub(super) fn smudge(
        &mut self,
        path: &BStr,
        driver: &BStr,
        id: ObjectId,
    ) -> Result<Option<Vec<u8>>> {
        if !self.can_ask(driver) {
            return Ok(None);
        }
        if self.smudge.is_none() {
            let child = self.git(&["cat-file", "--batch", "--filters", "-z"])?;
            self.smudge = Some(child.talk(self.limit)?);
        }
        // git tells the size of the blob and not that of the file. The end is where it
        // does not find a name that no content can know.
        let no_object = self.scratch()?.path().file_name().unwrap_or_default();
        let no_object = no_object.to_string_lossy().into_owned();
        let mut request = format!("{id} ").into_bytes();
        request.extend_from_slice(path);
        request.extend_from_slice(format!("\0{no_object} -\0").as_bytes());
        let end = format!("\n{no_object} missing\n");
        let answer = self
            .smudge
            .as_mut()
            .map(|git| git.ask(&request, end.as_bytes()));
        Ok(match answer {
            Some(Ok(mut answer)) => {
                let header = answer.find_byte(b'\n').map_or(answer.len(), |at| at + 1);
                let is_blob = answer[..header].contains_str(" blob ");
                answer.drain(..header);
                is_blob.then_some(answer)
            }
            Some(Err(silence)) => {
                self.smudge = None;
                self.note(driver, silence);
                None
            }
            None => None,
        })
    }

    /// Whether some attributes on the way to `path` are in the index and not on disk
    /// (sparse checkout): the plumbing used here does not look there.
    fn rules_are_only_in_index(&self, path: &BStr) -> bool {
        let Some(root) = self.repo.workdir() else {
            return false;
        };
        let folders = path.rfind_iter(b"/").map(|slash| slash + 1).chain([0]);
        folders.into_iter().any(|end| {
            let mut name = BString::from(&path[..end]);
            name.extend_from_slice(b".gitattributes");
            self.index.entry_by_path(name.as_bstr()).is_some()
                && !gix::path::from_bstr(name.as_bstr()).is_ok_and(|name| root.join(name).exists())
        })
    }

    fn note(&mut self, driver: &BStr, silence: Silence) {
        if silence == Silence::TooLong {
            self.hung.push(driver.to_owned());
        }
    }

    /// The blob `id` that git wrote, or found to be there.
    fn form(&self, id: ObjectId) -> Option<Vec<u8>> {
        let written = self.scratch.as_ref().map(objects).and_then(|folder| {
            let store = gix::odb::loose::Store::at(folder, self.repo.object_hash());
            let mut buffer = Vec::new();
            let found = store.try_find(&id, &mut buffer).ok()??;
            Some(found.data.to_owned())
        });
        written.or_else(|| Some(self.repo.find_object(id).ok()?.detach().data))
    }

    /// git for one of the two ways: what it writes is for us alone, and a filter
    /// must do its work or fail, since what a failed one lets through would come
    /// back as something else once it works.
    fn git(&mut self, command: &[&str]) -> Result<Child> {
        let scratch = self.scratch()?;
        let objects = objects(scratch);
        let hollow = scratch.path().join("worktree");
        let root = self.repo.workdir().context("no worktree to convert for")?;
        // The child starts elsewhere than we did.
        let [git_dir, root, own_objects] = [
            self.repo.git_dir(),
            root,
            self.repo.objects.store_ref().path(),
        ]
        .map(std::path::absolute);
        let config = self.repo.config_snapshot();
        let mut child = Child::git_in(&git_dir?, Some(&root?))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", own_objects?)
            .env("GIT_OBJECT_DIRECTORY", objects)
            .env("GIT_FLUSH", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_ALLOW_PROTOCOL", "none");
        for proxy in ["http_proxy", "https_proxy", "all_proxy"] {
            // Nobody listens on the discard port.
            child = child
                .env(proxy, "http://127.0.0.1:9")
                .without_env(proxy.to_uppercase());
        }
        let mut given = vec![
            "core.attributesFile=/dev/null".to_owned(),
            "core.safecrlf=false".to_owned(),
            "core.fsync=none".to_owned(),
        ];
        let sayable = self.drivers.iter().filter(|name| !name.contains_str("="));
        for driver in sayable {
            given.push(format!("filter.{driver}.required=true"));
            for way in ["clean", "smudge", "process"] {
                let command = config.string(format!("filter.{driver}.{way}").as_str());
                // An empty one is none, as git has it.
                match command.filter(|command| !command.is_empty()) {
                    Some(command) => given.push(format!("filter.{driver}.{way}={OURS}{command}")),
                    None if way == "process" => {}
                    None => given.push(format!("filter.{driver}.{way}=cat")),
                }
            }
        }
        if let Rules::Tree { tree, .. } = &self.rules {
            for key in ["core.autocrlf", "core.eol"] {
                if let Some(value) = config.string(key) {
                    given.push(format!("{key}={value}"));
                }
            }
            let source = format!("--attr-source={tree}");
            let probe = Child::git().args([source.as_str(), "version"]);
            if probe.output()?.status.success() {
                child = child.arg(source);
            } else {
                // Before git 2.41: in a worktree that holds nothing but the attributes.
                // A filter named relative to the worktree fails there.
                self.write_attributes(&hollow)?;
                child = child.env("GIT_WORK_TREE", &hollow).current_dir(&hollow);
            }
        }
        for entry in given {
            child = child.args(["-c", &entry]);
        }
        Ok(child.args(command))
    }

    fn write_attributes(&self, folder: &Path) -> Result<()> {
        for entry in self.index.entries() {
            let path = entry.path(self.index);
            let leads_out = path.split(|b| *b == b'/').any(|name| name == b"..");
            if is_attributes_file(path) && !leads_out {
                let file = folder.join(gix::path::from_bstr(path)?);
                std::fs::create_dir_all(file.parent().unwrap_or(folder))?;
                let content = self.repo.find_object(entry.id)?;
                std::fs::File::create_new(file)?.write_all(&content.data)?;
            }
        }
        Ok(())
    }

    fn scratch(&mut self) -> Result<&TempDir> {
        if self.scratch.is_none() {
            let folder = tempfile::Builder::new()
                .prefix("git-harness-")
                .tempdir()
                .context("cannot make a temporary folder")?;
            for name in ["objects", "worktree"] {
                std::fs::create_dir(folder.path().join(name))?;
            }
            self.scratch = Some(folder);
        }
        self.scratch.as_ref().context("no temporary folder")
    }
}

/// Before a filter's own command, which git gives to a shell: should it commit, its
/// objects belong in the repository and not in our scratch folder.
const OURS: &str = "unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_DIR \
                    GIT_WORK_TREE GIT_FLUSH; ";

fn objects(scratch: &TempDir) -> PathBuf {
    scratch.path().join("objects")
}

/// The filters with a command for at least one way.
pub(super) fn drivers(repo: &gix::Repository) -> Vec<BString> {
    let config = repo.config_snapshot();
    let sections = config.plumbing().sections_by_name("filter");
    let mut found: Vec<BString> = sections
        .into_iter()
        .flatten()
        .filter(|section| {
            ["clean", "smudge", "process"].iter().any(|way| {
                section
                    .value(way)
                    .is_some_and(|command| !command.is_empty())
            })
        })
        .filter_map(|section| section.header().subsection_name().map(ToOwned::to_owned))
        .collect();
    found.sort();
    found.dedup();
    found
}
