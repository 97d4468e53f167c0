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

/// What of a context stays at home. Rules of several files may be added, each for the folder that
/// it lies in; of all that match a path the last one counts, as in gitignore(5).
class IgnoreRules {
 public:
  /// Only what is never wanted: byte-compiled Python, folders of git and of editors, and
  /// `.detignore` and `.trainignore` themselves. A later rule with `!` brings them back. It is
  /// Determined's list (`DEFAULT_DETIGNORE` of its harness), without what its own deployment makes.
  IgnoreRules();

  /// The lines of an ignore file that lies in `folder`: "" for the context itself, else a path
  /// inside of it. More than 10,000 lines are cut off there: false then.
  bool add(std::string_view text, std::string_view folder);
  /// The lines of an ignore file of the context itself that count after those of every other file,
  /// whatever is added later.
  bool add_last(std::string_view text);

  /// Whether a path of the context is left out. What lies in a folder that is left out is so too,
  /// whatever other rules say; the caller does not ask for it.
  bool ignores(std::string_view path, bool is_folder) const;

  /// Forgets rules that were added after there were `count`, but for those of `add_last`; see
  /// `size`.
  void shrink(std::size_t count) { rules_.resize(count); }
  std::size_t size() const { return rules_.size(); }

 private:
  struct Rule {
    std::string folder;  ///< with its '/'; empty: the context
    IgnorePattern pattern;
  };
  static bool add_to(std::vector<Rule>& rules, std::string_view text, std::string_view folder);

  std::vector<Rule> rules_;
  std::vector<Rule> last_rules_;
};

}  // namespace train
