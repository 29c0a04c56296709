# fish completion of 'git checkpoint'. Install in a folder of $fish_complete_path.

function __fish_git_checkpoint_needs_command
    set -l words (commandline -opc)
    set -e words[1]
    contains -- checkpoint $words; or return 1
    not contains -- save $words
    and not contains -- wrote $words
    and not contains -- list $words
    and not contains -- show $words
    and not contains -- status $words
    and not contains -- diff $words
    and not contains -- undo $words
    and not contains -- redo $words
    and not contains -- fsck $words
    and not contains -- drop $words
    and not contains -- prune $words
    and not contains -- export $words
    and not contains -- import $words
end

function __fish_git_checkpoint_using
    set -l words (commandline -opc)
    contains -- checkpoint $words; or return 1
    for command in $argv
        contains -- $command $words; and return 0
    end
    return 1
end

function __fish_git_checkpoint_numbers
    git for-each-ref --format='%(refname)' refs/harness/checkpoints 2>/dev/null |
        string replace refs/harness/checkpoints/ '' | string replace -r '^main/' ''
end

function __fish_git_checkpoint_lanes
    git for-each-ref --format='%(refname)' refs/harness/checkpoints 2>/dev/null |
        string replace refs/harness/checkpoints/ '' | string replace -r '/.*' '' | sort -u
end

complete -f -c git -n __fish_use_subcommand -a checkpoint -d 'Snapshot the working tree, and undo'
complete -f -c git -n '__fish_git_checkpoint_using checkpoint'

complete -f -c git -n __fish_git_checkpoint_needs_command -a save -d 'Take a checkpoint'
complete -f -c git -n __fish_git_checkpoint_needs_command -a wrote -d 'Record what an agent left at a path'
complete -f -c git -n __fish_git_checkpoint_needs_command -a list -d 'List the checkpoints of this worktree'
complete -f -c git -n __fish_git_checkpoint_needs_command -a show -d 'Show one checkpoint'
complete -f -c git -n __fish_git_checkpoint_needs_command -a status -d 'Show the lane and where undo stands'
complete -f -c git -n __fish_git_checkpoint_needs_command -a diff -d 'Compare a checkpoint'
complete -f -c git -n __fish_git_checkpoint_needs_command -a undo -d 'Restore a checkpoint'
complete -f -c git -n __fish_git_checkpoint_needs_command -a redo -d 'Go back to before the last undo'
complete -f -c git -n __fish_git_checkpoint_needs_command -a fsck -d 'Prove that checkpoints are complete'
complete -f -c git -n __fish_git_checkpoint_needs_command -a drop -d 'Delete checkpoints'
complete -f -c git -n __fish_git_checkpoint_needs_command -a prune -d 'Delete old checkpoints'
complete -f -c git -n __fish_git_checkpoint_needs_command -a export -d 'Write a checkpoint into one file'
complete -f -c git -n __fish_git_checkpoint_needs_command -a import -d 'Take the checkpoints of such a file'

complete -f -c git -n '__fish_git_checkpoint_using save' -s m -l message -x -d 'Label'
complete -f -c git -n '__fish_git_checkpoint_using save' -l before -x -a 'write command' -d 'What is about to happen'
complete -f -c git -n '__fish_git_checkpoint_using save' -l after -x -a '(__fish_git_checkpoint_numbers)' -d 'The command has ended'
complete -f -c git -n '__fish_git_checkpoint_using save' -l if-changed -d 'None when nothing changed'
complete -f -c git -n '__fish_git_checkpoint_using save' -l tool -x -d 'Name of the tool'
complete -c git -n '__fish_git_checkpoint_using save' -l path -r -F -d 'Path about to be written'
complete -f -c git -n '__fish_git_checkpoint_using save' -l call -x -d 'Id of the call'
complete -f -c git -n '__fish_git_checkpoint_using save wrote' -l session -x -d 'Id of the session'
complete -c git -n '__fish_git_checkpoint_using wrote' -F
complete -f -c git -n '__fish_git_checkpoint_using list' -l lane -x -a '(__fish_git_checkpoint_lanes)' -d 'Of another worktree'
complete -f -c git -n '__fish_git_checkpoint_using list' -l all -d 'Every lane'
complete -f -c git -n '__fish_git_checkpoint_using list' -s n -x -d 'Only the newest'
complete -f -c git -n '__fish_git_checkpoint_using show diff' -l stat -d 'A summary of what changed'
complete -f -c git -n '__fish_git_checkpoint_using show' -s p -l patch -d 'A patch of what changed'
complete -f -c git -n '__fish_git_checkpoint_using show diff undo fsck drop export' -a '(__fish_git_checkpoint_numbers)'
complete -f -c git -n '__fish_git_checkpoint_using undo' -l to -x -a '(__fish_git_checkpoint_numbers)' -d 'The checkpoint to restore'
complete -f -c git -n '__fish_git_checkpoint_using undo redo' -l agent-only -d 'Keep what no agent made'
complete -f -c git -n '__fish_git_checkpoint_using undo redo' -l others -x -a 'ask keep revert' -d 'Changes that no agent made'
complete -f -c git -n '__fish_git_checkpoint_using undo redo' -l no-head -d 'Although another branch is checked out'
complete -f -c git -n '__fish_git_checkpoint_using undo redo drop prune' -s n -l dry-run -d 'Show what would be done'
complete -f -c git -n '__fish_git_checkpoint_using undo redo drop prune' -s y -l yes -d 'Do not ask'
complete -f -c git -n '__fish_git_checkpoint_using save undo redo drop prune' -s q -l quiet -d 'Say less'
complete -f -c git -n '__fish_git_checkpoint_using save list show status undo redo fsck' -l json -d 'Print JSON'
complete -f -c git -n '__fish_git_checkpoint_using prune' -l keep -x -d 'All but the newest'
complete -f -c git -n '__fish_git_checkpoint_using prune' -l older-than -x -a '30.days 2.weeks 12.hours now' -d 'Only what is older'
complete -f -c git -n '__fish_git_checkpoint_using prune' -l all -d 'Of every lane'
complete -c git -n '__fish_git_checkpoint_using export' -s o -l output -r -F -d 'Write into this file'
complete -c git -n '__fish_git_checkpoint_using import' -F
