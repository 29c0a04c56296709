//! What a tool does to files: whether it only reads, which paths it names.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::trajectory::agent::Call;

/// The tools of one agent, and what the user added.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    agent: String,
    also_read_only: Vec<String>,
}

/// What a call is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Reads, and nothing else.
    Reads,
    /// Writes these paths.
    Writes(Vec<PathBuf>),
    /// Runs a command that may write anything.
    Runs(String),
    /// Nobody can say; these paths are named.
    Unknown(Vec<PathBuf>),
}

impl Tools {
    /// The tools of `agent`; `also_read_only` is `trajectory.readOnlyTool`.
    pub(crate) fn new(agent: &str, also_read_only: Vec<String>) -> Self {
        Tools {
            agent: agent.to_owned(),
            also_read_only,
        }
    }

    /// What `call` is about to do, paths taken from `cwd`.
    pub(crate) fn doing(&self, call: &Call, cwd: &Path) -> Doing {
        let tool = call.tool.as_str();
        if self.reads(tool) {
            return Doing::Reads;
        }
        if let Some(command) = command(&self.agent, call) {
            return if only_reads(&command) {
                Doing::Reads
            } else {
                Doing::Runs(command)
            };
        }
        let paths = paths(call, cwd);
        if WRITERS.contains(&tool) && !paths.is_empty() {
            Doing::Writes(paths)
        } else {
            Doing::Unknown(paths)
        }
    }

    fn reads(&self, tool: &str) -> bool {
        let known: &[&str] = match self.agent.as_str() {
            "claude" => &[
                "Read",
                "Glob",
                "Grep",
                "LS",
                "WebFetch",
                "WebSearch",
                "TodoWrite",
                "TodoRead",
                "NotebookRead",
                "BashOutput",
                "TaskOutput",
                "TaskGet",
                "TaskList",
                "ToolSearch",
                "AskUserQuestion",
                "ListMcpResourcesTool",
                "ReadMcpResourceTool",
            ],
            "codex" => &[
                "update_plan",
                "view_image",
                "web_search",
                "collaborationwait_agent",
                "list_mcp_resources",
                "read_mcp_resource",
            ],
            "gemini" => &[
                "read_file",
                "read_many_files",
                "list_directory",
                "glob",
                "search_file_content",
                "grep_search",
                "google_web_search",
                "web_fetch",
                "write_todos",
                "complete_task",
                "get_internal_docs",
            ],
            "opencode" => &[
                "read",
                "glob",
                "grep",
                "list",
                "webfetch",
                "websearch",
                "todowrite",
                "todoread",
                "question",
                "skill",
            ],
            "pi" => &["read", "grep", "find", "ls"],
            _ => &[],
        };
        known.contains(&tool) || self.also_read_only.iter().any(|own| own == tool)
    }
}

/// Tools that write the paths they name, and nothing else.
const WRITERS: &[&str] = &[
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "write",
    "edit",
    "multiedit",
    "patch",
    "apply_patch",
    "write_file",
    "replace",
];

/// The shell command of a call, when it is one.
fn command(agent: &str, call: &Call) -> Option<String> {
    let is_shell = matches!(
        call.tool.as_str(),
        "Bash"
            | "bash"
            | "shell"
            | "run_shell_command"
            | "exec_command"
            | "local_shell"
            | "PowerShell"
            | "powershell"
    );
    if !is_shell {
        return None;
    }
    let _ = agent;
    let input = &call.input;
    let given = input.get("command").or_else(|| input.get("cmd"))?;
    Some(match given {
        Value::String(text) => text.clone(),
        Value::Array(words) => words
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    })
}

/// Programs that write nothing, whatever their arguments.
const READERS: &[&str] = &[
    "basename", "cat", "cd", "cut", "date", "df", "dirname", "du", "echo", "false", "file", "grep",
    "head", "hostname", "id", "ls", "nl", "printf", "pwd", "readlink", "realpath", "stat", "tail",
    "test", "tr", "true", "type", "uname", "wc", "which", "whoami", "[", "rg", "cmp", "comm",
];

/// git's commands that write nothing, not even the index.
const GIT_READERS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
];

/// Whether every word of `command` is known to write nothing: simple commands
/// joined by `&&`, `||`, `;` or `|`, without redirection or substitution.
pub(crate) fn only_reads(command: &str) -> bool {
    // Quotes could hide anything that the simple split below would misread.
    if command.contains(['>', '<', '`', '$', '\\', '\n', '&', '(', ')', '{', '}', '!'])
        && !joins_only(command)
    {
        return false;
    }
    let parts: Vec<&str> = command
        .split(['|', ';'])
        .flat_map(|part| part.split("&&"))
        .map(str::trim)
        .collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    !parts.is_empty() && parts.iter().all(|part| reads(part))
}

/// Whether the only sign of danger is `&&`.
fn joins_only(command: &str) -> bool {
    let without = command.replace("&&", "");
    !without.contains(['>', '<', '`', '$', '\\', '\n', '&', '(', ')', '{', '}', '!'])
}

/// Beginnings of options of git that write a file or run a program; git takes an option
/// by any beginning that is clear.
const GIT_WRITES: &[&str] = &["--ou", "--op", "--ex", "--te", "--fi"];

fn reads(part: &str) -> bool {
    // A quote within a word changes nothing for the shell.
    let words: Vec<String> = part
        .split_whitespace()
        .map(|word| word.replace(['"', '\''], ""))
        .collect();
    let Some((program, rest)) = words.split_first() else {
        return true;
    };
    let has_short = |letter: char| {
        rest.iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let has = |beginnings: &[&str]| {
        rest.iter()
            .any(|word| beginnings.iter().any(|begin| word.starts_with(begin)))
    };
    match program.as_str() {
        "git" => {
            rest.first()
                .is_some_and(|sub| GIT_READERS.contains(&sub.as_str()))
                && !has(GIT_WRITES)
                && !has_short('O')
        }
        // They run a program.
        "rg" => !has(&["--pre", "--hostname-bin"]),
        // It writes what it has compiled.
        "file" => !has(&["--c"]) && !has_short('C'),
        // `date -s` sets the clock, which is no file of ours.
        program => READERS.contains(&program),
    }
}

/// The paths that the arguments of a writing tool name.
fn paths(call: &Call, cwd: &Path) -> Vec<PathBuf> {
    let input = &call.input;
    if let Some(patch) = patch(call) {
        return patched(&patch)
            .into_iter()
            .map(|path| cwd.join(path))
            .collect();
    }
    let mut found: Vec<PathBuf> = [
        "file_path",
        "filePath",
        "notebook_path",
        "path",
        "absolute_path",
    ]
    .iter()
    .filter_map(|name| input.get(name).and_then(Value::as_str))
    .map(|path| cwd.join(path))
    .collect();
    found.dedup();
    found
}

fn patch(call: &Call) -> Option<String> {
    let text = match &call.input {
        Value::String(text) => text.as_str(),
        input => ["command", "patchText", "patch", "input"]
            .iter()
            .find_map(|name| input.get(name).and_then(Value::as_str))?,
    };
    text.contains("*** Begin Patch").then(|| text.to_owned())
}

/// The paths in a patch of the form that models write.
fn patched(patch: &str) -> Vec<String> {
    patch
        .lines()
        .filter_map(|line| {
            [
                "*** Add File: ",
                "*** Update File: ",
                "*** Delete File: ",
                "*** Move to: ",
            ]
            .iter()
            .find_map(|head| line.strip_prefix(head))
        })
        .map(|path| path.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_simple_readers_read() {
        for command in [
            "ls -la",
            "cat a b | head -3",
            "git log --oneline && git show HEAD",
            "pwd; ls",
            "git log --oneline -3",
            "file a.out",
            "rg -n 'x' src",
        ] {
            assert!(only_reads(command), "{command}");
        }
        for command in [
            "cat a > b",
            "echo $(rm x)",
            "ls; rm x",
            "git checkout x",
            "sed -i s/a/b/ x",
            "cat a |& tee b",
            "find . -delete",
            "git log --output=x",
            "echo a & rm b",
            "",
            "rg --pre x y",
            "rg '--pre=x' y",
            "rg --hostname-bin x y",
            "git log '--output=x'",
            "git log --outp\"ut\"=x",
            "git grep --open-files-in-pager=x y",
            "git grep --open-f=x y",
            "git grep -nOx y",
            "git cat-file --filters HEAD:x",
            "file -C -m x",
            "file -bC",
            "file --compile",
            "sort -o a b",
            "env rm x",
        ] {
            assert!(!only_reads(command), "{command}");
        }
    }

    #[test]
    fn a_call_names_what_it_writes() {
        let tools = Tools::new("codex", Vec::new());
        let call = |tool: &str, input: Value| Call {
            id: None,
            tool: tool.into(),
            input,
        };
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b/c.txt\n*** Move to: d.txt\n*** End Patch\n";
        assert_eq!(
            tools.doing(
                &call("apply_patch", json!({"command": patch})),
                Path::new("/r")
            ),
            Doing::Writes(vec![
                "/r/a.txt".into(),
                "/r/b/c.txt".into(),
                "/r/d.txt".into()
            ])
        );
        assert_eq!(
            tools.doing(&call("Bash", json!({"command": "make"})), Path::new("/r")),
            Doing::Runs("make".into())
        );
        let claude = Tools::new("claude", vec!["mcp__x__look".into()]);
        assert_eq!(
            claude.doing(&call("mcp__x__look", json!({})), Path::new("/r")),
            Doing::Reads
        );
        assert_eq!(
            claude.doing(&call("mcp__x__do", json!({})), Path::new("/r")),
            Doing::Unknown(Vec::new())
        );
        assert_eq!(
            claude.doing(&call("mcp__fs__put", json!({"path": "x"})), Path::new("/r")),
            Doing::Unknown(vec!["/r/x".into()])
        );
        assert_eq!(
            claude.doing(
                &call("Write", json!({"file_path": "/r/x"})),
                Path::new("/r")
            ),
            Doing::Writes(vec!["/r/x".into()])
        );
    }
}
