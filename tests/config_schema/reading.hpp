// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "tests/catch.hpp"

namespace train::testing {

/// The experiment of a text; what is missing to run is added. Fails the test when it is refused.
inline ExperimentConfig read_experiment(std::string text,
                                        const ExperimentOverrides& overrides = {}) {
  if (text.find("entrypoint") == std::string::npos) text += "\nentrypoint: python3 train.py\n";
  const auto config = parse_experiment({"experiment.yaml", text}, overrides);
  INFO(text);
  if (!config) FAIL(render(config.error()));
  return *config;
}

/// The messages with which a launch refuses a text, one a line; empty when it accepts it.
inline std::string refusal(std::string text, const ExperimentOverrides& overrides = {}) {
  if (text.find("entrypoint") == std::string::npos) text += "\nentrypoint: python3 train.py\n";
  const auto config = parse_experiment({"experiment.yaml", text}, overrides);
  std::string messages;
  if (!config)
    for (const Diagnostic& diagnostic : config.error().diagnostics)
      messages += diagnostic.message + "\n";
  return messages;
}

/// The tree of a YAML text. Fails the test when it is refused.
inline YamlNodePtr read_tree(const std::string& text) {
  const auto root = read_yaml({"x.yaml", text}, ErrorClass::config);
  INFO(text);
  if (!root) FAIL(render(root.error()));
  return *root;
}

/// The hosts of a file. Fails the test when it is refused.
inline std::vector<Host> read_hosts(const std::string& text) {
  const auto inventory = parse_hosts({"hosts", text});
  INFO(text);
  if (!inventory) FAIL(render(inventory.error()));
  return inventory->hosts;
}

}  // namespace train::testing
