# fish completion of 'git trajectory'. Install in a folder of $fish_complete_path.

function __fish_git_trajectory_sessions
    set -l folder (git rev-parse --git-common-dir 2>/dev/null)/harness/trajectories
    for file in $folder/*.jsonl
        string replace -r '.*/[^-]*-(.*?)(\.import)?\.jsonl$' '$1' -- $file
    end | sort -u
end

function __fish_git_trajectory_needs_subcommand
    set -l words (commandline -opc)
    contains -- trajectory $words; or return 1
    test "$words[-1]" = trajectory
end

function __fish_git_trajectory_in
    set -l words (commandline -opc)
    contains -- trajectory $words; and contains -- $argv[1] $words
end

complete -f -c git -n __fish_git_needs_command -a trajectory -d 'What an agent did, one line an event'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a install -d 'Put the hook into an agent\'s settings'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a hook -d 'What agents call'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a log -d 'Write one event'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a import -d 'Read the agents\' own transcripts'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a list -d 'List the sessions'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a show -d 'Show the events of a session'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a last -d 'Show the last run or session'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a ingest -d 'Bring the mirror up to date'
complete -c git -n __fish_git_trajectory_needs_subcommand -a replay -d 'Run git-replay'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a sql -d 'Ask the mirror a question'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a start -d 'Begin a run'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a phase -d 'Run one phase'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a finish -d 'End a run'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a prune -d 'Delete old sessions'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a scan -d 'Look for secrets in files'
complete -f -c git -n __fish_git_trajectory_needs_subcommand -a doctor -d 'Say why there is no record'
complete -f -c git -n '__fish_git_trajectory_in install' -l scope -x -a 'user project local' -d 'For whom'
complete -f -c git -n '__fish_git_trajectory_in install' -l uninstall -d 'Take it out again'
complete -f -c git -n '__fish_git_trajectory_in install' -s n -l dry-run -d 'Show what would change'
complete -f -c git -n '__fish_git_trajectory_in install' -s y -l yes -d 'Do not ask'
complete -f -c git -n '__fish_git_trajectory_in hook' -l stream -d 'Read one event a line'
complete -f -c git -n '__fish_git_trajectory_in log' -l session -x -a '(__fish_git_trajectory_sessions)' -d 'The session'
complete -f -c git -n '__fish_git_trajectory_in log' -l payload -x -d 'The payload, a json object'
complete -f -c git -n '__fish_git_trajectory_in import' -l since -x -d 'Only transcripts that changed since'
complete -f -c git -n '__fish_git_trajectory_in import' -l json -d 'Print json'
complete -f -c git -n '__fish_git_trajectory_in list' -l json -d 'Print json'
complete -f -c git -n '__fish_git_trajectory_in list' -l no-ingest -d 'Read the mirror as it is'
complete -f -c git -n '__fish_git_trajectory_in show' -s f -l follow -d 'Print what comes as it comes'
complete -f -c git -n '__fish_git_trajectory_in show' -l json -d 'Print json'
complete -f -c git -n '__fish_git_trajectory_in show' -l no-ingest -d 'Read the mirror as it is'
complete -f -c git -n '__fish_git_trajectory_in last' -l no-ingest -d 'Read the mirror as it is'
complete -f -c git -n '__fish_git_trajectory_in ingest' -l rebuild -d 'Read all logs again'
complete -f -c git -n '__fish_git_trajectory_in ingest' -l session -x -a '(__fish_git_trajectory_sessions)' -d 'Only this session'
complete -f -c git -n '__fish_git_trajectory_in ingest' -s q -l quiet -d 'Say nothing'
complete -f -c git -n '__fish_git_trajectory_in ingest' -l json -d 'Print json'
complete -f -c git -n '__fish_git_trajectory_in sql' -l json -d 'Print one json object a row'
complete -f -c git -n '__fish_git_trajectory_in sql' -l csv -d 'Print csv'
complete -f -c git -n '__fish_git_trajectory_in sql' -l no-ingest -d 'Read the mirror as it is'
complete -f -c git -n '__fish_git_trajectory_in start' -l request -x -d 'What was asked for'
complete -f -c git -n '__fish_git_trajectory_in phase' -l run -x -d 'The run'
complete -f -c git -n '__fish_git_trajectory_in phase' -l kind -x -a 'agent code' -d 'An agent works, or a program'
complete -f -c git -n '__fish_git_trajectory_in phase' -l retries -x -d 'How often it is tried again'
complete -f -c git -n '__fish_git_trajectory_in phase' -l timeout -x -d 'How long one try may take'
complete -f -c git -n '__fish_git_trajectory_in finish' -l run -x -d 'The run'
complete -f -c git -n '__fish_git_trajectory_in finish' -l fail -d 'It failed'
complete -f -c git -n '__fish_git_trajectory_in prune' -l older-than -x -d 'How old'
complete -f -c git -n '__fish_git_trajectory_in prune' -l keep-summary -d 'Keep the sums'
complete -f -c git -n '__fish_git_trajectory_in prune' -s n -l dry-run -d 'Show what would go'
complete -f -c git -n '__fish_git_trajectory_in prune' -s y -l yes -d 'Do not ask'
complete -f -c git -n '__fish_git_trajectory_in doctor' -l json -d 'Print json'
complete -f -c git -n '__fish_git_trajectory_in install' -a 'claude codex gemini opencode pi'
complete -f -c git -n '__fish_git_trajectory_in hook' -a 'claude codex gemini opencode pi'
complete -f -c git -n '__fish_git_trajectory_in import' -a 'claude codex gemini opencode pi'
complete -f -c git -n '__fish_git_trajectory_in show' -a '(__fish_git_trajectory_sessions)'
