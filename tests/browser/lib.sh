# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Chromium, headless, without network, for tests of what `train` draws. A test file is
#
#     . "$(dirname "$0")/lib.sh"
#     use_browser "${1:-}" GALLERY          # the program under test, and what draws more beside it
#
# and its cases are those of support/cases.sh.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/cases.sh"

# use_browser PROGRAM GALLERY: sets `train`, `gallery`, `browser`, and `work`, a folder that goes.
use_browser() {
    [ -x "$1" ] || { echo "usage: ${0##*/} path/to/train" >&2; exit 2; }
    train=$(realpath "$1")
    # shellcheck disable=SC2034 # the tests read it
    gallery=$(dirname "$train")/../tests/browser/$2
    browser=$(command -v chromium) || {
        skipped=1
        echo "SKIPPED: there is no chromium"
        finish
    }
    work=$(mktemp -d "${TMPDIR:-/tmp}/train-browser.XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
}

# chromium ARGUMENT...: every run has its own profile, and a limit of `limit` seconds; its console is in
# $work/talk.
chromium() {
    HOME=$work timeout -k 5 "${limit:-90}" "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --no-first-run --disable-extensions --disable-background-networking \
        --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$work/profile" "$@" 2>"$work/talk"
}

# told_trouble FILE: what a page of checks has found, of the document that --dump-dom wrote there.
told_trouble() {
    if grep -q '<pre id="trouble">$' "$1"; then
        sed -n '/<pre id="trouble">$/,/<\/pre>/p' "$1" | sed 's/<[^>]*>//g; /^$/d'
    else
        echo "the browser showed nothing: $(tail -n 3 "$work/talk")"
    fi
}
