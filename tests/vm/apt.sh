# shellcheck shell=bash
# To be sourced: apt with a state of its own below $cache, for $arch; the system's sources, lists and architectures stay as they are.
apt_private() {
	local tool=$1 state=$cache/apt/$arch
	shift
	"$tool" -o Dir::State="$state" -o Dir::State::lists="$state/lists" \
		-o Dir::State::status="$state/status" -o Dir::Cache="$state/cache" \
		-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- \
		-o APT::Architecture=$arch -o APT::Architectures=$arch \
		-o Acquire::Languages=none -o APT::Sandbox::User=root \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 "$@"
}
