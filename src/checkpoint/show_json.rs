//! A checkpoint as JSON: the promise to scripts.

use gix::bstr::ByteSlice;
use serde_json::{Value, json};

use crate::checkpoint::time::rfc3339;
use crate::git::quote::json_path;
use crate::lane::Checkpoint;

/// The object that `save`, `list`, `show` and `status` print for a checkpoint.
pub(super) fn checkpoint_json(checkpoint: &Checkpoint) -> Value {
    let record = &checkpoint.record;
    let skipped: Vec<Value> = record
        .skipped
        .iter()
        .map(|s| json!({"path": json_path(s.path.as_bstr()), "reason": s.reason}))
        .collect();
    json!({
        "number": record.number,
        "lane": record.lane,
        "ref": checkpoint.name,
        "commit": checkpoint.commit.to_string(),
        "tree": checkpoint.tree.to_string(),
        "time": rfc3339(checkpoint.time),
        "kind": record.kind.name(),
        "label": record.label,
        "tool": record.tool,
        "paths": record.paths.iter().map(|p| json_path(p.as_bstr())).collect::<Vec<_>>(),
        "call": record.call,
        "session": record.session,
        "after": record.after,
        "head": {
            "commit": record.head.commit.map(|id| id.to_string()),
            "branch": record.head.branch.as_ref().map(|b| json_path(b.as_bstr())),
        },
        "index": record.index.map(|id| id.to_string()),
        "skipped": skipped,
        "imported": record.imported,
        "raw": record.raw.iter().map(|p| json_path(p.as_bstr())).collect::<Vec<_>>(),
    })
}
