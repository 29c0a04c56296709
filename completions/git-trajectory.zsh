#compdef git-trajectory
#description what an agent did, one line an event
# zsh completion of 'git trajectory'. Install as _git-trajectory in a folder of
# $fpath; zsh's own completion of git finds it by that name.

_git-trajectory-sessions () {
  local -aU sessions
  local folder
  folder=$(_call_program folder git rev-parse --git-common-dir 2>/dev/null)
  sessions=(${${${${(f)"$(print -l $folder/harness/trajectories/*.jsonl(N:t))"}%.jsonl}%.import}#*-})
  _describe -t sessions session sessions
}

_git-trajectory () {
  local curcontext=$curcontext state line ret=1
  local -a agents
  typeset -A opt_args
  agents=(claude codex gemini opencode pi)

  _arguments -C '1: :->command' '*:: :->argument' && ret=0

  case $state in
    (command)
      local -a commands
      commands=(
        'install:put the hook into an agent'\''s settings'
        'hook:what agents call'
        'log:write one event'
        'import:read the agents'\'' own transcripts'
        'list:list the sessions'
        'show:show the events of a session'
        'last:show the last run or session'
        'ingest:bring the mirror up to date'
        'replay:run git-replay'
        'sql:ask the mirror a question'
        'start:begin a run'
        'phase:run one phase'
        'finish:end a run'
        'prune:delete old sessions'
        'scan:look for secrets in files'
        'doctor:say why there is no record'
      )
      _describe -t commands command commands && ret=0
      ;;
    (argument)
      curcontext=${curcontext%:*}-$line[1]:
      case $line[1] in
        (install)
          _arguments '--scope=[for whom]:what:(user project local)' \
            '--uninstall[take it out again]' \
            '(-n --dry-run)'{-n,--dry-run}'[show what would change]' \
            '(-y --yes)'{-y,--yes}'[do not ask]' \
            "*:agent:($agents)" && ret=0
          ;;
        (hook)
          _arguments '--stream[read one event a line]' \
            "1:agent:($agents)" && ret=0
          ;;
        (log)
          _arguments '--session[the session]:id:_git-trajectory-sessions' \
            '--payload[the payload, a JSON object]:json:' && ret=0
          ;;
        (import)
          _arguments '--since[only transcripts that changed since]:time:' \
            '--json[print JSON]' \
            '*:file:_files' && ret=0
          ;;
        (list)
          _arguments '--json[print JSON]' \
            '--no-ingest[read the mirror as it is]' && ret=0
          ;;
        (show)
          _arguments '(-f --follow)'{-f,--follow}'[print what comes as it comes]' \
            '--json[print JSON]' \
            '--no-ingest[read the mirror as it is]' \
            '1:session:_git-trajectory-sessions' && ret=0
          ;;
        (last)
          _arguments '--no-ingest[read the mirror as it is]' && ret=0
          ;;
        (ingest)
          _arguments '--rebuild[read all logs again]' \
            '--session[only this session]:id:_git-trajectory-sessions' \
            '(-q --quiet)'{-q,--quiet}'[say nothing]' \
            '--json[print JSON]' && ret=0
          ;;
        (sql)
          _arguments '--json[print one JSON object a row]' \
            '--csv[print CSV]' \
            '--no-ingest[read the mirror as it is]' && ret=0
          ;;
        (start)
          _arguments '--request[what was asked for]:text:' && ret=0
          ;;
        (phase)
          _arguments '--run[the run]:id:' \
            '--kind=[an agent works, or a program]:what:(agent code)' \
            '--retries[how often it is tried again]:n:' \
            '--timeout[how long one try may take]:time:' \
            '1:name:' '*:::command:_normal' && ret=0
          ;;
        (finish)
          _arguments '--run[the run]:id:' \
            '--fail[it failed]' && ret=0
          ;;
        (prune)
          _arguments '--older-than[how old]:age:' \
            '--keep-summary[keep the sums]' \
            '(-n --dry-run)'{-n,--dry-run}'[show what would go]' \
            '(-y --yes)'{-y,--yes}'[do not ask]' && ret=0
          ;;
        (scan)
          _arguments '*:file:_files' && ret=0
          ;;
        (doctor)
          _arguments '--json[print JSON]' && ret=0
          ;;
      esac
      ;;
  esac
  return ret
}

_git-trajectory "$@"
