# fish completion of 'git-replay'. Install in a folder of $fish_complete_path.

set -l commands run record test show diff bisect convert

function __fish_git_replay_revisions
    git for-each-ref --format='%(refname:short)' refs/heads refs/tags 2>/dev/null
end

complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a run -d 'Rebuild the commits of a journal'
complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a record -d 'Record commits as a journal'
complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a test -d 'Check many journals in parallel'
complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a show -d 'Show what a journal holds'
complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a diff -d 'Compare two journals'
complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a bisect -d 'Find where a journal and a branch part'
complete -c git-replay -n "not __fish_seen_subcommand_from $commands" -a convert -d 'Write a journal in another form'

set -l run "not __fish_seen_subcommand_from record test show diff bisect convert"
complete -c git-replay -n "$run" -l branch -x -a '(__fish_git_replay_revisions)' -d 'Make this branch'
complete -c git-replay -n "$run" -l check -d 'Write nothing at all'
complete -c git-replay -n "$run" -l work-branch -x -d 'What {{WORK_BRANCH}} stands for'
complete -c git-replay -n "$run" -l divergence -x -a 'fail warn' -d 'Whether a divergence ends it'
complete -c git-replay -n "$run" -l stop-after -x -d 'This many turns at most'
complete -c git-replay -n "$run" -l events -d 'Emit the recorded events again'
complete -c git-replay -n "not __fish_seen_subcommand_from record show diff bisect convert" -l from -x -a '(__fish_git_replay_revisions)' -d 'Begin at this commit'
complete -c git-replay -n "not __fish_seen_subcommand_from test show diff bisect convert" -l prompt -x -d 'A prompt'
complete -c git-replay -n "not __fish_seen_subcommand_from test show diff bisect convert" -l prompt-file -r -F -d 'A prompt, from a file'
complete -c git-replay -n "not __fish_seen_subcommand_from test show diff bisect convert" -l session -x -d 'A trajectory'
complete -c git-replay -n "not __fish_seen_subcommand_from record test convert" -l json -d 'Print one JSON document'
complete -c git-replay -s q -l quiet -d 'Say less'
complete -c git-replay -n '__fish_seen_subcommand_from record' -s o -l output -r -F -d 'The journal to write'
complete -c git-replay -n '__fish_seen_subcommand_from record' -l no-prompt -d 'Record no prompt'
complete -c git-replay -n '__fish_seen_subcommand_from record' -l no-lossless -d 'Leave out the raw commits'
complete -c git-replay -n '__fish_seen_subcommand_from record' -l max-size -x -d 'Bytes of patches and messages'
complete -c git-replay -n '__fish_seen_subcommand_from record' -f -a '(__fish_git_replay_revisions)'
complete -c git-replay -n '__fish_seen_subcommand_from record convert' -l patches -x -a 'binary text' -d 'Form of the patches'
complete -c git-replay -n '__fish_seen_subcommand_from record convert' -s y -l yes -d 'Replace the file'
complete -c git-replay -n '__fish_seen_subcommand_from test' -s j -l jobs -x -d 'How many at a time'
complete -c git-replay -n '__fish_seen_subcommand_from test' -l format -x -a 'human json junit tap' -d 'How to print the verdicts'
complete -c git-replay -n '__fish_seen_subcommand_from show' -s p -l patch -d 'Also the patches'
complete -c git-replay -n '__fish_seen_subcommand_from bisect' -a '(__fish_git_replay_revisions)'
