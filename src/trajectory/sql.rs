//! `git trajectory sql`.

use clap::Args;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::cli::Exit;
use crate::error::{Context, Result};
use crate::git::Repo;
use crate::trajectory::fresh::Freshness;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// One statement that reads
    query: String,
    /// Print one JSON object a row
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV with a header
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    freshness: Freshness,
}

pub(super) fn run(repo: &Repo, arguments: &Arguments, ui: &mut Ui) -> Result<Exit> {
    let db = arguments.freshness.mirror(repo, ui)?;
    let mut statement = db
        .prepare(&arguments.query)
        .context("cannot understand the query")?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if arguments.csv {
        let header: Vec<String> = names.iter().map(|n| csv(n)).collect();
        writeln!(ui.out, "{}", header.join(","))?;
    }
    let mut rows = statement.query([]).context("cannot run the query")?;
    while let Some(row) = rows.next().context("cannot run the query")? {
        let mut cells = Vec::with_capacity(names.len());
        for n in 0..names.len() {
            cells.push(json_of(row.get_ref(n)?));
        }
        if arguments.json {
            let object: Map<String, Value> = names.iter().cloned().zip(cells).collect();
            ui.json(&object)?;
        } else {
            let (sign, cells): (&str, Vec<String>) = if arguments.csv {
                (",", cells.iter().map(|c| csv(&plain(c))).collect())
            } else {
                ("|", cells.iter().map(plain).collect())
            };
            writeln!(ui.out, "{}", cells.join(sign))?;
        }
    }
    Ok(Exit::Done)
}

fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// RFC 4180.
fn csv(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
