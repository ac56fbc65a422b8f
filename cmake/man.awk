# The manual that `tune --help` prints, as a man page: lines at the margin are sections, a word and what stands behind it at a
# distance is an item, other indented lines are paragraphs. SYNOPSIS and EXAMPLES are shown as they are.
BEGIN { print ".TH TUNE 1 \"\" \"gemmtune " version "\" \"gemmtune\"" }
function roff(line) { gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line); gsub(/'/, "\\(aq", line); sub(/^\./, "\\\\\\&.", line); return line }
function leave_raw() { if (raw) print ".fi"; raw = 0 }
/^[A-Z]/ { leave_raw(); print ".SH " $0; section = $0; gap = 0; next }
!NF { gap = 1; next }
section == "SYNOPSIS" || section == "EXAMPLES" || section == "FILES" {
    if (!raw) print ".nf"
    raw = 1; sub(/^    /, ""); print roff($0); next
}
{
    match($0, /^ */); indent = RLENGTH
    line = substr($0, indent + 1)
    at = match(line, /   *[^ ]/)
    if (indent == 4) leave_raw()
    if (indent == 4 && gap) item = 0
    if (indent == 4 && at) { # an item and the start of its text
        print ".TP"; print roff(substr(line, 1, at - 1)); sub(/^.*$/, substr(line, at)); sub(/^ +/, ""); print roff($0); item = 1
    } else if (indent == 4 && line ~ /^(--?[a-z]|[A-Z_]+$|GEMMTUNE_)/ && section != "DESCRIPTION") { # an item alone
        print ".TP"; print roff(line); item = 1
    } else if (indent > 4 && (raw || (gap && !item))) { # shown as it is
        if (!raw) print ".nf"
        raw = 1; print "  " roff(line)
    } else {
        leave_raw()
        if (gap && !(item && indent > 4)) print ".PP"
        print roff(line)
    }
    gap = 0
}
END {
    leave_raw()
    print ".SH SEE ALSO\n.BR tune\\-query (1)\nand so on for each command,\n.BR gemmtune\\-environment (7),\n.BR gemmtune (3)"
}
