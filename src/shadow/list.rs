//! `git shadow list`.

use clap::Args;
use gix::bstr::{BString, ByteSlice};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::shadow::base::span;
use crate::shadow::describe::{Standing, exclusive_bytes, json_of};
use crate::shadow::overlap;
use crate::shadow::process::now;
use crate::shadow::task::{Task, short, shown};
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// Also what each differs by, its disk use, and what would conflict
    #[arg(short, long)]
    verbose: bool,
    /// Print an array of JSON objects
    #[arg(long)]
    json: bool,
}

/// Why a shadow is broken of which only the file is there.
const UNREADABLE: &str = "its record is torn, or of a later version";

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let tasks = Task::all(repo)?;
    let torn = Task::unreadable(repo)?;
    let shared = repo.common_dir().to_owned();
    // Each thread looks by a handle of its own, from the folder that all of them share.
    let standings: Vec<Standing> = tasks
        .par_iter()
        .map_init(
            || Repo::at(&shared).ok(),
            |own, task| match own {
                Some(own) => Standing::of(own, task),
                None => Standing::default(),
            },
        )
        .collect();
    if arguments.json {
        let torn = torn
            .iter()
            .map(|slug| json!({"task": slug, "state": "broken", "reason": UNREADABLE}));
        let all: Vec<Value> = tasks
            .iter()
            .zip(&standings)
            .map(|(task, standing)| json_of(task, standing))
            .chain(torn)
            .collect();
        ui.json(&all)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<[String; 6]> = tasks.iter().zip(&standings).map(row).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let touched = match arguments.verbose {
        true => overlap::touched(repo, &tasks, &standings)?,
        false => Vec::new(),
    };
    for (at, (row, task)) in rows.iter().zip(&tasks).enumerate() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        line.push_str(&shown(&task.path));
        writeln!(ui.out, "{}", line.trim_end())?;
        if let Some(reason) = &standings[at].reason {
            writeln!(ui.out, "    {reason}")?;
        }
        if arguments.verbose {
            more(repo, at, &tasks, &standings, &touched, ui)?;
        }
    }
    for slug in &torn {
        writeln!(ui.out, "{slug}  broken\n    {UNREADABLE}")?;
    }
    Ok(Exit::Done)
}

fn row((task, standing): (&Task, &Standing)) -> [String; 6] {
    let branch = standing.branch.as_deref().or(task.branch.as_deref());
    let state = match &standing.running {
        Some(process) => format!("running {}", process.pid),
        None => standing.state.to_owned(),
    };
    let state = match &standing.locked {
        Some(_) => format!("{state}, locked"),
        None => state,
    };
    let counts = match (standing.ahead, standing.behind) {
        (Some(ahead), Some(behind)) => format!("+{ahead} -{behind}"),
        _ => "?".to_owned(),
    };
    [
        task.task.clone(),
        branch.map_or("(detached)", short).to_owned(),
        state,
        counts,
        standing
            .changed
            .map_or("?".to_owned(), |time| span(now() - time)),
        task.port.map_or("-".to_owned(), |port| port.to_string()),
    ]
}

/// The lines that `-v` adds below a shadow.
fn more(
    repo: &Repo,
    at: usize,
    tasks: &[Task],
    standings: &[Standing],
    touched: &[Vec<BString>],
    ui: &mut Ui,
) -> Result<()> {
    let task = &tasks[at];
    let bytes = exclusive_bytes(&task.path);
    let files = touched[at].len();
    writeln!(
        ui.out,
        "    {files} files differ from the base, {} KiB on disk",
        bytes >> 10
    )?;
    if let Some(conflicts) = overlap::conflicts(repo, task, &standings[at])? {
        let text = match conflicts.as_slice() {
            [] => "merges cleanly".to_owned(),
            paths => format!("would conflict in {}", joined(paths)),
        };
        let into = task.into.as_deref().map_or("the base", short);
        writeln!(ui.out, "    {into}: {text}")?;
    }
    for (other, paths) in tasks.iter().zip(touched) {
        let both: Vec<BString> = paths
            .iter()
            .filter(|p| touched[at].contains(p))
            .cloned()
            .collect();
        if other.task != task.task && !both.is_empty() {
            writeln!(ui.out, "    {} also changes {}", other.task, joined(&both))?;
        }
    }
    Ok(())
}

fn joined(paths: &[BString]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(5)
        .map(|path| crate::git::quote::quoted(path.as_bstr()))
        .collect();
    match paths.len() {
        n if n > 5 => format!("{} and {} more", shown.join(", "), n - 5),
        _ => shown.join(", "),
    }
}
