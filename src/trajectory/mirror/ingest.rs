//! Brings the mirror up to date with the logs.

use std::fs::{DirEntry, Metadata};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Context, Result};
use crate::events::{Reader, session};
use crate::git::Repo;
use crate::trajectory::mirror::apply::{Source, add, add_run, forget};
use crate::trajectory::mirror::marks::{Mark, Work};
use crate::trajectory::mirror::open::{Mirror, is_damage};

/// What an ingest did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ingested {
    /// Files that had something new.
    pub(crate) files: u64,
    /// Rows that were added.
    pub(crate) events: u64,
    /// Lines that could not be read.
    pub(crate) broken: u64,
}

const IMPORT: &str = ".import.jsonl";

/// Reads what is new in the logs of `repo`; with `only`, in those of that stem.
///
/// # Errors
/// When a log cannot be read or the database not be written.
pub(crate) fn ingest(repo: &Repo, mirror: &mut Mirror, only: Option<&str>) -> Result<Ingested> {
    match read_logs(repo, mirror, only) {
        Err(error) if is_damage(&error) => {
            mirror.renew(repo)?;
            read_logs(repo, mirror, None)
        }
        done => done,
    }
}

fn read_logs(repo: &Repo, mirror: &mut Mirror, only: Option<&str>) -> Result<Ingested> {
    let mut done = Ingested::default();
    // Begun as a writer: one that begins as a reader cannot wait for another writer.
    let transaction = mirror
        .db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .context("the mirror is held by another process")?;
    let sessions = logs(&session::folder(repo))?;
    if only.is_none() {
        forget_pruned(&transaction, &sessions)?;
    }
    for stem in stems(&sessions, only) {
        session_files(&transaction, &sessions, stem, &mut done)?;
    }
    for (name, path) in logs(&session::runs_folder(repo))? {
        let name = format!("runs/{name}");
        let found = look(&path)?;
        let mark = Mark::find(&transaction, &name)?;
        match mark
            .as_ref()
            .map_or(Ok(Work::Anew), |m| m.work(&path, &found))?
        {
            Work::Nothing => {}
            Work::From(at) => run_file(&transaction, &name, &path, &found, at, &mut done)?,
            Work::Anew => run_file(&transaction, &name, &path, &found, 0, &mut done)?,
        }
    }
    transaction.commit().context("cannot write the mirror")?;
    Ok(done)
}

/// Takes out what came from logs that are no longer there.
fn forget_pruned(db: &Connection, files: &[(String, PathBuf)]) -> Result<()> {
    let mut statement =
        db.prepare_cached("SELECT origin, path FROM harness_marks WHERE path NOT LIKE 'runs/%'")?;
    let marks: Vec<(i64, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut was_billed = false;
    for (origin, path) in marks {
        if !files.iter().any(|(name, _)| *name == path) {
            // A call that was billed in this session may be told by another one too, whose
            // row had to stand back: then all is derived anew.
            was_billed |= db
                .prepare_cached(
                    "SELECT 1 FROM harness_extra WHERE origin = ?1 AND call_key IS NOT NULL",
                )?
                .exists([origin])?;
            forget(db, origin)?;
            db.execute("DELETE FROM harness_marks WHERE origin = ?1", [origin])?;
        }
    }
    if was_billed {
        db.execute(
            "UPDATE harness_marks SET inode = 0, size = -1 WHERE path NOT LIKE 'runs/%'",
            [],
        )?;
    }
    Ok(())
}

/// The logs in `folder`, by name.
fn logs(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(Vec::new());
    };
    let named = |entry: DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        name.ends_with(".jsonl").then(|| (name, entry.path()))
    };
    let mut found: Vec<_> = entries
        .filter_map(|entry| entry.ok().and_then(named))
        .collect();
    found.sort();
    Ok(found)
}

fn stems<'a>(files: &'a [(String, PathBuf)], only: Option<&'a str>) -> Vec<&'a str> {
    let mut stems: Vec<&str> = files
        .iter()
        .map(|(name, _)| {
            name.strip_suffix(IMPORT)
                .unwrap_or_else(|| &name[..name.len() - ".jsonl".len()])
        })
        .filter(|stem| only.is_none_or(|wanted| wanted == *stem))
        .collect();
    stems.dedup();
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// The live log of a session and what was imported of it: together, since one
/// fills the gaps of the other.
fn session_files(
    db: &Connection,
    files: &[(String, PathBuf)],
    stem: &str,
    done: &mut Ingested,
) -> Result<()> {
    let path = |name: &str| files.iter().find(|(n, _)| n == name).map(|(_, path)| path);
    let (live_name, import_name) = (format!("{stem}.jsonl"), format!("{stem}{IMPORT}"));
    let mut work = Vec::new();
    for name in [&live_name, &import_name] {
        if let Some(path) = path(name) {
            let found = look(path)?;
            let mark = Mark::find(db, name)?;
            let todo = mark
                .as_ref()
                .map_or(Ok(Work::Anew), |m| m.work(path, &found))?;
            work.push((name, path, found, mark, todo));
        }
    }
    if work.iter().all(|(.., todo)| *todo == Work::Nothing) {
        return Ok(());
    }
    // With both, or with a file that was replaced, everything is derived anew:
    // then the rows do not depend on the order in which the files grew.
    let alone = work.len() == 1;
    for (_, _, _, mark, todo) in &work {
        if let Some(mark) = mark
            && !(alone && matches!(todo, Work::From(_)))
        {
            forget(db, mark.origin)?;
        }
    }
    for (name, path, found, _, todo) in &work {
        let from = match todo {
            Work::From(at) if alone => *at,
            _ => 0,
        };
        let source = Source {
            origin: Mark::origin(db, name)?,
            is_imported: *name == &import_name,
        };
        let mut reader = Reader::open(path, from)?;
        while let Some(event) = reader.next_event()? {
            done.events += u64::from(add(db, &event, source)?);
        }
        finish(db, name, path, found, &reader, done)?;
    }
    Ok(())
}

fn run_file(
    db: &Connection,
    name: &str,
    path: &Path,
    found: &Metadata,
    from: u64,
    done: &mut Ingested,
) -> Result<()> {
    let mut reader = Reader::open(path, from)?;
    while let Some(event) = reader.next_event()? {
        done.events += u64::from(add_run(db, &event)?);
    }
    finish(db, name, path, found, &reader, done)
}

fn finish(
    db: &Connection,
    name: &str,
    path: &Path,
    found: &Metadata,
    reader: &Reader,
    done: &mut Ingested,
) -> Result<()> {
    let passed = reader.passed();
    let broken = passed.broken + passed.long;
    Mark::set(db, name, path, found, reader.offset(), broken)?;
    done.files += 1;
    done.broken += broken;
    Ok(())
}

fn look(path: &Path) -> Result<Metadata> {
    std::fs::metadata(path).with_context(|| format!("cannot look at '{}'", path.display()))
}
