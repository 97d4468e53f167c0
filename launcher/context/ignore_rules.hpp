// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// One line of an ignore file, as gitignore(5) describes it: `*`, `?`, `[a-z]`, `**`, backslash,
/// `!`, a leading or inner `/` (which anchors the pattern to the folder of its file) and a trailing
/// one (which means folders only). Bytes have no encoding; letters are compared exactly.
class IgnorePattern {
 public:
  /// Nothing for an empty line, a comment, or a line that can never match (an unclosed bracket).
  static std::optional<IgnorePattern> parse(std::string_view line);

  /// Whether the pattern matches a path, relative to the folder of the ignore file and without
  /// slashes around it. Takes time proportional to the product of both lengths at most.
  bool matches(std::string_view path, bool is_folder) const;
  /// `!`: matching paths are not ignored.
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

  /// By position in the pattern: whether the text may be before that token, or at the end.
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

/// What of a context is not sent. Rules of several files may be added, each for the folder of its
/// file; the last rule that matches a path counts, as in gitignore(5).
class IgnoreRules {
 public:
  /// Initially only what is never wanted: byte-compiled Python, folders of git and of editors, and
  /// `.detignore` and `.trainignore` themselves. A later rule with `!` brings them back. It is
  /// Determined's list (`DEFAULT_DETIGNORE` of its harness), without the files of Determined's own
  /// deployment.
  IgnoreRules();

  /// Adds the lines of an ignore file in `folder`: "" for the context itself, else a path inside of
  /// it. Lines after the first 10,000 are ignored: then false.
  bool add(std::string_view text, std::string_view folder);
  /// Adds the lines of an ignore file of the context itself that count after those of every other
  /// file, also of files that are added later.
  bool add_last(std::string_view text);

  /// Whether a path of the context is ignored. Everything in an ignored folder is ignored too,
  /// whatever other rules say; the caller does not ask for it.
  bool ignores(std::string_view path, bool is_folder) const;

  /// Forgets rules that were added after there were `count`, except those of `add_last`; see
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
