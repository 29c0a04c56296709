//! What a command in a shadow finds in its environment.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use crate::error::{Context, Result, bail};
use crate::git::Repo;
use crate::shadow::name::short_hash;
use crate::shadow::place::repository_name;
use crate::shadow::task::Task;

/// The variables, in the order in which they are shown. The bytes of a path are kept.
pub(super) fn variables(
    repo: &Repo,
    task: &Task,
    session: Option<&str>,
) -> Vec<(String, std::ffi::OsString)> {
    let mut all: Vec<(String, std::ffi::OsString)> = vec![
        ("SHADOW_TASK".into(), task.task.clone().into()),
        (
            "SHADOW_BRANCH".into(),
            task.short_branch().unwrap_or_default().into(),
        ),
        ("SHADOW_BASE".into(), task.base.clone().into()),
        ("SHADOW_PATH".into(), task.path.clone().into()),
    ];
    if let Some(port) = task.port {
        all.push(("PORT".into(), port.to_string().into()));
    }
    for (name, port) in &task.ports {
        let name = name.to_ascii_uppercase().replace(['-', '.'], "_");
        all.push((format!("PORT_{name}"), port.to_string().into()));
    }
    all.push((
        "COMPOSE_PROJECT_NAME".into(),
        compose_name(repo, task).into(),
    ));
    all.push(("TMPDIR".into(), temporary(repo, task).into()));
    let session = session
        .map(str::to_owned)
        .or_else(|| std::env::var("HARNESS_SESSION").ok());
    if let Some(session) = session {
        all.push(("HARNESS_SESSION".into(), session.into()));
    }
    all
}

/// Names that compose takes: lower case, digits, `-` and `_`, a letter or digit first.
fn compose_name(repo: &Repo, task: &Task) -> String {
    let name: String = format!("{}-{}", repository_name(repo), task.slug)
        .to_lowercase()
        .chars()
        .map(|c| match c {
            'a'..='z' | '0'..='9' | '-' | '_' => c,
            _ => '-',
        })
        .collect();
    name.trim_start_matches(['-', '_']).to_owned()
}

/// The shadow's temporary folder: a short path, since sockets are made there
/// (`sun_path` has room for about 100 bytes).
pub(super) fn temporary(repo: &Repo, task: &Task) -> PathBuf {
    let whose = format!("{}\0{}", repo.common_dir().display(), task.task);
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("shadow-{user}-{}", short_hash(&whose)))
}

/// Makes that folder, for us alone.
///
/// # Errors
/// When it cannot be made, or somebody else has made it.
pub(super) fn make_temporary(repo: &Repo, task: &Task) -> Result<()> {
    let path = temporary(repo, task);
    let made = DirBuilder::new().mode(0o700).create(&path);
    match made {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let found = path.symlink_metadata().context("cannot look at it")?;
            if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() {
                return Ok(());
            }
            bail!("'{}' is not a folder of yours", path.display())
        }
        Err(e) => Err(e).with_context(|| format!("cannot make '{}'", path.display())),
    }
}
