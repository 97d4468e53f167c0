// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// A text between single quotes, where a shell changes nothing; a single quote of its own stands
/// outside of them.
std::string single_quoted(std::string_view text);

/// A word quoted for /bin/sh, unless it needs no quotes.
std::string shell_quoted(std::string_view word);

/// Words as a line that can be pasted into a shell: each quoted where it needs quotes. A command
/// that is shown to people is written by this alone. Where it is part of a message, its control
/// characters are escaped like those of all text from outside (terminal_text.hpp): such a word can
/// be read, and no longer be pasted.
std::string shell_line(const std::vector<std::string>& words);

/// A word of a shell line, without its quotes, and where it stands.
struct ShellWord {
  std::string text;
  std::size_t begin = 0;  ///< byte offset of its first character, quotes included
};

/// The simple commands of a shell line, each a list of words: split at `;`, `&`, `|`, parentheses
/// and line ends outside quotes, without comments and leading `NAME=value` assignments. This shows
/// which programs a line runs; nothing is expanded.
std::vector<std::vector<ShellWord>> shell_commands(std::string_view line);

}  // namespace train
