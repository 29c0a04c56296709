# fish completion of 'git shadow'. Install in a folder of $fish_complete_path.

function __fish_git_shadow_needs_command
    set -l words (commandline -opc)
    set -e words[1]
    contains -- shadow $words; or return 1
    not contains -- add $words
    and not contains -- list $words
    and not contains -- show $words
    and not contains -- path $words
    and not contains -- env $words
    and not contains -- run $words
    and not contains -- diff $words
    and not contains -- finish $words
    and not contains -- merge $words
    and not contains -- remove $words
    and not contains -- restore $words
    and not contains -- prune $words
    and not contains -- move $words
    and not contains -- lock $words
    and not contains -- unlock $words
    and not contains -- doctor $words
end

function __fish_git_shadow_using
    set -l words (commandline -opc)
    contains -- shadow $words; or return 1
    for command in $argv
        contains -- $command $words; and return 0
    end
    return 1
end

function __fish_git_shadow_tasks
    git shadow list 2>/dev/null | string match -r '^[^ ]+'
end

function __fish_git_shadow_removed
    git shadow restore --list 2>/dev/null | string match -r '^[^ ]+' | sort -u
end

complete -f -c git -n __fish_use_subcommand -a shadow -d 'A worktree for each agent task'
complete -f -c git -n '__fish_git_shadow_using shadow'

complete -f -c git -n __fish_git_shadow_needs_command -a add -d 'Make a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a list -d 'List the shadows'
complete -f -c git -n __fish_git_shadow_needs_command -a show -d 'Show one shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a path -d 'Print the folder of a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a env -d 'Print the environment of a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a run -d 'Run a command inside a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a diff -d 'Show what a shadow changed'
complete -f -c git -n __fish_git_shadow_needs_command -a finish -d 'Commit all work in a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a merge -d 'Merge the branch of a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a remove -d 'Remove shadows'
complete -f -c git -n __fish_git_shadow_needs_command -a restore -d 'Bring a removed shadow back'
complete -f -c git -n __fish_git_shadow_needs_command -a prune -d 'Remove shadows that are gone or merged'
complete -f -c git -n __fish_git_shadow_needs_command -a move -d 'Move a shadow'
complete -f -c git -n __fish_git_shadow_needs_command -a lock -d 'Keep a shadow from being removed'
complete -f -c git -n __fish_git_shadow_needs_command -a unlock -d 'Take that back'
complete -f -c git -n __fish_git_shadow_needs_command -a doctor -d 'Say what is wrong, and mend it'

complete -f -c git -n '__fish_git_shadow_using add' -l as -x -d 'Make one for each name'
complete -f -c git -n '__fish_git_shadow_using add restore' -s b -l branch -x -d 'Name of the branch'
complete -f -c git -n '__fish_git_shadow_using add' -l detach -d 'Make no branch'
complete -c git -n '__fish_git_shadow_using add restore' -l path -r -a '(__fish_complete_directories)' -d 'Folder of the shadow'
complete -f -c git -n '__fish_git_shadow_using add' -l from-dirty -d 'Begin with the files as they are here'
complete -f -c git -n '__fish_git_shadow_using add' -l fetch -d 'Fetch first'
complete -f -c git -n '__fish_git_shadow_using add' -l sparse -x -a 'inherit none' -d 'Sparse patterns'
complete -f -c git -n '__fish_git_shadow_using add' -l no-deps -d 'Bring no dependencies'
complete -f -c git -n '__fish_git_shadow_using add' -l no-copy -d 'Copy no ignored files'
complete -f -c git -n '__fish_git_shadow_using add' -l no-setup -d 'Run no set-up commands'
complete -f -c git -n '__fish_git_shadow_using list' -s v -l verbose -d 'Say more'
complete -f -c git -n '__fish_git_shadow_using env' -l format -x -a 'shell dotenv json' -d 'How'
complete -f -c git -n '__fish_git_shadow_using run finish' -l test -x -d 'Run this by the shell'
complete -f -c git -n '__fish_git_shadow_using run' -l timeout -x -d 'End it after this time'
complete -f -c git -n '__fish_git_shadow_using run' -l session -x -d 'Name of the session'
complete -f -c git -n '__fish_git_shadow_using diff' -l stat -d 'Print a summary'
complete -f -c git -n '__fish_git_shadow_using finish' -s m -l message -x -d 'Message of the commit'
complete -f -c git -n '__fish_git_shadow_using finish' -l no-verify -d 'Skip hooks'
complete -f -c git -n '__fish_git_shadow_using finish' -l keep -d 'Keep the folder'
complete -f -c git -n '__fish_git_shadow_using merge' -l into -x -a '(__fish_git_local_branches)' -d 'Branch to merge into'
complete -f -c git -n '__fish_git_shadow_using merge' -l squash -d 'One commit'
complete -f -c git -n '__fish_git_shadow_using merge' -l ff-only -d 'Fast-forward or nothing'
complete -f -c git -n '__fish_git_shadow_using merge' -l no-ff -d 'A merge commit'
complete -f -c git -n '__fish_git_shadow_using merge' -l rebase -d 'Rebase first'
complete -f -c git -n '__fish_git_shadow_using merge' -l remove -d 'Then remove the shadow'
complete -f -c git -n '__fish_git_shadow_using remove' -l keep-branch -d 'Keep the branch'
complete -f -c git -n '__fish_git_shadow_using remove' -l delete-branch -d 'Delete the branch'
complete -f -c git -n '__fish_git_shadow_using remove' -l force -d 'Do not ask about uncommitted work'
complete -f -c git -n '__fish_git_shadow_using restore' -l list -d 'List what can be restored'
complete -f -c git -n '__fish_git_shadow_using prune' -l merged -d 'Also merged ones'
complete -f -c git -n '__fish_git_shadow_using prune' -l older-than -x -d 'Nothing changed for this long'
complete -f -c git -n '__fish_git_shadow_using lock' -l reason -x -d 'Why'
complete -f -c git -n '__fish_git_shadow_using doctor' -l fix -d 'Mend what can be mended'
complete -f -c git -n '__fish_git_shadow_using add merge remove prune doctor' -s n -l dry-run -d 'Show what would be done'
complete -f -c git -n '__fish_git_shadow_using finish merge remove prune doctor' -s y -l yes -d 'Answer every question with yes'
complete -f -c git -n '__fish_git_shadow_using add run finish merge remove prune doctor' -s q -l quiet -d 'Say less'
complete -f -c git -n '__fish_git_shadow_using add list show merge remove prune doctor' -l json -d 'Print JSON'
complete -f -c git -n '__fish_git_shadow_using show path env run diff finish merge remove move lock unlock' -a '(__fish_git_shadow_tasks)'
complete -f -c git -n '__fish_git_shadow_using restore' -a '(__fish_git_shadow_removed)'
