# runtime/gemmtune.h as a man page: its comments and declarations as they are, a section for each "---- title ----".
# -v version=VERSION
BEGIN { print ".TH GEMMTUNE 3 \"\" \"gemmtune " version "\" \"gemmtune\"" }
/SPDX-License-Identifier/ { next }
{ gsub(/\\/, "\\e"); gsub(/-/, "\\-"); gsub(/'/, "\\(aq") }
!named {
    named = 1
    sub(/^\/\* gemmtune\.h (\\-|—) /, "")
    sub(/\.$/, "")
    print ".SH NAME\ngemmtune \\- " $0
    print ".SH SYNOPSIS\n.nf\n#include <gemmtune.h>\n\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs gemmtune)\n.fi"
    print ".SH DESCRIPTION\n.nf"
    next
}
/^#(ifndef|ifdef|define|include|endif)|^extern "C" \{|^\}$/ { next }
index($0, "/* \\-\\-\\-\\- ") == 1 {
    gsub(/^\/\* [\\-]+ | [\\-]+ \*\/$/, "")
    print ".fi\n.SH " toupper($0) "\n.nf"
    blank = 1
    next
}
!described { # the comment at the head of the file, without its stars
    if (/^ \*\//) { described = 1; next }
    sub(/^ \* ?/, "")
}
!NF { blank = 1; next }
{ if (blank) print ""; blank = 0; sub(/^\./, "\\\\\\&."); print }
END { print ".fi\n.SH SEE ALSO\n.BR tune (1)" }
