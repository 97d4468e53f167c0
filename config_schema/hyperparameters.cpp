// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hyperparameters.hpp"

#include <fmt/format.h>

#include <cmath>

namespace train {

namespace {

bool is_range(std::string_view type) {
  return type == "int" || type == "double" || type == "log" || type == "categorical";
}

YamlNodePtr plain(const YamlNodePtr& node, const std::string& path, Diagnostics& diagnostics);

YamlNodePtr plain_entries(const YamlNode& mapping, const std::string& path,
                          Diagnostics& diagnostics) {
  auto copy = std::make_shared<YamlNode>(mapping);
  copy->entries.clear();
  for (const YamlEntry& entry : mapping.entries) {
    const std::string entry_path = path + "." + entry.key;
    if (YamlNodePtr value = plain(entry.value, entry_path, diagnostics))
      copy->entries.push_back({entry.key, entry.mark, std::move(value)});
  }
  return copy;
}

// nullptr when the value cannot be had without a search.
YamlNodePtr plain(const YamlNodePtr& node, const std::string& path, Diagnostics& diagnostics) {
  if (node->kind != YamlKind::mapping) return node;
  const YamlEntry* type = node->find("type");
  const std::string_view kind =
      type && type->value->kind == YamlKind::string ? type->value->text : std::string_view();
  if (kind == "const") {
    if (const YamlEntry* value = node->find("val")) return value->value;
    diagnostics.error(place_of(type->mark), path,
                      fmt::format("'{}' is of type const, but has no 'val'", path),
                      "write the plain value");
    return nullptr;
  }
  if (is_range(kind)) {
    diagnostics.error(
        place_of(type->mark), path,
        fmt::format("'{}' is of type {}: search is not there yet in this version of train", path,
                    kind),
        "write one plain value");
    return nullptr;
  }
  return plain_entries(*node, path, diagnostics);
}

}  // namespace

YamlNodePtr with_plain_hyperparameters(YamlNodePtr root, Diagnostics& diagnostics) {
  const std::string path = "hyperparameters";
  const YamlEntry* found = root->find(path);
  if (!found || found->value->kind != YamlKind::mapping) return root;
  auto copy = std::make_shared<YamlNode>(*root);
  for (YamlEntry& entry : copy->entries)
    if (entry.key == path) entry.value = plain_entries(*entry.value, path, diagnostics);
  return copy;
}

void check_for_json(const YamlNode& node, const std::string& path, Diagnostics& diagnostics) {
  const bool is_number = node.kind == YamlKind::real || node.kind == YamlKind::integer;
  if (is_number && !std::isfinite(node.real))
    diagnostics.error(
        place_of(node.mark), path,
        fmt::format("'{}' is {}, which JSON cannot carry to the workers", path, node.text),
        "write a finite number, or a string");
  for (std::size_t i = 0; i < node.items.size(); ++i)
    check_for_json(*node.items[i], fmt::format("{}.{}", path, i), diagnostics);
  for (const YamlEntry& entry : node.entries)
    check_for_json(*entry.value, path + "." + entry.key, diagnostics);
}

}  // namespace train
