# bash completion of 'git shadow', through git's own completion: it calls
# _git_shadow when 'git shadow <TAB>' is asked for. Source this file, or install
# it as git-shadow in bash-completion's folder.

__git_shadow_tasks ()
{
	__git shadow list | sed -n 's/^\([^ ][^ ]*\).*/\1/p'
}

__git_shadow_removed ()
{
	__git shadow restore --list | sed -n 's/^\([^ ][^ ]*\).*/\1/p' | sort -u
}

_git_shadow ()
{
	local subcommands="add list show path env run diff finish merge remove restore prune move lock unlock doctor"
	local subcommand="$(__git_find_on_cmdline "$subcommands")"

	case "$prev" in
	--into|--branch|-b)
		__gitcomp_nl "$(__git_heads)"
		return
		;;
	--path)
		return
		;;
	esac
	case "$cur" in
	--sparse=*)
		__gitcomp "inherit none" "" "${cur##--sparse=}"
		return
		;;
	--format=*)
		__gitcomp "shell dotenv json" "" "${cur##--format=}"
		return
		;;
	esac

	case "$subcommand,$cur" in
	,*)
		__gitcomp "$subcommands"
		;;
	add,--*)
		__gitcomp "--as --branch --detach --path --from-dirty --fetch --sparse= --no-deps --no-copy --no-setup --dry-run --quiet --json"
		;;
	add,*)
		__git_complete_refs
		;;
	list,--*)
		__gitcomp "--verbose --json"
		;;
	show,--*)
		__gitcomp "--json"
		;;
	env,--*)
		__gitcomp "--format="
		;;
	run,--*)
		__gitcomp "--test --timeout --session --quiet"
		;;
	diff,--*)
		__gitcomp "--stat"
		;;
	finish,--*)
		__gitcomp "--message --test --no-verify --keep --yes --quiet"
		;;
	merge,--*)
		__gitcomp "--into --squash --ff-only --no-ff --rebase --remove --dry-run --yes --quiet --json"
		;;
	remove,--*)
		__gitcomp "--keep-branch --delete-branch --force --dry-run --yes --quiet --json"
		;;
	restore,--*)
		__gitcomp "--path --branch --list"
		;;
	prune,--*)
		__gitcomp "--merged --older-than --dry-run --yes --quiet --json"
		;;
	lock,--*)
		__gitcomp "--reason"
		;;
	doctor,--*)
		__gitcomp "--fix --dry-run --yes --quiet --json"
		;;
	restore,*)
		__gitcomp_nl "$(__git_shadow_removed)"
		;;
	show,*|path,*|env,*|run,*|diff,*|finish,*|merge,*|remove,*|move,*|lock,*|unlock,*)
		__gitcomp_nl "$(__git_shadow_tasks)"
		;;
	esac
}
