#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What --help says, as roff for the manual; tests/documents_test.sh puts it there.
#   man_options.sh path/to/train options [COMMAND]   arguments and options of a command
#   man_options.sh path/to/train commands            the commands, each with its page
set -u
if (($# < 2 || $# > 3)); then
    sed -n 's/^#   /usage: /p' "$0" >&2
    exit 2
fi

# shellcheck disable=SC2086 # a command of two words
"$1" ${3:-} --help | awk -v wanted="$2" -v command="${3:-}" '
    # A sentence as a line of roff: no control line; hyphens that begin a word are typed by the reader.
    function sentence(text) {
        gsub(/\\/, "\\e", text)
        text = " " toupper(substr(text, 1, 1)) substr(text, 2)
        while (match(text, / --?[a-zA-Z0-9 ;,]/)) {
            if (substr(text, RSTART + 1, 2) == "--") sub(/ --/, " \\-\\-", text)
            else sub(/ -/, " \\-", text)
        }
        gsub(/\(-/, "(\\-", text)
        text = substr(text, 2)
        if (text ~ /^[.\x27]/) text = "\\&" text
        return text "."
    }
    # LIST, KEY=VALUE and N|all as arguments: what has capitals is replaced.
    function argument(word,   parts, count, i, roff) {
        if (word == "...") return " ..."
        count = split(word, parts, "=")
        if (count == 2) return " Ar " tolower(parts[1]) " Ns = Ns Ar " tolower(parts[2])
        count = split(word, parts, "|")
        for (i = 1; i <= count; i++)
            roff = roff (i > 1 ? " |" : "") (parts[i] ~ /[A-Z]/ ? " Ar " : " Cm ") tolower(parts[i])
        return roff
    }
    # "-f,--follow" is "Fl f , Fl Fl follow".
    function flags(word,   parts, count, i, roff) {
        count = split(word, parts, ",")
        for (i = 1; i <= count; i++) {
            roff = roff (i > 1 ? " ," : "")
            roff = roff (parts[i] ~ /^--/ ? " Fl Fl " substr(parts[i], 3) : " Fl " substr(parts[i], 2))
        }
        return roff
    }
    # The head of an item, and which options exclude it.
    function item(head,   words, count, i, roff, others) {
        count = split(head, words, " ")
        roff = words[1] ~ /^-/ ? flags(words[1]) : argument(words[1])
        if (words[2] ~ /=/ && words[1] !~ /^-/) roff = "" # METRICS NAME=VALUE
        excluded = ""
        for (i = 2; i <= count && words[i] != "Excludes:"; i++) roff = roff argument(words[i])
        for (i++; i <= count; i++) {
            others = i == count ? "" : i == count - 1 ? " or " : ", "
            sub(/^--/, "\\-\\-", words[i])
            excluded = excluded words[i] others
        }
        return ".It" roff
    }
    function begin() { if (!items++) print ".Bl -tag -width Ds" }
    function show(head, text) {
        if (command != "" && head ~ /^-h,/) return
        begin()
        print item(head)
        print sentence(text)
        if (excluded != "") print "Not with " excluded "."
    }
    # What stands in front of column 31, where the text of an item begins, or below it where it is long.
    function is_continued(line) { return substr(line, 1, 30) ~ /^ +$/ }
    /^[A-Z][a-z]*:/ { section = $1; next }
    section == "Commands:" && wanted == "commands" && NF {
        begin()
        print ".It Xr train-" $1 " 1"
        print sentence(substr($0, 31))
    }
    wanted == "options" && section ~ /^(Options|Positionals):$/ && NF { lines[++count] = $0 }
    /^$/ { section = "" }
    END {
        for (n = 1; n <= count; n++) {
            if (n < count && is_continued(lines[n + 1])) { show(substr(lines[n], 3), substr(lines[n + 1], 31)); n++ }
            else show(substr(lines[n], 3, 28), substr(lines[n], 31))
        }
        if (items) print ".El"
    }
'
