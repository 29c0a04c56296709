//! Where a replay departs from its record.

use serde::Serialize;

/// What differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum What {
    /// A given prompt is not the recorded one.
    Prompt,
    /// The tree at the start is not the recorded one.
    Baseline,
    /// A commit's tree is not the recorded one, or its patch was rejected.
    Tree,
    /// A commit has the recorded tree and another id.
    Commit,
    /// The journal holds no commits that can be rebuilt.
    Unrecorded,
    /// More turns were asked for than recorded.
    Exhausted,
}

/// One departure.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Divergence {
    pub(super) kind: What,
    /// From 1.
    pub(super) turn: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) actual: Option<String>,
    /// The recorded id of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
    /// The first header that differs and why, for a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<String>,
    /// Whether `--divergence=warn` cannot soften it.
    #[serde(rename = "final")]
    pub(super) is_final: bool,
}

impl Divergence {
    pub(super) fn new(kind: What, turn: usize) -> Self {
        Divergence {
            kind,
            turn,
            expected: None,
            actual: None,
            commit: None,
            cause: None,
            is_final: kind == What::Exhausted,
        }
    }

    pub(super) fn expected(mut self, text: impl ToString) -> Self {
        self.expected = Some(text.to_string());
        self
    }

    pub(super) fn actual(mut self, text: impl ToString) -> Self {
        self.actual = Some(text.to_string());
        self
    }

    pub(super) fn commit(mut self, id: impl ToString) -> Self {
        self.commit = Some(id.to_string());
        self
    }

    pub(super) fn cause(mut self, text: impl ToString) -> Self {
        self.cause = Some(text.to_string());
        self
    }

    pub(super) fn last(mut self) -> Self {
        self.is_final = true;
        self
    }

    /// The divergence in one line for a person.
    pub(super) fn line(&self) -> String {
        let turn = self.turn;
        let expected = self.expected.as_deref().unwrap_or_default();
        let actual = self.actual.as_deref().unwrap_or_default();
        let commit = self.commit.as_deref().map(short).unwrap_or_default();
        match self.kind {
            What::Prompt => format!(
                "turn {turn}: the prompt differs {}",
                apart(expected, actual)
            ),
            What::Baseline => format!(
                "turn {turn}: the run began with the tree {}, but here it is {}",
                short(expected),
                short(actual)
            ),
            What::Tree if self.is_final => {
                format!("turn {turn}: the patch of commit {commit} does not apply: {actual}")
            }
            What::Tree => format!(
                "turn {turn}: commit {commit} has the tree {}, but here it gives {}",
                short(expected),
                short(actual)
            ),
            What::Commit => format!(
                "turn {turn}: commit {commit} has its tree, but its id would be {}: {}",
                short(actual),
                self.cause
                    .as_deref()
                    .unwrap_or("the record does not say why")
            ),
            What::Unrecorded => format!("turn {turn}: its commits are not recorded: {expected}"),
            What::Exhausted => format!("turn {turn}: the journal holds only {expected}"),
        }
    }

    /// The kind in the word that `--json` uses.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            What::Prompt => "prompt",
            What::Baseline => "baseline",
            What::Tree => "tree",
            What::Commit => "commit",
            What::Unrecorded => "unrecorded",
            What::Exhausted => "exhausted",
        }
    }
}

/// The first digits of an id; other text as it is.
pub(super) fn short(id: &str) -> &str {
    match id.len() {
        40 | 64 => &id[..10],
        _ => id,
    }
}

/// Where two texts part, with a little of both.
fn apart(expected: &str, actual: &str) -> String {
    let same = expected
        .char_indices()
        .zip(actual.chars())
        .find(|((_, a), b)| a != b)
        .map_or_else(|| expected.len().min(actual.len()), |((at, _), _)| at);
    let line = expected[..same].matches('\n').count() + 1;
    let start = expected[..same].rfind('\n').map_or(0, |at| at + 1);
    let head = |text: &str| -> String {
        let text: String = text
            .get(start..)
            .unwrap_or_default()
            .chars()
            .take(60)
            .collect();
        text.lines().next().unwrap_or_default().to_owned()
    };
    format!(
        "on its line {line}: recorded '{}', given '{}'",
        head(expected),
        head(actual)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_told_apart_by_line() {
        assert_eq!(
            apart("one\ntwo\n", "one\ntoo\n"),
            "on its line 2: recorded 'two', given 'too'"
        );
        assert_eq!(
            apart("one", "one\n"),
            "on its line 1: recorded 'one', given 'one'"
        );
        apart("gr\u{fc}n", "gr\u{e4}n");
        apart("", "");
    }
}
