// SPDX-License-Identifier: Apache-2.0
#include "config_schema/config_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/yaml/yaml_document.hpp"

namespace train {

namespace {

void append(std::vector<Finding>& findings, Severity severity,
            const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) findings.push_back({severity, diagnostic});
}

std::vector<Finding> check_hosts(const SourceText& source) {
  std::vector<Finding> findings;
  const auto inventory = parse_hosts(source);
  if (inventory)
    append(findings, Severity::warning, inventory->warnings);
  else
    append(findings, Severity::error, inventory.error().diagnostics);
  return findings;
}

std::vector<Finding> check_experiment(const SourceText& source) {
  std::vector<Finding> findings;
  const auto experiment = parse_experiment(source, {}, ReadFor::checking);
  if (!experiment) {
    append(findings, Severity::error, experiment.error().diagnostics);
    return findings;
  }
  for (const Obstacle& obstacle : experiment->obstacles)
    findings.push_back({Severity::obstacle, obstacle.diagnostic});
  append(findings, Severity::warning, experiment->warnings);
  return findings;
}

using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json number_or_null(int number) { return number == 0 ? Json() : Json(number); }

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::obstacle:
      return "obstacle";
    case Severity::warning:
      return "warning";
  }
  return "error";
}

FileKind kind_of(const SourceText& source) {
  const auto root = read_yaml(source, ErrorClass::config);
  return root && (*root)->find("hosts") ? FileKind::hosts : FileKind::experiment;
}

std::vector<Finding> check_file(const SourceText& source, FileKind kind) {
  return kind == FileKind::hosts ? check_hosts(source) : check_experiment(source);
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::error; });
}

std::string findings_to_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    const Diagnostic& found = finding.diagnostic;
    list.push_back({{"severity", to_string(finding.severity)},
                    {"file", text_or_null(found.place.source)},
                    {"line", number_or_null(found.place.line)},
                    {"column", number_or_null(found.place.column)},
                    {"key", text_or_null(found.key)},
                    {"message", found.message},
                    {"hint", text_or_null(found.hint)}});
  }
  const Json document = {{"diagnostics", std::move(list)}};
  return shown_json(document.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace train
