//! An agent that goes round in circles: the same call with the same result, an
//! edit that is made and undone, a tool that fails again and again.

use serde_json::json;

use crate::events::Event;
use crate::trajectory::record::state::{Done, State};

/// How far back is looked.
const WINDOW: usize = 24;
/// So many equal calls with equal results are a loop.
const EQUAL: usize = 4;
/// So many failures of one tool without a success between.
const FAILURES: usize = 5;
/// How many contents of a path are remembered.
const CONTENTS: usize = 8;

/// Sees a call that ended; gives the loop that it closes, once.
pub(super) fn seen(state: &mut State, done: Done, left: &[(String, String)]) -> Option<Event> {
    state.loops.push(done.clone());
    let cut = state.loops.len().saturating_sub(WINDOW);
    state.loops.drain(..cut);
    let repeats = state.loops.iter().filter(|other| **other == done).count();
    if repeats >= EQUAL {
        return told(
            state,
            "repeat",
            repeats,
            &done.tool,
            &format!("{}{}{}", done.tool, done.args, done.result),
        );
    }
    let failures = state
        .loops
        .iter()
        .rev()
        .take_while(|other| other.failed && other.tool == done.tool)
        .count();
    if failures >= FAILURES {
        return told(state, "retry", failures, &done.tool, &done.tool);
    }
    for (path, id) in left {
        let contents = state.left.entry(path.clone()).or_default();
        contents.push(id.clone());
        let cut = contents.len().saturating_sub(CONTENTS);
        contents.drain(..cut);
        if let [.., a, b, c, d] = contents.as_slice()
            && a == c
            && b == d
            && a != b
        {
            return told(state, "edit-undo", 2, &done.tool, path);
        }
    }
    None
}

fn told(state: &mut State, kind: &str, count: usize, tool: &str, what: &str) -> Option<Event> {
    let mark = crate::events::id::hash(&[kind, what])[..16].to_owned();
    if state.told.contains(&mark) {
        return None;
    }
    state.told.push(mark);
    let payload = json!({"kind": kind, "count": count, "tool": tool});
    Some(Event {
        payload: serde_json::from_value(payload).unwrap_or_default(),
        ..Event::now("", "loop", kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(args: &str, result: &str, failed: bool) -> Done {
        Done {
            tool: "Bash".into(),
            args: args.into(),
            result: result.into(),
            failed,
        }
    }

    #[test]
    fn the_same_again_is_told_once() {
        let mut state = State::default();
        let told: Vec<bool> = (0..8)
            .map(|_| seen(&mut state, done("a", "r", false), &[]).is_some())
            .collect();
        assert_eq!(
            told,
            [false, false, false, true, false, false, false, false]
        );
    }

    #[test]
    fn other_results_are_no_loop() {
        let mut state = State::default();
        assert!((0..8).all(|n| seen(&mut state, done("a", &n.to_string(), false), &[]).is_none()));
    }

    #[test]
    fn failures_in_a_row_are_a_storm() {
        let mut state = State::default();
        let told = (0..7)
            .filter(|n| seen(&mut state, done(&n.to_string(), &n.to_string(), true), &[]).is_some())
            .count();
        assert_eq!(told, 1);
    }

    #[test]
    fn there_and_back_again_is_a_cycle() {
        let mut state = State::default();
        let mut told = Vec::new();
        for (n, id) in ["1", "2", "1", "2", "1"].into_iter().enumerate() {
            let left = [("f".to_owned(), id.to_owned())];
            told.push(
                seen(
                    &mut state,
                    done(&n.to_string(), &n.to_string(), false),
                    &left,
                )
                .is_some(),
            );
        }
        assert_eq!(told, [false, false, false, true, false]);
    }
}
