// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/frames/fields.hpp"

namespace train {

void fields(auto& f, Described<EnvironmentVariable> auto& variable) {
  f.text("name", variable.name);
  f.text("value", variable.value);
}

/// Part of the JSON of the request of a task, and of that of a launch.
void fields(auto& f, Described<ExperimentOverrides> auto& overrides) {
  f.number("slots", overrides.slots);
  f.number("batch", overrides.global_batch);
  f.text("max_runtime", overrides.max_runtime);
  f.texts("settings", overrides.settings);
  f.list("environment", overrides.environment);
  f.texts("command", overrides.command);
  f.number("workers", overrides.workers);
  f.optional_text("defaults_file", overrides.defaults.file);
  f.optional_text("defaults", overrides.defaults.text);
}

/// Parses a request and calls `read`, which may throw Malformed, with it. Class `no_input`, with
/// `words` and the reason.
Result<void> read_request(std::string_view text, const char* words,
                          const std::function<void(const nlohmann::json& document)>& read);

}  // namespace train
