//! Which commits of two runs belong together. Pure.

use crate::replay::journal::Commit;

/// A commit of one run and its counterpart.
#[derive(Debug, Clone)]
pub(super) enum Pair<'a> {
    /// They change the same.
    Same(&'a Commit, &'a Commit),
    /// They have one subject and change something else.
    Changed(&'a Commit, &'a Commit),
    /// Only the first run has it.
    Left(&'a Commit),
    /// Only the second run has it.
    Right(&'a Commit),
}

impl<'a> Pair<'a> {
    pub(super) fn sides(&self) -> (Option<&'a Commit>, Option<&'a Commit>) {
        match self {
            Pair::Same(left, right) | Pair::Changed(left, right) => (Some(left), Some(right)),
            Pair::Left(left) => (Some(left), None),
            Pair::Right(right) => (None, Some(right)),
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Pair::Same(..) => "same",
            Pair::Changed(..) => "changed",
            Pair::Left(_) => "left",
            Pair::Right(_) => "right",
        }
    }

    /// The sign that `git range-diff` prints.
    pub(super) fn sign(&self) -> char {
        match self {
            Pair::Same(..) => '=',
            Pair::Changed(..) => '!',
            Pair::Left(_) => '<',
            Pair::Right(_) => '>',
        }
    }
}

/// Pairs commits by what they change, then the rest by subject; in the order of
/// the left run, what only the right one has at the end.
pub(super) fn pairs<'a>(
    left: Vec<(&'a Commit, String)>,
    right: Vec<(&'a Commit, String)>,
) -> Vec<Pair<'a>> {
    let mut free = vec![true; right.len()];
    let mut take = |fits: &dyn Fn(&(&'a Commit, String)) -> bool| {
        let found = right
            .iter()
            .enumerate()
            .position(|(at, other)| free[at] && fits(other))?;
        free[found] = false;
        Some(right[found].0)
    };
    let same: Vec<Option<&Commit>> = left
        .iter()
        .map(|(_, id)| take(&|(_, other)| other == id))
        .collect();
    let mut pairs: Vec<Pair<'a>> = left
        .iter()
        .zip(same)
        .map(|((commit, _), same)| match same {
            Some(other) => Pair::Same(commit, other),
            None => match take(&|(other, _)| other.subject() == commit.subject()) {
                Some(other) => Pair::Changed(commit, other),
                None => Pair::Left(commit),
            },
        })
        .collect();
    let rest = right.iter().zip(free).filter(|(_, free)| *free);
    pairs.extend(rest.map(|((commit, _), _)| Pair::Right(commit)));
    pairs
}
