#compdef git-shadow
#description a worktree of its own for each agent task
# zsh completion of 'git shadow'. Install as _git-shadow in a folder of $fpath;
# zsh's own completion of git finds it by that name.

_git-shadow-tasks () {
  local -a tasks
  tasks=(${${(M)${(f)"$(_call_program tasks git shadow list 2>/dev/null)"}:#[^ ]*}%% *})
  _describe -t tasks shadow tasks
}

_git-shadow-removed () {
  local -aU tasks
  tasks=(${${(M)${(f)"$(_call_program tasks git shadow restore --list 2>/dev/null)"}:#[^ ]*}%% *})
  _describe -t tasks 'removed shadow' tasks
}

_git-shadow () {
  local curcontext=$curcontext state line ret=1
  local -a quiet dry yes json
  typeset -A opt_args

  quiet=('(-q --quiet)'{-q,--quiet}'[print only errors and questions]')
  dry=('(-n --dry-run)'{-n,--dry-run}'[show what would be done]')
  yes=('(-y --yes)'{-y,--yes}'[answer every question with yes]')
  json=('--json[print JSON]')

  _arguments -C '1: :->command' '*:: :->argument' && ret=0

  case $state in
    (command)
      local -a commands
      commands=(
        'add:make a shadow'
        'list:list the shadows'
        'show:show one shadow'
        'path:print the folder of a shadow'
        'env:print the environment of a shadow'
        'run:run a command inside a shadow'
        'diff:show what a shadow changed'
        'finish:commit all work in a shadow'
        'merge:merge the branch of a shadow'
        'remove:remove shadows'
        'restore:bring a removed shadow back'
        'prune:remove shadows that are gone, half-made or merged'
        'move:move a shadow to another folder'
        'lock:keep a shadow from being removed'
        'unlock:take that back'
        'doctor:say what is wrong, and mend it'
      )
      _describe -t commands command commands && ret=0
      ;;
    (argument)
      case $line[1] in
        (add)
          _arguments $quiet $dry $json \
            '*--as[make one for each name]:names' \
            '(-b --branch --detach)'{-b,--branch}'[name of the branch]:branch' \
            '(-b --branch)--detach[make no branch]' \
            '--path[folder of the shadow]:folder:_directories' \
            '--from-dirty[begin with the files as they are here]' \
            '--fetch[fetch first]' \
            '--sparse=[sparse patterns]:what:(inherit none)' \
            '--no-deps[bring no dependencies]' \
            '--no-copy[copy no ignored files]' \
            '--no-setup[run no set-up commands]' \
            '1:task' '2:base' && ret=0
          ;;
        (list)
          _arguments '(-v --verbose)'{-v,--verbose}'[say more]' $json && ret=0
          ;;
        (show)
          _arguments $json '1:shadow:_git-shadow-tasks' && ret=0
          ;;
        (path|unlock)
          _arguments '1:shadow:_git-shadow-tasks' && ret=0
          ;;
        (env)
          _arguments '--format=[how]:format:(shell dotenv json)' '1:shadow:_git-shadow-tasks' && ret=0
          ;;
        (run)
          _arguments $quiet '--test[run this afterwards]:command' \
            '--timeout[end it after this time]:time' '--session[name of the session]:id' \
            '1:shadow:_git-shadow-tasks' '*:::command:_normal' && ret=0
          ;;
        (diff)
          _arguments '--stat[print a summary]' '1:shadow:_git-shadow-tasks' '*:path' && ret=0
          ;;
        (finish)
          _arguments $quiet $yes '(-m --message)'{-m,--message}'[message of the commit]:message' \
            '--test[run this first]:command' '--no-verify[skip hooks]' \
            '--keep[keep the folder]' '1:shadow:_git-shadow-tasks' && ret=0
          ;;
        (merge)
          _arguments $quiet $dry $yes $json '--into[branch to merge into]:branch' \
            '(--ff-only --no-ff --rebase)--squash[one commit]' \
            '(--squash --no-ff --rebase)--ff-only[fast-forward or nothing]' \
            '(--squash --ff-only --rebase)--no-ff[a merge commit]' \
            '(--squash --ff-only --no-ff)--rebase[rebase first]' \
            '--remove[then remove the shadow]' '1:shadow:_git-shadow-tasks' && ret=0
          ;;
        (remove)
          _arguments $quiet $dry $yes $json \
            '(--delete-branch)--keep-branch[keep the branch]' \
            '(--keep-branch)--delete-branch[delete the branch]' \
            '--force[do not ask about uncommitted work]' '*:shadow:_git-shadow-tasks' && ret=0
          ;;
        (restore)
          _arguments '--path[another folder]:folder:_directories' \
            '(-b --branch)'{-b,--branch}'[another branch]:branch' \
            '--list[list what can be restored]' '1:shadow:_git-shadow-removed' && ret=0
          ;;
        (prune)
          _arguments $quiet $dry $yes $json '--merged[also merged ones]' \
            '--older-than[nothing changed for this long]:age' && ret=0
          ;;
        (move)
          _arguments '1:shadow:_git-shadow-tasks' '2:folder:_directories' && ret=0
          ;;
        (lock)
          _arguments '--reason[why]:text' '1:shadow:_git-shadow-tasks' && ret=0
          ;;
        (doctor)
          _arguments $quiet $dry $yes $json '--fix[mend what can be mended]' && ret=0
          ;;
      esac
      ;;
  esac
  return ret
}

_git-shadow "$@"
