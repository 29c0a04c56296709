# bash completion of 'git checkpoint', through git's own completion: it calls
# _git_checkpoint when 'git checkpoint <TAB>' is asked for. Source this file, or
# install it as git-checkpoint in bash-completion's folder.

__git_checkpoint_numbers ()
{
	__git for-each-ref --format='%(refname)' refs/harness/checkpoints |
		sed -e 's,^refs/harness/checkpoints/,,' -e 's,^main/,,'
}

_git_checkpoint ()
{
	local subcommands="save wrote list show status diff undo redo fsck drop prune export import"
	local subcommand="$(__git_find_on_cmdline "$subcommands")"

	case "$prev" in
	--lane)
		__gitcomp_nl "$(__git for-each-ref --format='%(refname)' refs/harness/checkpoints |
			sed -e 's,^refs/harness/checkpoints/,,' -e 's,/.*,,' | sort -u)"
		return
		;;
	--to|--after)
		__gitcomp_nl "$(__git_checkpoint_numbers)"
		return
		;;
	esac
	case "$cur" in
	--before=*)
		__gitcomp "write command" "" "${cur##--before=}"
		return
		;;
	--others=*)
		__gitcomp "ask keep revert" "" "${cur##--others=}"
		return
		;;
	esac

	case "$subcommand,$cur" in
	,--*)
		__gitcomp "--message --before= --after --if-changed --tool --path --call --session --quiet --json"
		;;
	,*)
		__gitcomp "$subcommands"
		;;
	save,--*)
		__gitcomp "--message --before= --after --if-changed --tool --path --call --session --quiet --json"
		;;
	list,--*)
		__gitcomp "--lane --all --json"
		;;
	show,--*)
		__gitcomp "--stat --patch --json"
		;;
	wrote,--*)
		__gitcomp "--session"
		;;
	status,--*)
		__gitcomp "--json"
		;;
	diff,--*)
		__gitcomp "--stat"
		;;
	undo,--*)
		__gitcomp "--to --others= --agent-only --no-head --dry-run --yes --quiet --json"
		;;
	redo,--*)
		__gitcomp "--others= --agent-only --no-head --dry-run --yes --quiet --json"
		;;
	fsck,--*)
		__gitcomp "--json"
		;;
	drop,--*)
		__gitcomp "--dry-run --yes --quiet"
		;;
	prune,--*)
		__gitcomp "--keep --older-than --all --dry-run --yes --quiet"
		;;
	export,--*)
		__gitcomp "--output"
		;;
	show,*|diff,*|undo,*|fsck,*|drop,*|export,*)
		__gitcomp_nl "$(__git_checkpoint_numbers)"
		;;
	esac
}
