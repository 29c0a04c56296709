#compdef git-replay
#description record the commits of a run, and rebuild them with the same ids
# zsh completion of 'git-replay'. Install as _git-replay in a folder of $fpath.

_git-replay-revisions () {
  local -a revisions
  revisions=(${(f)"$(_call_program revisions git for-each-ref --format='%\(refname:short\)' refs/heads refs/tags 2>/dev/null)"})
  _describe -t revisions revision revisions
}

_git-replay () {
  local curcontext=$curcontext state line ret=1
  local -a run quiet
  typeset -A opt_args

  quiet=('(-q --quiet)'{-q,--quiet}'[say only what must be seen]')
  run=(
    '--from[begin at this commit]:base:_git-replay-revisions'
    '(--check)--branch[make this branch]:branch:_git-replay-revisions'
    '(--branch)--check[write nothing at all]'
    '*--prompt[the prompt of the next turn]:text'
    '*--prompt-file[the same, from a file]:file:_files'
    '--work-branch[what {{WORK_BRANCH}} stands for]:name'
    '--divergence=[whether a divergence ends it]:policy:(fail warn)'
    '--stop-after[replay this many turns at most]:turns'
    '(--json)--events[emit the recorded events again]'
    '--session[append the events to this trajectory]:id'
    '(--events)--json[print one JSON document]'
    $quiet
  )

  _arguments -C $run '1: :->command' '*:: :->argument' && ret=0

  case $state in
    (command)
      local -a commands
      commands=(
        'run:rebuild the commits of a journal'
        'record:record commits as a journal'
        'test:check many journals in parallel'
        'show:show what a journal holds'
        'diff:compare two journals'
        'bisect:find where a journal and a branch part'
        'convert:write a journal in another form'
      )
      _describe -t commands command commands && ret=0
      _files -g '*.(json|jsonl|ndjson)' && ret=0
      ;;
    (argument)
      case $line[1] in
        (run)
          _arguments $run '1:journal:_files' && ret=0
          ;;
        (record)
          _arguments '(-o --output)'{-o,--output}'[the journal to write]:journal:_files' \
            '*--prompt[a prompt of the run]:text' '*--prompt-file[the same, from a file]:file:_files' \
            '--no-prompt[record no prompt and mark it]' '--session[take prompts and usage from this trajectory]:id' \
            '--patches=[form of the patches]:form:(binary text)' '--no-lossless[leave out the raw commits]' \
            '--max-size[bytes of patches and messages]:bytes' '(-y --yes)'{-y,--yes}'[replace the journal]' \
            $quiet '1:range:_git-replay-revisions' && ret=0
          ;;
        (test)
          _arguments '--from[begin each at this commit]:base:_git-replay-revisions' \
            '(-j --jobs)'{-j,--jobs}'[how many at a time]:number' \
            '--format=[how to print the verdicts]:format:(human json junit tap)' \
            $quiet '*:journal:_files' && ret=0
          ;;
        (show)
          _arguments '(-p --patch --json)'{-p,--patch}'[also the patches]' \
            '--json[print one JSON document]' $quiet '1:journal:_files' && ret=0
          ;;
        (diff)
          _arguments '--json[print one JSON document]' $quiet '*:journal:_files' && ret=0
          ;;
        (bisect)
          _arguments '--json[print one JSON document]' $quiet '1:journal:_files' \
            '2:revision:_git-replay-revisions' && ret=0
          ;;
        (convert)
          _arguments '--patches=[form of the patches]:form:(binary text)' \
            '(-y --yes)'{-y,--yes}'[replace the output]' $quiet '*:journal:_files' && ret=0
          ;;
      esac
      ;;
  esac
  return ret
}

_git-replay "$@"
