# docs/environment.md as the man page gemmtune-environment(7): its paragraphs, and for each row of a table an item with its cells. A
# heading of a table stands before what its column says, but for the first two.
# -v version=VERSION
BEGIN {
    print ".TH GEMMTUNE\\-ENVIRONMENT 7 \"\" \"gemmtune " version "\" \"gemmtune\""
    print ".SH NAME\ngemmtune\\-environment \\- variables and files of gemmtune\n.SH DESCRIPTION"
}
function roff(text) {
    while (match(text, /\[[^][]*\]\([^)]*\)/)) { # a link is its text
        link = substr(text, RSTART + 1, RLENGTH - 2)
        sub(/\]\(.*/, "", link)
        text = substr(text, 1, RSTART - 1) link substr(text, RSTART + RLENGTH)
    }
    gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); gsub(/'/, "\\(aq", text); gsub(/`|\*\*/, "", text)
    sub(/^\./, "\\\\\\&.", text)
    return text
}
function trim(text) { gsub(/^ +| +$/, "", text); return text }
/^# / { next }
/^## / { print ".SH " toupper(roff(substr($0, 4))); next }
/^\|[-|]+\|$/ { in_table = 1; next }
/^\|/ {
    columns = split($0, cell, "|") - 1
    if (!in_table) { for (i = 2; i <= columns; i++) heading[i] = trim(cell[i]); next }
    print ".TP\n.B " roff(trim(cell[2])) "\n" roff(trim(cell[3]))
    for (i = 4; i <= columns; i++)
        if (trim(cell[i]) != "") print ".br\n" toupper(substr(heading[i], 1, 1)) roff(substr(heading[i], 2)) ": " roff(trim(cell[i]))
    next
}
{ in_table = 0 }
!NF { print ".PP"; next }
{ print roff($0) }
END { print ".SH SEE ALSO\n.BR tune (1),\n.BR gemmtune (3)" }
