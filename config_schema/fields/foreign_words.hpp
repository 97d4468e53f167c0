// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "config_schema/fields/field_table.hpp"

namespace train {

/// The field of this table for which other programs and people have this word: "gpus" is
/// `resources.slots_per_trial` of an experiment, and `resources.GPU` of a host. Empty: no such word
/// is known. Case, and the difference between `-` and `_`, count for nothing.
std::string_view field_for_foreign_word(const FieldTable& table, std::string_view word);

}  // namespace train
