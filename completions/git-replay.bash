# bash completion of 'git-replay', and of 'git replay' where git has no builtin
# of that name, through git's own completion. Source this file, or install it
# as git-replay in bash-completion's folder.

__git_replay_journal ()
{
	local subcommands="run record test show diff bisect convert"
	local subcommand="$(__git_find_on_cmdline "$subcommands")"

	case "$prev" in
	--from|--branch)
		__git_complete_refs
		return
		;;
	esac
	case "$cur" in
	--divergence=*)
		__gitcomp "fail warn" "" "${cur##--divergence=}"
		return
		;;
	--patches=*)
		__gitcomp "binary text" "" "${cur##--patches=}"
		return
		;;
	--format=*)
		__gitcomp "human json junit tap" "" "${cur##--format=}"
		return
		;;
	esac

	case "$subcommand,$cur" in
	,--*|run,--*)
		__gitcomp "--from --branch --check --prompt --prompt-file --work-branch --divergence= --stop-after --events --session --json --quiet"
		;;
	record,--*)
		__gitcomp "--output --prompt --prompt-file --no-prompt --session --patches= --no-lossless --max-size --yes --quiet"
		;;
	test,--*)
		__gitcomp "--from --jobs --format= --quiet"
		;;
	show,--*)
		__gitcomp "--patch --json --quiet"
		;;
	diff,--*|bisect,--*)
		__gitcomp "--json --quiet"
		;;
	convert,--*)
		__gitcomp "--patches= --yes --quiet"
		;;
	record,*|bisect,*)
		__git_complete_refs
		;;
	,*)
		# Else the journals of this folder, which bash itself completes.
		case "$cur" in
		*[./]*|"") ;;
		*) __gitcomp "$subcommands" ;;
		esac
		;;
	esac
}

if declare -F __git_complete >/dev/null; then
	__git_complete git-replay __git_replay_journal
fi
# git's own program keeps its own completion.
case " $(git --list-cmds=builtins 2>/dev/null | tr '\n' ' ') " in
*" replay "*) ;;
*)
	_git_replay ()
	{
		__git_replay_journal
	}
	;;
esac
