// SPDX-License-Identifier: Apache-2.0
#include "config_schema/resources/tpu_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

struct Generation {
  std::string_view name;
  std::string_view shapes;       // "4x4|4x8"
  std::array<int, 3> largest{};  // of AxBxC in multiples of 4; zeros: none
  bool is_single_core = false;   // its small shapes fit on one host
};

constexpr std::string_view small_cubes = "2x2x1|2x2x2|2x2x4|2x4x4";
constexpr std::string_view flat = "1x1|2x2|2x4|2x8|4x4|4x8|8x8|8x16|16x16";

constexpr Generation generations[] = {
    {"v2", "4x4|4x8|8x8|8x16|16x16"},
    {"v3", "4x4|4x8|8x8|8x16|16x16|16x32|32x32"},
    {"v4", small_cubes, {12, 12, 16}},
    {"v5p", small_cubes, {16, 16, 24}},
    {"v5litepod", flat, {}, true},
    {"v6e", flat, {}, true},
    {"v7x", "2x2x1|2x2x2|2x2x4|2x4x4|4x4x4|4x4x8|4x8x8|8x8x8|8x8x16|8x16x16"},
};

const Generation* find_generation(std::string_view name) {
  for (const Generation& generation : generations)
    if (generation.name == name) return &generation;
  return nullptr;
}

// The sides of "2x2x4"; empty if the text is not a topology.
std::vector<int> sides_of(std::string_view topology) {
  constexpr int longest = 1024;
  std::vector<int> sides;
  for (const std::string_view word : split(topology, 'x')) {
    const auto side = whole_number(word, 1, longest);
    if (!side) return {};
    sides.push_back(*side);
  }
  return sides.size() <= 3 ? sides : std::vector<int>();
}

bool is_large_cube(const std::vector<int>& sides, const std::array<int, 3>& largest) {
  if (sides.size() != 3) return false;
  for (std::size_t i = 0; i < 3; ++i)
    if (sides[i] % 4 != 0 || sides[i] > largest[i]) return false;
  return true;
}

}  // namespace

std::optional<std::string> tpu_generation(std::string_view type) {
  std::string lower = to_lower(type);
  if (lower.starts_with("tpu")) {
    lower.erase(0, lower.starts_with("tpu-") ? 4 : 3);
    if (!lower.starts_with('v')) lower.insert(0, 1, 'v');
  }
  if (find_generation(lower) == nullptr) return std::nullopt;
  return lower;
}

bool is_tpu_type(std::string_view type) {
  const std::string lower = to_lower(type);
  return lower == "tpu" || lower.starts_with("tpu-") || tpu_generation(lower).has_value();
}

std::string canonical_accelerator_type(const std::string& type) {
  const auto generation = tpu_generation(type);
  return generation ? "TPU-" + to_upper(*generation) : type;
}

std::vector<std::string> tpu_generations() {
  std::vector<std::string> names;
  for (const Generation& generation : generations) names.emplace_back(generation.name);
  return names;
}

std::optional<TpuSlice> tpu_slice(std::string_view generation, std::string_view topology) {
  const Generation* found = find_generation(generation);
  if (found == nullptr) return std::nullopt;
  const std::string shape = to_lower(topology);
  const std::vector<int> sides = sides_of(shape);
  if (sides.empty()) return std::nullopt;
  if (!is_one_of(shape, found->shapes) && !is_large_cube(sides, found->largest))
    return std::nullopt;
  TpuSlice slice;
  slice.chips = 1;
  for (const int side : sides) slice.chips *= side;
  constexpr int usual_chips = 4;
  const bool is_one_host = found->is_single_core && is_one_of(shape, "1x1|2x2|2x4");
  slice.chips_per_host = is_one_host ? slice.chips : std::min(usual_chips, slice.chips);
  slice.hosts = std::max(1, slice.chips / slice.chips_per_host);
  return slice;
}

std::string tpu_shapes(std::string_view generation) {
  const Generation* found = find_generation(generation);
  if (found == nullptr) return {};
  std::vector<std::string> shapes = choice_words(found->shapes);
  if (found->largest[0] > 0)
    shapes.push_back(
        fmt::format("AxBxC in multiples of 4 up to {}", fmt::join(found->largest, "x")));
  return join_words(shapes, "and");
}

}  // namespace train
