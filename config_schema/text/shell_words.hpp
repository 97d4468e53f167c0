// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// A text in single quotes, which a shell does not change; single quotes in the text are placed
/// outside of them.
std::string single_quoted(std::string_view text);

/// A word quoted for /bin/sh, unless it needs no quotes.
std::string shell_quoted(std::string_view word);

/// Words as a line that can be pasted into a shell, each quoted if needed. Every command that is
/// shown to users is made by this function. Inside a message its control characters are escaped
/// like all text from outside (terminal_text.hpp): such a word can be read, but not pasted.
std::string shell_line(const std::vector<std::string>& words);

/// A word of a shell line, without its quotes, and its position.
struct ShellWord {
  std::string text;
  std::size_t begin = 0;  ///< byte offset of its first character, quotes included
};

/// The simple commands of a shell line, each a list of words: split at `;`, `&`, `|`, parentheses
/// and newlines outside quotes, without comments and leading `NAME=value` assignments. Shows which
/// programs a line runs; nothing is expanded.
std::vector<std::vector<ShellWord>> shell_commands(std::string_view line);

}  // namespace train
