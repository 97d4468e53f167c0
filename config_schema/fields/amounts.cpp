// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/amounts.hpp"

#include <fmt/format.h>

#include "config_schema/fields/field_reader.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/units.hpp"

namespace train {

namespace {

std::optional<Quantity> read_quantity(const YamlEntry& entry, const std::string& path,
                                      Diagnostics& diagnostics) {
  const YamlNode& node = *entry.value;
  const std::string key = path + "." + entry.key;
  const bool is_number = node.kind == YamlKind::integer || node.kind == YamlKind::real;
  if (!is_number) {
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
