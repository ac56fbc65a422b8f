# The manual that `tune --help` prints, as a man page: lines at the margin are sections, the rest is shown as it is.
BEGIN { print ".TH TUNE 1 \"\" \"gemmtune " version "\" \"gemmtune\"" }
{ gsub(/\\/, "\\e"); gsub(/-/, "\\-"); gsub(/'/, "\\(aq") }
/^NAME$/ { print ".SH NAME"; name = 1; next }
/^[A-Z]/ { close_block(); print ".SH " $0; name = 0; next }
name { if (NF) { sub(/^ +/, ""); print }; next }
!open { if (!NF) next; print ".nf"; open = 1 }
{ sub(/^    /, ""); sub(/^\./, "\\\\\\&."); print }
END { close_block() }
function close_block() { if (open) print ".fi"; open = 0 }
