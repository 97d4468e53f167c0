// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "config_schema/fields/field.hpp"

namespace train {

/// The most workers, and the most slots that a count of slots may name.
inline constexpr std::int64_t most_workers = 1'000'000;
/// The most samples of one training step.
inline constexpr std::int64_t most_samples = 1'000'000'000'000;
/// The most of one resource.
inline constexpr std::int64_t most_of_one = 1'000'000'000'000;

/// Parts of `experiment_fields()`, which joins them: Ray's words, and what Determined's
/// configuration says of the search, of containers, and of its own machinery.
std::span<const Field> ray_fields();
std::span<const Field> searcher_fields();
std::span<const Field> container_fields();
std::span<const Field> determined_fields();

}  // namespace train
