# bash completion of 'git trajectory', through git's own completion: it calls
# _git_trajectory when 'git trajectory <TAB>' is asked for. Source this file, or
# install it as git-trajectory in bash-completion's folder.

__git_trajectory_sessions ()
{
	local folder="$(__git rev-parse --git-common-dir)/harness/trajectories" # git config
	local file
	for file in "$folder"/*.jsonl; do
		file="${file##*/}" file="${file%.jsonl}" file="${file%.import}"
		printf '%s\n' "${file#*-}"
	done | sort -u
}

_git_trajectory ()
{
	local subcommands="install hook log import list show last ingest sql replay start phase finish prune scan doctor"
	local subcommand="$(__git_find_on_cmdline "$subcommands")"

	case "$prev" in
	--session)
		__gitcomp_nl "$(__git_trajectory_sessions)"
		return
		;;
	esac
	case "$cur" in
	--scope=*)
		__gitcomp "user project local" "" "${cur##--scope=}"
		return
		;;
	--kind=*)
		__gitcomp "agent code" "" "${cur##--kind=}"
		return
		;;
	esac

	case "$subcommand,$cur" in
	,*)
		__gitcomp "$subcommands"
		;;
	install,--*)
		__gitcomp "--scope= --uninstall --dry-run --yes"
		;;
	hook,--*)
		__gitcomp "--stream"
		;;
	log,--*)
		__gitcomp "--session --payload"
		;;
	import,--*)
		__gitcomp "--since --json"
		;;
	list,--*)
		__gitcomp "--json --no-ingest"
		;;
	show,--*)
		__gitcomp "--follow --json --no-ingest"
		;;
	last,--*)
		__gitcomp "--no-ingest"
		;;
	ingest,--*)
		__gitcomp "--rebuild --session --quiet --json"
		;;
	sql,--*)
		__gitcomp "--json --csv --no-ingest"
		;;
	start,--*)
		__gitcomp "--request"
		;;
	phase,--*)
		__gitcomp "--run --kind= --retries --timeout"
		;;
	finish,--*)
		__gitcomp "--run --fail"
		;;
	prune,--*)
		__gitcomp "--older-than --keep-summary --dry-run --yes"
		;;
	doctor,--*)
		__gitcomp "--json"
		;;
	install,*|hook,*|import,*)
		__gitcomp "claude codex gemini opencode pi"
		;;
	show,*)
		__gitcomp_nl "$(__git_trajectory_sessions)"
		;;
	esac
}
