// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/error.hpp"

namespace train {

// Fields shared by the documents that keep a task's request. Readers throw `Malformed`, which
// `read_request` catches.

nlohmann::json or_null(const std::optional<int>& value);
nlohmann::json or_null(const std::optional<std::uint64_t>& value);
nlohmann::json or_null(const std::optional<std::string>& bytes);
nlohmann::json json_of(const std::vector<std::string>& texts);
std::vector<std::string> texts_of(const nlohmann::json& object, const char* name);
std::optional<int> int_or_null(const nlohmann::json& object, const char* name);
std::optional<std::uint64_t> count_or_null(const nlohmann::json& object, const char* name);

/// Adds the command line's changes of the experiment.
void add_overrides(nlohmann::json& document, const ExperimentOverrides& overrides);
/// The reverse, except for `max_runtime`, which early documents lack.
ExperimentOverrides overrides_of(const nlohmann::json& document);

/// Reads the text as one JSON object. Class `no_input`, with `words` before the reason, if it is
/// not one, or if `read` throws `Malformed`.
Result<void> read_request(std::string_view text, const char* words,
                          const std::function<void(const nlohmann::json& document)>& read);

}  // namespace train
