//! The one integration-test binary: every behaviour through the real programs,
//! as git runs them. `common.rs` is the hermetic repository; one file per theme.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and starts programs and writes files as a user does"
)]

mod architecture;
mod artifacts;
mod checkpoint_concurrency;
mod checkpoint_crash;
mod checkpoint_differs;
mod checkpoint_durable;
mod checkpoint_filters;
mod checkpoint_fsck;
mod checkpoint_gc;
mod checkpoint_head;
mod checkpoint_hooks;
mod checkpoint_include;
mod checkpoint_index;
mod checkpoint_keep;
mod checkpoint_later;
mod checkpoint_limits;
mod checkpoint_list;
mod checkpoint_matrix;
mod checkpoint_meanwhile;
mod checkpoint_message;
mod checkpoint_others;
mod checkpoint_random;
mod checkpoint_remembered;
mod checkpoint_repositories;
mod checkpoint_restore;
mod checkpoint_run;
mod checkpoint_save;
mod checkpoint_spelling;
mod checkpoint_stage;
mod checkpoint_stories;
mod checkpoint_transfer;
mod checkpoint_undo;
mod checkpoint_upkeep;
mod checkpoint_usage;
mod checkpoint_where;
mod common;
mod harness;
mod lesson;
mod replay;
mod replay_batch;
mod replay_commands;
mod replay_crash;
mod replay_divergence;
mod replay_fidelity;
mod replay_gate;
mod replay_isolation;
mod replay_journal;
mod replay_malformed;
mod replay_name;
mod replay_raw;
mod replay_refs;
mod replay_session;
mod shadow_add;
mod shadow_branches;
mod shadow_care;
mod shadow_crash;
mod shadow_half_made;
mod shadow_kept;
mod shadow_killed;
mod shadow_lessons;
mod shadow_life;
mod shadow_merge;
mod shadow_remove;
mod shadow_shapes;
mod trajectory_care;
mod trajectory_guard;
mod trajectory_hook;
mod trajectory_import;
mod trajectory_install;
mod trajectory_log;
mod trajectory_masking;
mod trajectory_runs;
mod trajectory_scene;
mod trajectory_secrets;
mod trajectory_stream;
mod tty;
