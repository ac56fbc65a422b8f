# installed.sh: sourced by tests of the installed tree that have set $build. Ends them, skipped, where the build has sanitizers;
# else it is installed in $usr, with its libraries in $lib. $scratch is theirs, and gone when they end.
# shellcheck shell=sh disable=SC2034,SC2154 # what it sets is used, and $build is set, by the test
grep -Eq '^GT_SANITIZE:[A-Z]+=(ON|address|thread)' "$build/CMakeCache.txt" && {
    echo "skipped: the library was built with sanitizers, which its users would have to link, too"
    exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
usr=$scratch/usr
cmake --install "$build" --prefix "$usr" --component Unspecified >/dev/null
lib=$(dirname "$(find "$usr" -name libgemmtune.a)")
