#include "report_page.h"

#include "output_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char text_page_html[], text_page_css[], text_bars_js[], text_page_js[], text_chart_min_js[],
    text_chart_licence_txt[];

/* Nothing in a script element can end it, or begin a comment: JSON has '<' only in strings. */
static void write_json(FILE *out, const char *json)
{
    for (const char *at; (at = strchr(json, '<')); json = at + 1) {
        fwrite(json, 1, (size_t)(at - json), out);
        fputs("\\u003c", out);
    }
    fputs(json, out);
}

/* page.html, with what its marks stand for. */
static void write_page(FILE *out, const char *json)
{
    const struct {
        const char *mark, *text;
    } parts[] = {{"@CSS@", text_page_css}, {"@LICENCE@", text_chart_licence_txt},
                 {"@DATA@", json},         {"@CHART@", text_chart_min_js},
                 {"@BARS@", text_bars_js}, {"@JS@", text_page_js}};
    const char *rest = text_page_html;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(rest, parts[i].mark);
        if (!at) abort(); /* page.html has them all, in this order */
        fwrite(rest, 1, (size_t)(at - rest), out);
        if (parts[i].text == json) write_json(out, json);
        else fputs(parts[i].text, out);
        rest = at + strlen(parts[i].mark);
    }
    fputs(rest, out);
}

enum status report_write(const struct report_wanted *wanted, const char *path)
{
    json_t *data = NULL;
    struct outfile out = {0};
    enum status st = report_data(wanted, &data);
    if (st) return st;
    char *json = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(REPORT_DIGITS));
    json_decref(data);
    if (!json) return fail(E_MEMORY, "out of memory for the report");
    st = outfile_open(path, &out);
    if (!st) {
        errno = 0;
        write_page(out.stream, json);
        if (fflush(out.stream) || ferror(out.stream))
            st = fail(E_IO, "cannot write %s: %s", path, outfile_why(errno));
        st = outfile_close(&out, st);
    }
    free(json);
    return st;
}
