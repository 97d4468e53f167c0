// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

// The whole script stands between single quotes on one line. Rules for changing it: no single
// quote, `!`, backslash before a quote or a backslash, or newline; POSIX sh plus `test -O`, which
// all of them have; names start with an underscore, because assigning to a variable that the user
// exports would change the workers' environment. The way to a cached binary starts no process.
constexpr std::string_view script =
    "_n=$1 _b=$2 _k=$3 _v=$4; exec 3>&1; "
    "_say() { printf \"train:%s:%s\\n\" \"$_n\" \"$*\" >&3; }; "
    // Owned by us and no symbolic link: in a sticky folder nobody else can have put it there.
    "_own() { [ -O \"$1\" ] && if [ -h \"$1\" ]; then false; fi; }; "
    "_has() { _own \"$_d\" && _own \"$_d/$_b\" && [ -f \"$_d/$_b\" ] && [ -x \"$_d/$_b\" ]; }; "
    "_go() { _say ready $SSH_CONNECTION; exec \"$_d/$_b\" agent \"$_v\" \"$_k\" 3>&-; }; "
    // Runs in a subshell whose output is the reason for giving up a place. Sizes are checked before
    // the checksum, for hosts without sha256sum; whoever fails half way, exactly the promised bytes
    // are taken from stdin, so that the next place can ask for them again.
    "_put() { umask 077; _t=$_d/.$_b.$_n; mkdir -p \"$_d\" || return 1; "
    "_own \"$_d\" || { echo it is not a folder of this user; return 1; }; "
    "chmod 700 \"$_d\" || return 1; "
    "find \"$_d\" -name \".train-*\" -mtime +1 -exec rm -f {} + > /dev/null 2>&1; "
    // An empty executable file is an empty script: a place that is full, read-only or noexec is
    // found out before megabytes travel.
    ": > \"$_t\" && chmod 700 \"$_t\" || return 1; "
    "\"$_t\" < /dev/null 2> /dev/null || { echo \"it allows no programs (noexec)\"; return 1; }; "
    "_say need \"$(uname -m)\" \"$(uname -s)\"; "
    "read -r _z _s _c || { echo the upload did not come; return 1; }; "
    "head -c \"$_z\" | { gzip -dc > \"$_t\"; _r=$?; cat > /dev/null; exit $_r; } || return 1; "
    "[ \"$(wc -c < \"$_t\")\" -eq \"$_s\" ] || { echo the upload has the wrong size; return 1; }; "
    "if command -v sha256sum > /dev/null; then case $(sha256sum < \"$_t\") in \"$_c\"*) ;; "
    "*) echo the upload has the wrong checksum; return 1;; esac; fi; "
    // No other place changes that.
    "\"$_t\" --version < /dev/null > /dev/null || { echo \"(it does not run there)\"; return 2; }; "
    // Another launcher may have put it there meanwhile, and may be running it from NFS.
    "if _has; then rm -f \"$_t\"; else mv -f \"$_t\" \"$_d/$_b\"; fi; _has; }; "
    "case $HOME in /*) _d=$HOME/.cache/train; _has && _go;; esac; "
    "_u=$(id -u); for _d in /var/tmp/train-$_u /tmp/train-$_u /dev/shm/train-$_u; "
    "do _has && _go; done; "
    "_e=; for _d in ${HOME:+\"$HOME/.cache/train\"} /var/tmp/train-$_u /tmp/train-$_u "
    "/dev/shm/train-$_u; do _r=$(_put 2>&1); _q=$?; [ $_q -eq 0 ] && _go; rm -f \"$_d/.$_b.$_n\" "
    "2> /dev/null; "
    // The last words of what a tool said: names of programs and files, and lines, go before them.
    "_r=${_r##*: }; _e=\"$_e $_d: ${_r:-unknown trouble};\"; [ $_q -eq 2 ] && break; done; set -f; "
    "_say failed $_e; exit 1";

bool is_plain_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !word.empty() && word.size() <= 100 && std::all_of(word.begin(), word.end(), is_plain);
}

}  // namespace

Result<std::string> bootstrap_command(const BootstrapRequest& request) {
  for (const std::string* word :
       {&request.nonce, &request.build_id, &request.agent_key, &request.verb})
    if (!is_plain_word(*word))
      return fail(ErrorClass::bug, fmt::format("'{}' cannot stand in a bootstrap command", *word));
  return fmt::format("exec /bin/sh -c '{}' train {} train-{} {} {}", script, request.nonce,
                     request.build_id, request.agent_key, request.verb);
}

std::string bootstrap_marker(const std::string& nonce) { return "train:" + nonce + ":"; }

std::string upload_header(std::uint64_t packed_size, std::uint64_t size,
                          const std::string& sha256) {
  return fmt::format("{} {} {}\n", packed_size, size, sha256);
}

}  // namespace train
