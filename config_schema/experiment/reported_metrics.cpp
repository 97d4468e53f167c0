// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/reported_metrics.hpp"

#include <fmt/format.h>

#include "config_schema/text/group_patterns.hpp"
#include "config_schema/text/line_patterns.hpp"

namespace train {
namespace {

constexpr const char* pattern_key = "metrics.pattern";

void read_pattern(const YamlNode& node, Diagnostics& diagnostics, MetricsConfig& metrics) {
  const auto error = [&](std::string message, std::string hint) {
    diagnostics.error(place_of(node.mark), pattern_key, std::move(message), std::move(hint));
  };
  if (const auto fault = pattern_fault(node.text))
    return error(fmt::format("'{}' is no pattern: {}", node.text, *fault),
                 "patterns are regular expressions of RE2");
  if (group_names(node.text).empty())
    return error(fmt::format("'{}' has no named group, and would report nothing", node.text),
                 "name what is to be reported: 'loss: (?P<loss>[0-9.e+-]+)'");
  metrics.patterns.push_back(node.text);
}

}  // namespace

MetricsConfig read_metrics(const FieldReader& fields, Diagnostics& diagnostics) {
  MetricsConfig metrics;
  if (fields.text("metrics.ranks") == "all") metrics.ranks = ReportingRanks::all;
  const GivenValue* given = fields.given(pattern_key);
  if (!given) return metrics;
  if (given->node->kind == YamlKind::string)
    read_pattern(*given->node, diagnostics, metrics);
  else
    for (const YamlNodePtr& pattern : given->node->items)
      read_pattern(*pattern, diagnostics, metrics);
  return metrics;
}

}  // namespace train
