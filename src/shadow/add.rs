//! `git shadow add`.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli::Exit;
use crate::error::{Result, bail};
use crate::git::Repo;
use crate::shadow::base::{self, Base};
use crate::shadow::describe::task_json;
use crate::shadow::dress::Wanted;
use crate::shadow::make::{self, Story, Wish};
use crate::shadow::task::{How, Task, path_json, short, shown};
use crate::snapshot::sink::Writing;
use crate::snapshot::take::{self, take};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// Name of the task
    #[arg(value_name = "task")]
    task: String,
    /// Commit to begin at; without it, HEAD
    #[arg(value_name = "base")]
    base: Option<String>,
    /// Make several, <task>-<name> each, from one base
    #[arg(long = "as", value_name = "name", value_delimiter = ',')]
    names: Vec<String>,
    /// Name of the branch
    #[arg(short, long, value_name = "branch", conflicts_with_all = ["detach", "names"])]
    branch: Option<String>,
    /// Make no branch
    #[arg(long)]
    detach: bool,
    /// Folder of the shadow
    #[arg(long, value_name = "dir", conflicts_with = "names")]
    path: Option<PathBuf>,
    /// Begin with the files as they are here, uncommitted changes too
    #[arg(long, conflicts_with = "base")]
    from_dirty: bool,
    /// Fetch before the base is looked up
    #[arg(long)]
    fetch: bool,
    /// What becomes of sparse patterns
    #[arg(
        long,
        value_name = "how",
        require_equals = true,
        default_value = "inherit"
    )]
    sparse: Sparse,
    /// Bring no dependencies
    #[arg(long)]
    no_deps: bool,
    /// Copy no ignored files
    #[arg(long)]
    no_copy: bool,
    /// Run no set-up commands
    #[arg(long)]
    no_setup: bool,
    /// Show what would be made
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    /// Print the shadow as JSON, one object a line
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sparse {
    Inherit,
    None,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    ui.set_quiet(arguments.quiet);
    let start = Instant::now();
    let head = repo.head()?;
    if arguments.fetch {
        base::fetch(repo, arguments.base.as_deref(), &head)?;
    }
    let base = Base::resolve(repo, arguments.base.as_deref(), &head)?;
    let prefix = repo
        .config_text("shadow.branchPrefix")
        .unwrap_or_else(|| "agent/".to_owned());
    let names: Vec<String> = match arguments.names.is_empty() {
        true => vec![arguments.task.clone()],
        false => arguments
            .names
            .iter()
            .map(|name| format!("{}-{name}", arguments.task))
            .collect(),
    };
    let files = match arguments.from_dirty {
        true => Some(dirty_tree(repo, &base)?),
        false => None,
    };
    let mut exit = Exit::Done;
    for name in &names {
        let branch = arguments
            .branch
            .clone()
            .unwrap_or_else(|| format!("{prefix}{name}"));
        let wish = Wish {
            task: name,
            branch: (!arguments.detach).then_some(branch),
            path: arguments.path.clone(),
            base: &base,
            head: &head,
            files,
            full: arguments.sparse == Sparse::None,
            wanted: Wanted {
                deps: !arguments.no_deps,
                copies: !arguments.no_copy,
            },
            setup: !arguments.no_setup,
        };
        if arguments.dry_run {
            let task = make::plan(repo, &wish)?;
            print(repo, &task, arguments.json, ui)?;
            ui.note(format_args!("would begin at {}", base.describe(repo)));
            continue;
        }
        let (task, story) = make::make(repo, &wish)?;
        print(repo, &task, arguments.json, ui)?;
        tell(repo, &task, &base, &story, ui);
        let failed = task.setup.iter().any(|s| s.exit != Some(0))
            || story
                .hook
                .as_ref()
                .is_some_and(|(_, exit)| *exit != Some(0));
        if failed {
            exit = Exit::No;
        }
    }
    ui.note(format_args!("{:.2} s", start.elapsed().as_secs_f64()));
    Ok(exit)
}

fn dirty_tree(repo: &Repo, base: &Base) -> Result<gix::ObjectId> {
    if repo.head()?.commit != Some(base.commit) {
        bail!(
            "--from-dirty begins at HEAD, but shadow.base names '{}'",
            base.name
        );
    }
    let snapshot = take(
        repo,
        &take::Request {
            writing: Writing::Fast,
            ..take::Request::default()
        },
    )?;
    let tree = snapshot.tree;
    snapshot.sink.finish()?;
    Ok(tree)
}

fn print(repo: &Repo, task: &Task, as_json: bool, ui: &mut Ui) -> Result<()> {
    if as_json {
        let mut object = task_json(repo, task)?;
        if task.entry.is_none() {
            // A dry run: nothing is there to be looked at.
            object = json!({
                "task": task.task, "branch": task.short_branch(), "path": path_json(&task.path),
                "base": task.base, "state": "planned",
            });
        }
        return ui.json(&object);
    }
    use std::os::unix::ffi::OsStrExt;
    ui.out.write_all(task.path.as_os_str().as_bytes())?;
    writeln!(ui.out)?;
    Ok(())
}

/// The story, on stderr.
fn tell(repo: &Repo, task: &Task, base: &Base, story: &Story, ui: &mut Ui) {
    if story.continued {
        ui.note("continued an 'add' that had been cut short");
    }
    if !story.otherwise.is_empty() {
        ui.warn(format_args!(
            "'{}' is as that 'add' was told: another {} needs 'git shadow remove {}' first",
            task.task,
            story.otherwise.join(" and "),
            task.task
        ));
    }
    let branch = task.branch.as_deref().map_or("detached", short);
    ui.note(format_args!("{branch} at {}", base.describe(repo)));
    if let Some(port) = task.port {
        ui.note(format_args!("port {port}"));
    }
    for made in &task.manifest {
        let shared = match made.how {
            How::Linked => " (shared: an install here changes yours)",
            _ => "",
        };
        ui.note(format_args!(
            "{} {}{shared}",
            made.how.word(),
            shown(&made.path)
        ));
    }
    for left in &task.left_out {
        ui.note(format_args!(
            "left out {}: {}",
            shown(&left.path),
            left.reason
        ));
    }
    if !task.left_out.is_empty() && task.setup.is_empty() {
        ui.note(
            "hint: 'git config --add shadow.setup \"npm ci\"' installs them in each new shadow",
        );
    }
    if let Some((hook, exit)) = &story.hook {
        match exit {
            Some(0) => ui.note(format_args!("ran the hook '{}'", shown(hook))),
            _ => ui.warn(format_args!(
                "the hook '{}' failed; the shadow stays",
                shown(hook)
            )),
        }
    }
    for setup in task.setup.iter().filter(|s| s.exit != Some(0)) {
        ui.warn(format_args!(
            "set-up failed; the shadow stays: {}",
            setup.command
        ));
    }
}
