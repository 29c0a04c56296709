//! The agent's process: found from a hook, and looked at later.

use serde_json::{Value, json};

use rustix::process::{Pid, getppid, test_kill_process};

/// The run and the phase that this process belongs to, as `phase` names them; null outside.
pub(crate) fn run() -> Value {
    let run = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let number = |text: String| text.parse::<u64>().ok();
    run("HARNESS_RUN").map_or(Value::Null, |id| {
        json!({"id": id, "phase": run("HARNESS_PHASE"), "attempt": run("HARNESS_ATTEMPT").and_then(number)})
    })
}

/// The process that called the hook, past the shell that some agents start it with.
pub(crate) fn agent() -> Option<u32> {
    if let Some(pid) = std::env::var("CLAUDE_PID")
        .ok()
        .and_then(|pid| pid.parse().ok())
    {
        return Some(pid);
    }
    let parent = number(getppid()?);
    match stat(parent) {
        Some(found)
            if ["sh", "bash", "dash", "zsh", "fish", "ksh"].contains(&found.name.as_str()) =>
        {
            Some(found.parent)
        }
        _ => Some(parent),
    }
}

/// When process `pid` began, in the system's own count; `None` where it does not say.
pub(crate) fn began(pid: u32) -> Option<u64> {
    stat(pid).map(|found| found.began)
}

/// Whether the process still runs; a number that was given again is not it.
pub(crate) fn is_alive(pid: u32, began_then: Option<u64>) -> bool {
    let Some(known) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    match test_kill_process(known) {
        Ok(()) | Err(rustix::io::Errno::PERM) => match (began_then, stat(pid)) {
            (Some(then), Some(now)) => then == now.began && !now.is_dead,
            _ => true,
        },
        Err(_) => false,
    }
}

struct Stat {
    name: String,
    parent: u32,
    began: u64,
    is_dead: bool,
}

/// `/proc/<pid>/stat` (proc(5)); nothing where there is no such file.
fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = text.rsplit_once(')')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some(Stat {
        name: head.split_once('(')?.1.to_owned(),
        is_dead: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        began: fields.get(19)?.parse().ok()?,
    })
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
