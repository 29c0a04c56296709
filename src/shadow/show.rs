//! `git shadow show`.

use clap::Args;

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::describe::{Standing, json_of, rfc3339};
use crate::shadow::task::{Task, short, shown};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    let standing = Standing::of(repo, &task);
    if arguments.json {
        ui.json(&json_of(&task, &standing))?;
        return Ok(Exit::Done);
    }
    let mut lines = Vec::new();
    let mut add = |key: &str, value: String| lines.push(format!("{:<9}{value}", format!("{key}:")));
    let branch = standing.branch.as_deref().or(task.branch.as_deref());
    add("Branch", branch.map_or("(detached)", short).to_owned());
    add("Path", shown(&task.path));
    add("Base", format!("{} ({})", task.base, task.base_name));
    if let Some(head) = standing.head {
        add("Head", head.to_string());
    }
    let state = match (&standing.reason, &standing.running) {
        (Some(reason), _) => format!("{}: {reason}", standing.state),
        (None, Some(process)) => format!("running, process {}", process.pid),
        (None, None) => standing.state.to_owned(),
    };
    add("State", state);
    if let Some(reason) = &standing.locked {
        add("Locked", reason.clone());
    }
    if let (Some(ahead), Some(behind)) = (standing.ahead, standing.behind) {
        let into = task.into.as_deref().map_or("its base", short);
        add(
            "Commits",
            format!("{ahead} ahead of, {behind} behind {into}"),
        );
    }
    if let Some(port) = task.port {
        add("Port", port.to_string());
    }
    for (name, port) in &task.ports {
        add("Port", format!("{port} {name}"));
    }
    for made in &task.manifest {
        let how = made.how.word();
        add(
            &format!("{}{}", how[..1].to_uppercase(), &how[1..]),
            shown(&made.path),
        );
    }
    for left in &task.left_out {
        add(
            "Left out",
            format!(" {} ({})", shown(&left.path), left.reason),
        );
    }
    for setup in &task.setup {
        let exit = setup
            .exit
            .map_or("killed".to_owned(), |code| format!("exit {code}"));
        add("Setup", format!("{exit}: {}", setup.command));
    }
    add("Created", rfc3339(task.created));
    writeln!(
        ui.out,
        "{}",
        ui.yellow(format_args!("shadow {}", task.task))
    )?;
    for line in lines {
        writeln!(ui.out, "{line}")?;
    }
    Ok(Exit::Done)
}
