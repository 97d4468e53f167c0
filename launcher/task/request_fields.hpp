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

// What the documents that keep a task's request have in common. Readers throw `Malformed`, which
// `read_request` catches.

nlohmann::json or_null(const std::optional<int>& value);
nlohmann::json or_null(const std::optional<std::uint64_t>& value);
nlohmann::json or_null(const std::optional<std::string>& bytes);
nlohmann::json json_of(const std::vector<std::string>& texts);
std::vector<std::string> texts_of(const nlohmann::json& object, const char* name);
std::optional<int> int_or_null(const nlohmann::json& object, const char* name);
std::optional<std::uint64_t> count_or_null(const nlohmann::json& object, const char* name);

/// Adds what the command line has changed of the experiment.
void add_overrides(nlohmann::json& document, const ExperimentOverrides& overrides);
/// The reverse, but for `max_runtime`, which an early document lacks.
ExperimentOverrides overrides_of(const nlohmann::json& document);

/// Reads the one JSON object that is the text. Class `no_input`, with `words` before the reason,
/// when it is none, or when `read` throws `Malformed`.
Result<void> read_request(std::string_view text, const char* words,
                          const std::function<void(const nlohmann::json& document)>& read);

}  // namespace train
