// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace train {

/// What one label of a host must be.
struct LabelCondition {
  enum class Kind { one_of, none_of, exists, absent };
  std::string label;
  Kind kind = Kind::one_of;
  std::vector<std::string> values = {};  ///< of `one_of` and `none_of`: at least one

  bool operator==(const LabelCondition&) const = default;
};

/// All of these must hold; an empty selector takes any host. A host without the label has none of
/// the values: `none_of` and `absent` hold there.
using LabelSelector = std::vector<LabelCondition>;

/// Reads Ray's grammar of what one label must be: `value`, `!value`, `in(a,b)`, `!in(a,b)`,
/// `exists()`, `!exists()`, or several of these between commas. The error says what is wrong.
tl::expected<LabelSelector, std::string> read_label_conditions(const std::string& label,
                                                               std::string_view text);

/// Why this cannot be the name of a label; empty when it can: `name` or `prefix/name`.
std::string label_name_trouble(std::string_view name);

/// Whether the selector takes a host with these labels.
bool matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels);

/// "gpu=A100, zone!=(a|b)", for messages.
std::string to_string(const LabelSelector& selector);

}  // namespace train
