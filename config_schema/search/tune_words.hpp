// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config_schema/search/search_parameter.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// Ray Tune's distributions that train reads, each followed by a list.
inline constexpr std::string_view tune_words =
    "uniform|loguniform|quniform|randint|choice|normal|grid_search";

/// Tune's other distributions, which train does not have.
inline constexpr std::string_view other_tune_words =
    "lograndint|qrandint|qlograndint|qloguniform|qnormal|qrandn|randn|sample_from";

/// Reads `uniform: [0, 1]`, with the rules of Tune's functions of the same names: the end of
/// `randint` is excluded, `quniform` gives multiples of its step inside the range. `path` is the
/// hyperparameter's. Nothing if it is invalid, which is reported in `diagnostics`.
std::optional<SearchParameter> read_tune_word(const YamlEntry& word, const std::string& path,
                                              Diagnostics& diagnostics);

}  // namespace train
