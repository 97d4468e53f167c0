// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

// The whole script is one line in single quotes. Rules for changing it: no single quote, `!`,
// backslash before a quote or a backslash, or newline; only POSIX sh plus `test -O` and `-ef`,
// which all shells have; names start with an underscore, because assigning to a variable that the
// user exports would change the workers' environment. If the binary is already in the home
// directory, no other process is started.
constexpr std::string_view script =
    "_n=$1 _b=$2 _k=$3 _v=$4 _w=$PWD _u=; exec 3>&1; "
    "_say() { printf \"train:%s:%s\\n\" \"$_n\" \"$*\" >&3; }; "
    // Enters the folder $_d, which must belong to this user and must not be a symbolic link. A
    // process that may rename entries beside it could exchange it between two checks of its path,
    // so it is entered once, and `.` is checked. A shared place ($_p) must contain it, and no other
    // user may write to it.
    "_in() { case $_d in */train-$_u) _p=${_d%/*};; *) _p=;; esac; "
    "if [ -h \"$_d\" ]; then false; else cd -P \"$_d\" 2> /dev/null; fi && [ -O . ] && "
    "case $_p in ?*) [ .. -ef \"$_p\" ] && "
    "case $(ls -ldn .) in drwx------*) ;; *) false;; esac;; esac; }; "
    "_is() { [ -O \"./$_b\" ] && [ -f \"./$_b\" ] && [ -x \"./$_b\" ] && "
    "if [ -h \"./$_b\" ]; then false; fi; }; "
    "_has() { _in && _is; }; "
    // Restores PWD and OLDPWD, so that the workers' environment does not show the agent's folder.
    "_go() { _say ready $SSH_CONNECTION; PWD=$_w; unset OLDPWD; "
    "exec \"./$_b\" agent \"$_v\" \"$_k\" 3>&-; }; "
    // Removes the remains of interrupted uploads: plain files with exactly the names that uploads
    // use (40 hexadecimal digits for the binary, 32 for the connection), in this folder only.
    "_tidy() { _h=[0-9a-f]; _h=$_h$_h$_h$_h; _g=$_h$_h; _h=$_g$_g$_g$_g; "
    "find . -name . -o -type f -name \".train-$_h$_g.$_h\" -mtime +1 -exec rm -f {} + -o -prune "
    "> /dev/null 2>&1; }; "
    // Checks the size before the checksum, for hosts without sha256sum. On any failure, exactly the
    // announced bytes are read from stdin, so that the next place can ask for them again. An empty
    // executable file is an empty script, which shows before the upload whether a place is full,
    // read-only or noexec.
    "_fill() { : > \"$_t\" && chmod 700 \"$_t\" || return 1; "
    "\"./$_t\" < /dev/null 2> /dev/null || { echo \"it allows no programs (noexec)\"; return 1; }; "
    "_say need \"$(uname -m)\" \"$(uname -s)\"; "
    "read -r _z _s _c || { echo the upload did not come; return 1; }; "
    "head -c \"$_z\" | { gzip -dc > \"$_t\"; _r=$?; cat > /dev/null; exit $_r; } || return 1; "
    "[ \"$(wc -c < \"$_t\")\" -eq \"$_s\" ] || { echo the upload has the wrong size; return 1; }; "
    "if command -v sha256sum > /dev/null; then case $(sha256sum < \"$_t\") in \"$_c\"*) ;; "
    "*) echo the upload has the wrong checksum; return 1;; esac; fi; "
    // Fails in every place, so no other place is tried.
    "\"./$_t\" --version < /dev/null > /dev/null || { echo \"(it does not run there)\"; return 2; "
    "}; "
    // Another launcher may have put it there meanwhile, and may be running it from NFS.
    "if _is; then rm -f \"$_t\"; else mv -f \"$_t\" \"$_b\"; fi; _is; }; "
    // Runs in a subshell whose output is the reason for giving up a place.
    "_put() { umask 077; _t=.$_b.$_n; mkdir -p \"$_d\" || return 1; "
    "_in || { echo it is not a folder of this user alone; return 1; }; "
    "case $_p in ?*) ;; *) chmod 700 . || return 1;; esac; _tidy; "
    "_fill; _q=$?; [ $_q -eq 0 ] || rm -f \"$_t\" 2> /dev/null; return $_q; }; "
    "set --; case $HOME in /*) set -- \"$HOME/.cache/train\";; esac; "
    "for _d in \"$@\"; do _has && _go; done; "
    "_u=$(id -u); set -- \"$@\" /var/tmp/train-$_u /tmp/train-$_u /dev/shm/train-$_u; "
    "for _d in \"$@\"; do _has && _go; done; "
    "_e=; for _d in \"$@\"; do _r=$(_put 2>&1); _q=$?; [ $_q -eq 0 ] && _has && _go; "
    // Of a tool's message, only the part after the last colon: before it are names of programs and
    // files.
    "_r=${_r##*: }; _e=\"$_e $_d: ${_r:-unknown trouble};\"; [ $_q -eq 2 ] && break; done; set -f; "
    "_say failed $_e; exit 1";

bool is_plain_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  constexpr std::size_t longest = 1'000;
  return !word.empty() && word.size() <= longest && std::all_of(word.begin(), word.end(), is_plain);
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
