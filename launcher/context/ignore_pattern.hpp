// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// One line of an ignore file, as gitignore(5) describes it: `*`, `?`, `[a-z]`, `**`, backslash,
/// `!`, a leading or inner `/` (which ties the pattern to the folder of its file) and a trailing
/// one (which means folders only). All bytes are alike; letters are compared exactly.
class IgnorePattern {
 public:
  /// Nothing for an empty line, a comment, or a line that can never match (an unclosed bracket).
  static std::optional<IgnorePattern> parse(std::string_view line);

  /// Whether a path, relative to the folder of the ignore file and without slashes around it, is
  /// meant. Takes time in proportion to both lengths at most.
  bool matches(std::string_view path, bool is_folder) const;
  /// `!`: what matches is not ignored after all.
  bool is_negated() const { return is_negated_; }

 private:
  struct Token {
    enum class Kind {
      byte,        ///< `byte`
      any,         ///< any one byte but '/'
      set,         ///< any one byte of `set`, never '/'
      some,        ///< any number of bytes but '/'
      folders,     ///< any number of whole folders, each with its '/'
      everything,  ///< at least one byte, of any kind
    };
    Kind kind = Kind::byte;
    char byte = 0;
    std::bitset<256> set = {};
  };

  /// Of the pattern: whether the text may stand before each token, and at the end.
  using Places = std::vector<bool>;

  bool compile(std::string_view glob);
  bool compile_set(std::string_view glob, std::size_t& i);
  void compile_stars(std::string_view glob, std::size_t& i);
  bool matches_whole(std::string_view text) const;
  void enter(Places& places, std::size_t i) const;
  void advance(std::size_t i, char c, Places& next) const;

  std::vector<Token> tokens_;
  bool is_negated_ = false;
  bool is_anchored_ = false;
  bool is_for_folders_ = false;
};

}  // namespace train
