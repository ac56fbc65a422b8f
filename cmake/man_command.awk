# What `tune COMMAND --help` prints, as a man page: the lines as they are, sections in the order of man pages.
# -v command=NAME -v version=VERSION
function put(section, line) {
    if (line == "" && !(section in text)) return
    if (line == "") { gaps[section]++; return }
    while (gaps[section] > 0) { text[section] = text[section] "\n"; gaps[section]-- }
    text[section] = text[section] line "\n"
}
function show(title, section) { if (section in text) printf ".SH %s\n.nf\n%s.fi\n", title, text[section] }

{ gsub(/\\/, "\\e"); gsub(/-/, "\\-"); gsub(/'/, "\\(aq"); sub(/^\./, "\\\\\\&.") }
/^(Usage:|  or: )/ { sub(/^(Usage:|  or:) */, ""); put("synopsis", $0); at = "summary"; next }
at == "summary" && NF { summary = summary (summary == "" ? "" : " ") $0; next }
at == "summary" { at = "options"; next }
/^Mandatory or optional arguments/ { at = "skipped"; next }
at == "skipped" && !NF { at = "description"; next }
at == "skipped" { next }
/^Examples:/ { at = "examples"; next }
/^Exit status:/ { at = "status"; sub(/^Exit status: */, "") }
{ put(at, $0) }

END {
    sub(/\.$/, "", summary)
    page = "tune\\-" command
    printf ".TH TUNE\\-%s 1 \"\" \"gemmtune %s\" \"gemmtune\"\n", toupper(command), version
    printf ".SH NAME\n%s \\- %s\n", page, tolower(substr(summary, 1, 1)) substr(summary, 2)
    show("SYNOPSIS", "synopsis")
    show("DESCRIPTION", "description")
    show("OPTIONS", "options")
    show("EXAMPLES", "examples")
    show("EXIT STATUS", "status")
    print ".SH SEE ALSO\n.BR tune (1)"
}
