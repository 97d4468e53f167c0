// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace train {

/// A condition for one label of a host.
struct LabelCondition {
  enum class Kind { one_of, none_of, exists, absent };
  std::string label;
  Kind kind = Kind::one_of;
  std::vector<std::string> values = {};  ///< of `one_of` and `none_of`: at least one

  bool operator==(const LabelCondition&) const = default;
};

/// All of these must hold; an empty selector matches any host. For a host without the label,
/// `none_of` and `absent` hold.
using LabelSelector = std::vector<LabelCondition>;

/// Reads Ray's grammar for the condition of a label: `value`, `!value`, `in(a,b)`, `!in(a,b)`,
/// `exists()`, `!exists()`, or several of these separated by commas. The error says what is wrong.
tl::expected<LabelSelector, std::string> read_label_conditions(const std::string& label,
                                                               std::string_view text);

/// Why this cannot be the name of a label; empty if it is valid: `name` or `prefix/name`.
std::string label_name_trouble(std::string_view name);

/// Whether a host with these labels satisfies the selector.
bool matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels);

/// "gpu=A100, zone!=(a|b)", for messages.
std::string to_string(const LabelSelector& selector);

}  // namespace train
