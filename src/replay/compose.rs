//! The entries of a new journal.

use gix::ObjectId;

use crate::replay::journal::container::Form;
use crate::replay::journal::extension::Extension;
use crate::replay::journal::write::{container, json, object};
use crate::replay::journal::{Failure, Identity, Usage};
use crate::replay::object::RawCommit;
use serde_json::{Value, json};

/// What came of one prompt, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) prompt: String,
    /// The value of `x.prompt`, when the text is not the whole prompt.
    pub(super) marks: Option<Value>,
    /// Entries of events, complete.
    pub(super) events: Vec<String>,
    pub(super) usage: Option<Usage>,
    pub(super) duration_ms: Option<u64>,
    pub(super) failure: Option<Failure>,
}

/// The commits of a run.
#[derive(Debug, Default)]
pub(super) struct Commits {
    pub(super) baseline: Option<(ObjectId, ObjectId)>,
    pub(super) commits: Vec<(ObjectId, RawCommit, String)>,
    pub(super) unavailable: Option<String>,
    pub(super) is_lossless: bool,
    pub(super) branch: Option<String>,
}

/// A whole journal of one dispatch.
pub(super) fn journal(parts: &[Part], commits: &Commits, form: Form) -> String {
    let mut entries = vec![entry("dispatch-start", "sandbox", &[])];
    for part in parts {
        let x = part
            .marks
            .as_ref()
            .map(|marks| json(json!({"v": 1, "prompt": marks})));
        entries.push(entry(
            "prompt",
            "agent",
            &[("text", Some(json(part.prompt.as_str()))), ("x", x)],
        ));
        entries.extend(part.events.iter().cloned());
        entries.push(match &part.failure {
            Some(failure) => entry(
                "failure",
                "agent",
                &[("message", Some(json(failure.message.as_str())))],
            ),
            None => entry(
                "summary",
                "agent",
                &[
                    (
                        "durationMs",
                        Some(part.duration_ms.unwrap_or(0).to_string()),
                    ),
                    ("status", Some("0".into())),
                    ("tokens", Some(tokens(part.usage))),
                ],
            ),
        });
    }
    entries.push(workspace(commits));
    entries.push(finished(parts, commits));
    container(&entries, form)
}

/// One entry without line breaks.
pub(super) fn entry(kind: &str, source: &str, fields: &[(&str, Option<String>)]) -> String {
    let mut all = vec![("kind", Some(json(kind))), ("source", Some(json(source)))];
    all.extend_from_slice(fields);
    object(&all)
}

/// Counts that must stand there; what is not known is marked as not complete.
fn tokens(usage: Option<Usage>) -> String {
    let usage = usage.unwrap_or(Usage {
        complete: Some(false),
        ..Usage::default()
    });
    serde_json::to_string(&usage).unwrap_or_default()
}

fn workspace(commits: &Commits) -> String {
    let baseline = commits.baseline.map(|(commit, tree)| {
        object(&[
            ("commit", Some(json(commit.to_string()))),
            ("tree", Some(json(tree.to_string()))),
        ])
    });
    let listed: Vec<String> = commits
        .commits
        .iter()
        .map(|(id, raw, patch)| commit(*id, raw, patch, commits.is_lossless))
        .collect();
    let listed = (commits.unavailable.is_none() || !listed.is_empty())
        .then(|| format!("[{}]", listed.join(",")));
    entry(
        "workspace-commits",
        "git",
        &[
            ("unavailable", commits.unavailable.as_deref().map(json)),
            ("baseline", baseline),
            ("commits", listed),
        ],
    )
}

/// One commit: the readable fields, the patch, and its bytes.
pub(super) fn commit(id: ObjectId, raw: &RawCommit, patch: &str, is_lossless: bool) -> String {
    let identity = |name: &str| {
        let identity = raw
            .field(name)
            .map(|value| Identity::shown(value))
            .unwrap_or_default();
        object(&[
            ("name", Some(json(identity.name))),
            ("email", Some(json(identity.email))),
            ("date", Some(json(identity.date))),
        ])
    };
    let message = String::from_utf8_lossy(raw.message.as_deref().unwrap_or_default());
    object(&[
        ("oid", Some(json(id.to_string()))),
        ("tree", raw.tree().map(|tree| json(tree.to_string()))),
        ("author", Some(identity("author"))),
        ("committer", Some(identity("committer"))),
        ("message", Some(json(message))),
        ("patch", Some(json(patch))),
        ("x", is_lossless.then(|| Extension::value(raw).to_string())),
    ])
}

fn finished(parts: &[Part], commits: &Commits) -> String {
    let failure = parts.last().and_then(|part| part.failure.as_ref());
    let usage = parts
        .iter()
        .filter_map(|part| part.usage)
        .reduce(Usage::plus);
    let newest: Vec<Value> = commits
        .commits
        .iter()
        .rev()
        .map(|(id, raw, _)| {
            let message = String::from_utf8_lossy(raw.message.as_deref().unwrap_or_default());
            json!({"oid": id.to_string(), "subject": message.lines().next().unwrap_or_default()})
        })
        .collect();
    entry(
        "dispatch-finished",
        "sandbox",
        &[
            (
                "status",
                Some(json(if failure.is_some() { "failed" } else { "done" })),
            ),
            ("completed", Some(json(failure.is_none()))),
            ("usage", Some(tokens(usage))),
            ("branch", commits.branch.as_deref().map(json)),
            ("commits", Some(json(newest))),
            (
                "error",
                failure.map(|f| json(json!({"code": f.code, "message": f.message}))),
            ),
        ],
    )
}
