// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "config_schema/field.hpp"

namespace train {

/// Parts of `experiment_fields()`, which joins them: what Determined's configuration says of the
/// search, of containers, and of its own machinery.
std::span<const Field> searcher_fields();
std::span<const Field> container_fields();
std::span<const Field> determined_fields();

}  // namespace train
