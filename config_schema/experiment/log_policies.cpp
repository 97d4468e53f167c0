// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/log_policies.hpp"

#include <fmt/format.h>

#include <map>

#include "config_schema/text/line_patterns.hpp"

namespace train {
namespace {

constexpr const char* policies_key = "log_policies";

const YamlNode* value_of(const YamlNode& mapping, const char* name) {
  const YamlEntry* entry = mapping.find(name);
  return entry && !entry->value->is_null() ? entry->value.get() : nullptr;
}

std::string text_of(const YamlNode& mapping, const char* name) {
  const YamlNode* value = value_of(mapping, name);
  return value ? value->text : "";
}

class PoliciesReader {
 public:
  explicit PoliciesReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void read(const YamlNode& node, std::vector<LogPolicy>& policies) {
    if (node.kind != YamlKind::mapping) return;  // an error that was reported already
    check_name(node);
    LogPolicy policy;
    policy.name = text_of(node, "name");
    policy.pattern = text_of(node, "pattern");
    policy.signal = text_of(node, "signal");
    read_actions(node, policy);
    if (check_pattern(node, policy)) policies.push_back(std::move(policy));
  }

 private:
  void error(const YamlMark& at, std::string message, std::string hint) {
    diagnostics_.error(place_of(at), policies_key, std::move(message), std::move(hint));
  }

  void check_name(const YamlNode& node) {
    const YamlNode* name = value_of(node, "name");
    if (!name) return;
    const auto [first, is_new] = known_.emplace(name->text, place_of(name->mark));
    if (!is_new)
      error(
          name->mark,
          fmt::format("there is a policy '{}' {} already", name->text, line_or_flag(first->second)),
          "give them different names");
  }

  bool check_pattern(const YamlNode& node, const LogPolicy& policy) {
    const YamlNode* pattern = value_of(node, "pattern");
    if (!pattern && policy.name.empty())
      error(node.mark, "a log policy without 'pattern'", "write the pattern of the lines");
    if (!pattern) return false;
    const auto fault = pattern_fault(policy.pattern);
    if (fault)
      error(pattern->mark, fmt::format("'{}' is no pattern: {}", policy.pattern, *fault),
            "patterns are regular expressions of RE2");
    return !fault;
  }

  void read_actions(const YamlNode& node, LogPolicy& policy) {
    const YamlNode* action = value_of(node, "action");
    const YamlNode* actions = value_of(node, "actions");
    if (action && actions)
      error(node.find("actions")->mark,
            fmt::format("'actions' cannot be given with 'action' {}",
                        line_or_flag(place_of(node.find("action")->mark))),
            "write all of them under 'actions'");
    if (action) read_action(*action, policy);
    if (!actions) return;
    for (const YamlNodePtr& each : actions->items) read_action(*each, policy);
  }

  static void read_action(const YamlNode& action, LogPolicy& policy) {
    const bool is_mapping = action.kind == YamlKind::mapping;
    const std::string name = is_mapping ? text_of(action, "type") : action.text;
    if (name == "cancel_retries") policy.cancels_retries = true;
    if (name == "exclude_node") policy.excludes_node = true;
    if (is_mapping && value_of(action, "signal")) policy.signal = text_of(action, "signal");
  }

  Diagnostics& diagnostics_;
  std::map<std::string, Place> known_;
};

}  // namespace

std::vector<LogPolicy> read_log_policies(const FieldReader& fields, Diagnostics& diagnostics) {
  std::vector<LogPolicy> policies;
  const GivenValue* given = fields.given(policies_key);
  if (!given) return policies;
  PoliciesReader reader(diagnostics);
  for (const YamlNodePtr& policy : given->node->items) reader.read(*policy, policies);
  return policies;
}

}  // namespace train
