#!/usr/bin/env python3
"""installed_links.py FOLDER: every link of the documents in this folder leads to a file in it, and to a heading of that file."""
import os
import re
import sys

LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")


def text_of(path):
    """The document without what is shown as it is."""
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^ *```.*?^ *```", "", file.read(), flags=re.M | re.S)


def anchors(path):
    headings = re.findall(r"^#+ +(.*)$", text_of(path), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead(top):
    """(number of links, those that lead nowhere)."""
    count, wrong = 0, []
    for folder, _, files in sorted(os.walk(top)):
        for name in sorted(files):
            if not name.endswith(".md"):
                continue
            path = os.path.join(folder, name)
            for target in LINK.findall(re.sub(r"`[^`\n]*`(?!\])", "", text_of(path))):
                if re.match(r"[a-z]+:", target):
                    continue
                count += 1
                file, _, anchor = target.partition("#")
                there = os.path.normpath(os.path.join(folder, file)) if file else path
                inside = there.startswith(os.path.join(top, ""))
                if not inside or not os.path.exists(there) or (anchor and anchor not in anchors(there)):
                    wrong.append(f"{os.path.relpath(path, top)} links to {target}, which is not installed")
    return count, wrong


def main():
    top = os.path.abspath(sys.argv[1])
    count, wrong = dead(top)
    print("\n".join(wrong + [f"{count} links, {len(wrong)} of them dead"]))
    if count < 50:
        sys.exit("so few links are no documents")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
