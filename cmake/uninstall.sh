#!/bin/sh
# uninstall.sh LIST: the target uninstall. Removes the files that LIST names, one a line (installed_list.cmake), then folders named
# gemmtune, and those below them, that are empty. LIST stays if a file cannot be removed.
set -eu
list=$1
[ -e "$list" ] || {
    echo "Nothing is known to be installed from this build folder: there is no $list" >&2
    exit 1
}

# is_ours FOLDER
is_ours() {
    case $1/ in
    */gemmtune/*) ;;
    *) return 1 ;;
    esac
}

removed=0 failed=0
while IFS= read -r file; do
    [ -e "$file" ] || [ -L "$file" ] || continue
    if rm -f "$file"; then removed=$((removed + 1)); else failed=$((failed + 1)); fi
    folder=${file%/*}
    while is_ours "$folder" && rmdir "$folder" 2>/dev/null; do folder=${folder%/*}; done
done <"$list"
echo "$removed files removed"
[ $failed = 0 ] || {
    echo "$failed files could not be removed; $list still names them" >&2
    exit 1
}
rm "$list"
