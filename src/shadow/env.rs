//! `git shadow env`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use clap::{Args, ValueEnum};
use gix::bstr::ByteSlice;
use serde_json::{Map, Value};

use crate::cli::Exit;
use crate::error::Result;
use crate::git::Repo;
use crate::git::quote::json_path;
use crate::shadow::environment;
use crate::shadow::task::Task;
use crate::ui::Ui;

#[derive(Args)]
pub(super) struct Arguments {
    /// The shadow
    #[arg(value_name = "task")]
    task: String,
    /// For a shell to read, as a .env file, or as JSON
    #[arg(
        long,
        value_name = "format",
        require_equals = true,
        default_value = "shell"
    )]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Shell,
    Dotenv,
    Json,
}

pub(super) fn run(repo: &Repo, arguments: Arguments, ui: &mut Ui) -> Result<Exit> {
    let task = Task::require(repo, &arguments.task)?;
    environment::make_temporary(repo, &task)?;
    let variables = environment::variables(repo, &task, None);
    if let Format::Json = arguments.format {
        let object: Map<String, Value> = variables
            .into_iter()
            .map(|(name, value)| (name, json_path(value.as_bytes().as_bstr())))
            .collect();
        ui.json(&object)?;
        return Ok(Exit::Done);
    }
    for (name, value) in variables {
        let (before, value) = match arguments.format {
            Format::Shell => ("export ", shell_word(&value)),
            _ => ("", dotenv_word(&value)),
        };
        ui.out.write_all(format!("{before}{name}=").as_bytes())?;
        ui.out.write_all(&value)?;
        writeln!(ui.out)?;
    }
    Ok(Exit::Done)
}

/// `value` so that a shell takes it as one word.
fn shell_word(value: &OsStr) -> Vec<u8> {
    let bytes = value.as_bytes();
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_./:@%+,".contains(b);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return bytes.to_owned();
    }
    let mut word = b"'".to_vec();
    for byte in bytes {
        match byte {
            b'\'' => word.extend(b"'\\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}

/// `value` in double quotes where it needs them.
fn dotenv_word(value: &OsStr) -> Vec<u8> {
    let bytes = value.as_bytes();
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"-_./:@%+,".contains(b);
    if bytes.iter().all(is_plain) {
        return bytes.to_owned();
    }
    let mut word = b"\"".to_vec();
    for byte in bytes {
        if b"\"\\$`".contains(byte) {
            word.push(b'\\');
        }
        word.push(*byte);
    }
    word.push(b'"');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_one_word() {
        assert_eq!(shell_word(OsStr::new("/a/b-1")), b"/a/b-1");
        assert_eq!(shell_word(OsStr::new("it's a $x")), b"'it'\\''s a $x'");
        assert_eq!(shell_word(OsStr::new("")), b"''");
        assert_eq!(
            dotenv_word(OsStr::new("a \"b\" $c")),
            b"\"a \\\"b\\\" \\$c\""
        );
    }
}
