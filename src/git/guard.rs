//! Refuses repositories that git refuses. gix opens a repository with an
//! extension that it does not know, and would write where git never looks.

use gix::config::Source;

use crate::error::{Result, hinted};

/// The extensions that git 2.39 to 2.53 know (git-config(1), `extensions.*`) and that we can serve.
const KNOWN: &[&str] = &[
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// Checks `core.repositoryFormatVersion` and `extensions.*` as git does (gitrepository-layout(5)).
///
/// # Errors
/// Names the version or the extension that is not known.
pub(super) fn check(repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config
        .integer("core.repositoryFormatVersion")
        .unwrap_or_default();
    if version > 1 {
        return Err(refused(&format!("repository format version {version}")));
    }
    if version == 0 {
        // git ignores unknown extensions in version 0.
        return Ok(());
    }
    let own = |meta: &gix::config::file::Metadata| meta.source == Source::Local;
    for section in config
        .plumbing()
        .sections_by_name("extensions")
        .into_iter()
        .flatten()
        .filter(|section| own(section.meta()))
    {
        for name in section.body().value_names() {
            let name = name.to_string().to_ascii_lowercase();
            if !KNOWN.contains(&name.as_str()) {
                return Err(refused(&format!("repository extension '{name}'")));
            }
        }
    }
    Ok(())
}

fn refused(what: &str) -> crate::error::Error {
    hinted(
        format!("unknown {what}"),
        "this repository was made by a newer git; nothing was changed",
    )
}
