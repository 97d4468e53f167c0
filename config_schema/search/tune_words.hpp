// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config_schema/search/search_parameter.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// Ray Tune's words for where a value comes from, each with a list behind it.
inline constexpr std::string_view tune_words =
    "uniform|loguniform|quniform|randint|choice|normal|grid_search";

/// Others of Tune's, which there is nothing for here.
inline constexpr std::string_view other_tune_words =
    "lograndint|qrandint|qlograndint|qloguniform|qnormal|qrandn|randn|sample_from";

/// Reads `uniform: [0, 1]`, with the rules of Tune's functions of the same names: the end of
/// `randint` is left out, `quniform` gives multiples of its step that lie inside the range. `path`
/// is the hyperparameter's. Nothing: it is wrong, as diagnostics say.
std::optional<SearchParameter> read_tune_word(const YamlEntry& word, const std::string& path,
                                              Diagnostics& diagnostics);

}  // namespace train
