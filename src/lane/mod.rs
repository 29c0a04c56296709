//! The numbered checkpoints of one worktree.
