#compdef git-checkpoint
#description snapshot the working tree before each write, and undo
# zsh completion of 'git checkpoint'. Install as _git-checkpoint in a folder of
# $fpath; zsh's own completion of git finds it by that name.

_git-checkpoint-numbers () {
  local -a numbers
  numbers=(${${(f)"$(_call_program numbers git for-each-ref --format='%\(refname\)' refs/harness/checkpoints 2>/dev/null)"}#refs/harness/checkpoints/})
  numbers+=(${${(M)numbers:#main/*}#main/})
  _describe -t numbers checkpoint numbers
}

_git-checkpoint-lanes () {
  local -aU lanes
  lanes=(${${${(f)"$(_call_program lanes git for-each-ref --format='%\(refname\)' refs/harness/checkpoints 2>/dev/null)"}#refs/harness/checkpoints/}%/*})
  _describe -t lanes lane lanes
}

_git-checkpoint () {
  local curcontext=$curcontext state line ret=1
  local -a save restore delete
  typeset -A opt_args

  save=(
    '(-m --message)'{-m,--message}'[label of the checkpoint]:label'
    '(--after)--before=[what is about to happen]:what:(write command)'
    '(--before)--after[the command before which it was taken has ended]:checkpoint:_git-checkpoint-numbers'
    '--if-changed[make none when nothing changed]'
    '--tool[name of the tool that is about to write]:name'
    '*--path[path that is about to be written]:path:_files'
    '--call[id of the call]:id'
    '--session[id of the session]:id'
    '(-q --quiet)'{-q,--quiet}'[do not list what could not be captured]'
    '--json[print the checkpoint as JSON]'
  )
  restore=(
    '--others=[changes that no agent made]:what:(ask keep revert)'
    '--agent-only[keep what no agent made]'
    '--no-head[although another branch is checked out]'
    '(-n --dry-run)'{-n,--dry-run}'[show what would be done]'
    '(-y --yes)'{-y,--yes}'[answer the question with revert]'
    '(-q --quiet)'{-q,--quiet}'[print only errors and questions]'
    '--json[print what was done as JSON]'
  )

  delete=(
    '(-n --dry-run)'{-n,--dry-run}'[show what would be deleted]'
    '(-y --yes)'{-y,--yes}'[do not ask]'
    '(-q --quiet)'{-q,--quiet}'[print only the ids]'
  )

  _arguments -C $save '1: :->command' '*:: :->argument' && ret=0

  case $state in
    (command)
      local -a commands
      commands=(
        'save:take a checkpoint'
        'wrote:record what an agent left at a path'
        'list:list the checkpoints of this worktree'
        'show:show one checkpoint'
        'status:show the lane and where undo stands'
        'diff:compare a checkpoint with the working tree or another'
        'undo:restore a checkpoint'
        'redo:go back to the state before the last undo'
        'fsck:prove that checkpoints are complete'
        'drop:delete checkpoints'
        'prune:delete old checkpoints'
        'export:write a checkpoint into one file'
        'import:take the checkpoints of such a file'
      )
      _describe -t commands command commands && ret=0
      ;;
    (argument)
      case $line[1] in
        (save)
          _arguments $save && ret=0
          ;;
        (wrote)
          _arguments '--session[id of the session]:id' '*:path:_files' && ret=0
          ;;
        (list)
          _arguments '(--all)--lane[the lane of another worktree]:lane:_git-checkpoint-lanes' \
            '(--lane)--all[every lane]' '-n[only the newest]:count' \
            '--json[print an array of JSON objects]' '*:path:_files' && ret=0
          ;;
        (show)
          _arguments '(-p --patch)--stat[also a summary of what changed]' \
            '(--stat -p --patch)'{-p,--patch}'[also a patch of what changed]' \
            '--json[print it as JSON]' '1:checkpoint:_git-checkpoint-numbers' && ret=0
          ;;
        (status)
          _arguments '--json[print it as JSON]' && ret=0
          ;;
        (diff)
          _arguments '--stat[print a summary]' '1:checkpoint:_git-checkpoint-numbers' \
            '2:checkpoint:_git-checkpoint-numbers' '*:path:_files' && ret=0
          ;;
        (undo)
          _arguments $restore '--to[the checkpoint to restore]:checkpoint:_git-checkpoint-numbers' \
            '1:checkpoint:_git-checkpoint-numbers' '*:path:_files' && ret=0
          ;;
        (redo)
          _arguments $restore && ret=0
          ;;
        (fsck)
          _arguments '--json[print it as JSON]' '*:checkpoint:_git-checkpoint-numbers' && ret=0
          ;;
        (drop)
          _arguments $delete '*:checkpoint:_git-checkpoint-numbers' && ret=0
          ;;
        (prune)
          _arguments $delete '--keep[all but the newest]:count' \
            '--older-than[only what is older]:age:(30.days 2.weeks 12.hours now)' \
            '--all[of every lane]' && ret=0
          ;;
        (export)
          _arguments '(-o --output)'{-o,--output}'[write into this file]:file:_files' \
            '1:checkpoint:_git-checkpoint-numbers' && ret=0
          ;;
        (import)
          _arguments '1:file:_files' && ret=0
          ;;
      esac
      ;;
  esac
  return ret
}

_git-checkpoint "$@"
