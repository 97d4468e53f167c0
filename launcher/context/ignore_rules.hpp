// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/context/ignore_pattern.hpp"

namespace train {

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
