//! `git trajectory sql`.

use clap::Args;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::cli::Exit;
use crate::error::{Context, Result, ensure};
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
    db.pragma_update(None, "query_only", true)?;
    let mut statement = db
        .prepare(&arguments.query)
        .context("cannot understand the query")?;
    ensure!(
        statement.readonly() && only_reads(&arguments.query),
        "only a statement that reads is run: SELECT, WITH, VALUES, EXPLAIN or a PRAGMA that tells"
    );
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

/// Pragmas that change nothing, whatever stands behind them.
const TELLING: &[&str] = &[
    "table_info",
    "table_xinfo",
    "table_list",
    "index_info",
    "index_list",
    "database_list",
    "compile_options",
    "function_list",
];

/// Whether the first word is one of a statement that reads. SQLite calls ATTACH and
/// VACUUM INTO reading too, and both write files elsewhere.
fn only_reads(query: &str) -> bool {
    let mut rest = query.trim_start();
    loop {
        let behind = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n')
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/")
        } else {
            break;
        };
        rest = behind.map_or("", |(_, behind)| behind).trim_start();
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (word, behind) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    if is("pragma") {
        let behind = behind.trim_start();
        let name = &behind[..behind.find(|c| !is_name(c)).unwrap_or(behind.len())];
        return TELLING.iter().any(|known| known.eq_ignore_ascii_case(name));
    }
    ["select", "with", "values", "explain"]
        .iter()
        .any(|known| is(known))
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
