// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/amounts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "config_schema/text/text.hpp"

namespace train {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Parses "1.5 GiB" with a table of units; the result is in units of factor 1.
std::optional<double> read_with_unit(std::string_view text, std::initializer_list<Unit> units) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == text.npos) return std::nullopt;
  const YamlNode number = resolve_plain_scalar(std::string(text.substr(0, end)));
  if (!number.is_number()) return std::nullopt;
  const std::string_view unit = trim(text.substr(end));
  for (const Unit& candidate : units)
    if (candidate.name == unit) return number.real * candidate.factor;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> read_bytes(const YamlNode& node) {
  constexpr double largest = 4611686018427387904.0;  // 2^62: sums stay in range
  std::optional<double> bytes;
  if (node.is_number()) bytes = node.real;
  if (node.kind == YamlKind::string) {
    constexpr double k = 1024;
    bytes = read_with_unit(node.text, {{"B", 1},
                                       {"KiB", k},
                                       {"MiB", k * k},
                                       {"GiB", k * k * k},
                                       {"TiB", k * k * k * k},
                                       {"KB", 1e3},
                                       {"MB", 1e6},
                                       {"GB", 1e9},
                                       {"TB", 1e12}});
  }
  if (!bytes || !(*bytes >= 0 && *bytes <= largest)) return std::nullopt;
  if (node.is_number() && *bytes != std::floor(*bytes)) return std::nullopt;
  if (node.integer) return static_cast<std::uint64_t>(*node.integer);
  return static_cast<std::uint64_t>(std::floor(*bytes));
}

std::optional<std::chrono::milliseconds> read_duration(const YamlNode& node) {
  constexpr double year = 366.0 * 86'400;
  std::optional<double> seconds;
  if (node.is_number()) seconds = node.real;
  if (node.kind == YamlKind::string)
    seconds =
        read_with_unit(node.text, {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}});
  if (!seconds || !(*seconds >= 0 && *seconds <= year)) return std::nullopt;
  return std::chrono::milliseconds(std::llround(*seconds * 1000));
}

namespace {

std::optional<Quantity> read_quantity(const YamlEntry& entry, const std::string& path,
                                      Diagnostics& diagnostics) {
  const YamlNode& node = *entry.value;
  const std::string key = path + "." + entry.key;
  if (!node.is_number()) {
    const bool is_quoted =
        node.kind == YamlKind::string && resolve_plain_scalar(node.text).kind != YamlKind::string;
    diagnostics.error(value_place(entry), key,
                      fmt::format("'{}' must be a number, not {}", key, describe(node)),
                      is_quoted ? "remove the quotes" : "");
    return std::nullopt;
  }
  const auto quantity = Quantity::from_double(node.real);
  if (!quantity)
    diagnostics.error(
        value_place(entry), key,
        fmt::format("'{}' must be 0, or from 0.0001 to 10^12, not {}", key, node.text));
  return quantity;
}

void read_memory(const YamlEntry& entry, const std::string& path, Diagnostics& diagnostics,
                 Amounts& amounts) {
  amounts.memory = read_bytes(*entry.value);
  if (amounts.memory) return;
  const std::string key = path + ".memory";
  diagnostics.error(
      value_place(entry), key,
      fmt::format("'{}' must be a number of bytes, not {}", key, describe(*entry.value)),
      "write bytes, or a unit: 16GiB (1024^3) or 16GB (1000^3)");
}

}  // namespace

Amounts read_amounts(const YamlNode& mapping, const std::string& path, Diagnostics& diagnostics) {
  Amounts amounts;
  for (const YamlEntry& entry : mapping.entries) {
    if (entry.value->is_null()) continue;
    if (entry.key == "memory") {
      read_memory(entry, path, diagnostics, amounts);
      continue;
    }
    for (const char* known : {"CPU", "GPU", "TPU", "memory"}) {
      const std::string lower = to_lower(entry.key);
      const bool is_meant = lower == to_lower(known) || lower == to_lower(known) + "s";
      if (entry.key == known || !is_meant) continue;
      diagnostics.error(place_of(entry.mark), path + "." + entry.key,
                        fmt::format("unknown resource '{}' in '{}'", entry.key, path),
                        fmt::format("did you mean '{}'?", known));
    }
    const auto quantity = read_quantity(entry, path, diagnostics);
    if (!quantity) continue;
    const Amount amount{*quantity, value_place(entry)};
    if (entry.key == "CPU")
      amounts.cpu = amount;
    else if (entry.key == "GPU")
      amounts.gpu = amount;
    else if (entry.key == "TPU")
      amounts.tpu = amount;
    else
      amounts.custom[entry.key] = *quantity;
  }
  return amounts;
}

}  // namespace train
