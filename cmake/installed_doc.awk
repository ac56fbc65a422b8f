# A document as it is installed: links to what is not installed become their text. A picture must be installed.
# -v name=its path from the root: docs/run.md. -v installed=paths of all that is installed, from the root, between blanks.
BEGIN {
    folder = name
    if (!sub(/\/[^\/]*$/, "/", folder)) folder = ""
    installed = " " installed " "
}
/^ *```/ { raw = !raw }
function path_of(target) { # from the root
    sub(/#.*/, "", target)
    target = folder target
    while (sub(/[^\/]+\/\.\.\//, "", target)) ;
    return target
}
{
    line = ""
    while (!raw && match($0, /\[[^][]*\]\([^)#: ][^): ]*\)/)) {
        before = substr($0, 1, RSTART - 1)
        link = substr($0, RSTART, RLENGTH)
        $0 = substr($0, RSTART + RLENGTH)
        at = index(link, "](")
        target = path_of(substr(link, at + 2, length(link) - at - 2))
        if (!index(installed, " " target " ")) {
            if (before ~ /!$/) { print name ": the picture " target " is not installed" >"/dev/stderr"; exit 1 }
            link = substr(link, 2, at - 2)
        }
        line = line before link
    }
    print line $0
}
