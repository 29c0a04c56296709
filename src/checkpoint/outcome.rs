//! How an undo or redo is told: in words, and as JSON.

use std::collections::BTreeSet;

use gix::bstr::{BString, ByteSlice};
use serde_json::{Value, json};

use crate::checkpoint::others::Foreign;
use crate::checkpoint::restore::{Outcome, Restored};
use crate::cli::Exit;
use crate::error::Result;
use crate::git::quote::{json_path, quoted};
use crate::lane::Checkpoint;
use crate::snapshot::restore::plan::{LeftAlone, Plan};
use crate::ui::{Ui, listed};

/// Tells `outcome`; `exact` is whether a target was named, so that "nothing to
/// do" is what was asked for.
pub(super) fn tell(
    outcome: &Outcome,
    redo: bool,
    exact: bool,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit> {
    match outcome {
        Outcome::Same => same(redo, exact, json, ui),
        Outcome::Undecided {
            target,
            plan,
            foreign,
            mass,
            asked,
        } => undecided(target, plan, foreign, (*mass, *asked), json, ui),
        Outcome::Planned {
            target,
            plan,
            foreign,
            assumed,
        } => planned(target, plan, foreign, assumed, json, ui),
        Outcome::Restored(restored) => done(restored, redo, json, ui),
    }
}

fn same(redo: bool, exact: bool, json: bool, ui: &mut Ui) -> Result<Exit> {
    if json {
        ui.json(&json!({
            "restored": null, "safety": null, "written": [], "deleted": [], "kept": [],
            "left_alone": [], "verified": true,
        }))?;
    }
    if exact {
        ui.note("the working tree is already as it was then");
        return Ok(Exit::Done);
    }
    ui.say(if redo {
        "nothing to redo"
    } else {
        "nothing to undo"
    });
    Ok(Exit::No)
}

fn undecided(
    target: &Checkpoint,
    plan: &Plan,
    foreign: &[Foreign],
    (mass, asked): (bool, bool),
    json: bool,
    ui: &mut Ui,
) -> Result<Exit> {
    if json {
        let mut value = plan_json(target, plan, foreign);
        value["needs"] = json!("others");
        ui.json(&value)?;
    }
    if asked {
        ui.say("nothing was changed");
    } else {
        let lines: Vec<String> = foreign.iter().map(Foreign::line).collect();
        if mass {
            ui.say(
                "error: this deletes more than half of all files, and there is no terminal to ask",
            );
            ui.say("hint: nothing was changed; '--others=revert' does it");
        } else {
            ui.say(format_args!(
                "error: not by an agent, as far as is known, and there is no terminal to ask:\n{}",
                listed(&lines)
            ));
            ui.say("hint: nothing was changed; '--others=keep' leaves these as they are, '--others=revert' undoes them too");
        }
    }
    Ok(Exit::No)
}

fn planned(
    target: &Checkpoint,
    plan: &Plan,
    foreign: &[Foreign],
    assumed: &BTreeSet<BString>,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit> {
    if json {
        let mut value = plan_json(target, plan, foreign);
        value["assumed"] = assumed.iter().map(|p| json_path(p.as_bstr())).collect();
        ui.json(&value)?;
        return Ok(Exit::Done);
    }
    writeln!(ui.out, "would restore {}", name(target))?;
    for step in &plan.steps {
        let verb = if step.then.is_some() {
            "write"
        } else {
            "delete"
        };
        let whose = foreign.iter().find(|f| f.path == step.path);
        let note = match whose {
            Some(_) => "  (not by an agent: would ask)",
            None if assumed.contains(&step.path) => "  (by an agent, assumed)",
            None => "",
        };
        writeln!(ui.out, "  {verb:<6}  {}{note}", quoted(step.path.as_bstr()))?;
    }
    for left in &plan.left_alone {
        writeln!(ui.out, "  leave   {}", left_line(left))?;
    }
    Ok(Exit::Done)
}

fn done(restored: &Restored, redo: bool, json: bool, ui: &mut Ui) -> Result<Exit> {
    let ok = restored.wrong.is_empty() && !restored.left_alone.iter().any(|l| l.against);
    let exit = if ok { Exit::Done } else { Exit::No };
    if json {
        ui.json(&json!({
            "restored": restored.target.record.number,
            "lane": restored.target.record.lane,
            "safety": restored.safety.record.number,
            "written": paths(&restored.written),
            "deleted": paths(&restored.deleted),
            "kept": paths(&restored.kept),
            "left_alone": left_json(&restored.left_alone),
            "verified": restored.wrong.is_empty(),
            "wrong": paths(&restored.wrong),
        }))?;
    } else {
        let mut files: Vec<String> = restored
            .written
            .iter()
            .chain(&restored.deleted)
            .map(|p| quoted(p.as_bstr()))
            .collect();
        files.sort();
        let files = match files.len() {
            0 => "none".to_owned(),
            n if n > 20 => format!("{} and {} more", files[..20].join(", "), n - 20),
            _ => files.join(", "),
        };
        writeln!(
            ui.out,
            "restored {}; files: {files}",
            name(&restored.target)
        )?;
        ui.flush()?;
        let way_back = match redo {
            false => "git checkpoint redo".to_owned(),
            true => format!("git checkpoint undo --to {}", restored.safety.number()),
        };
        ui.note(format_args!(
            "the state before is checkpoint {}; '{way_back}' goes back to it",
            restored.safety.number()
        ));
    }
    if !restored.kept.is_empty() {
        let lines: Vec<String> = restored.kept.iter().map(|p| quoted(p.as_bstr())).collect();
        ui.note(format_args!("kept, not by an agent:\n{}", listed(&lines)));
    }
    if !restored.left_alone.is_empty() {
        let lines: Vec<String> = restored.left_alone.iter().map(left_line).collect();
        ui.say(format_args!("left alone:\n{}", listed(&lines)));
    }
    if !restored.wrong.is_empty() {
        let lines: Vec<String> = restored.wrong.iter().map(|p| quoted(p.as_bstr())).collect();
        ui.say(format_args!(
            "error: these are not as the checkpoint has them:\n{}",
            listed(&lines)
        ));
    }
    Ok(exit)
}

/// `002 (before edit_file a.py)`.
fn name(target: &Checkpoint) -> String {
    format!("{} ({})", target.number(), target.record.label)
}

fn left_line(left: &LeftAlone) -> String {
    format!("{}: {}", quoted(left.path.as_bstr()), left.reason)
}

fn paths(paths: &[BString]) -> Vec<Value> {
    paths.iter().map(|p| json_path(p.as_bstr())).collect()
}

fn left_json(left: &[LeftAlone]) -> Vec<Value> {
    left.iter()
        .map(|l| json!({"path": json_path(l.path.as_bstr()), "reason": l.reason}))
        .collect()
}

fn plan_json(target: &Checkpoint, plan: &Plan, foreign: &[Foreign]) -> Value {
    let of = |deletion: bool| -> Vec<Value> {
        plan.steps
            .iter()
            .filter(|s| s.then.is_none() == deletion)
            .map(|s| json_path(s.path.as_bstr()))
            .collect()
    };
    let others: Vec<Value> = foreign
        .iter()
        .map(|f| json_path(f.path.as_bstr()))
        .collect();
    json!({
        "restored": null,
        "target": target.record.number,
        "lane": target.record.lane,
        "safety": null,
        "written": of(false),
        "deleted": of(true),
        "others": others,
        "kept": [],
        "left_alone": left_json(&plan.left_alone),
        "verified": null,
    })
}
