// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/visible_devices.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace train {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_uuid(std::string_view entry) { return entry.starts_with("GPU-"); }

std::optional<int> device_of_index(std::string_view entry, std::size_t count) {
  unsigned index = 0;
  const auto [rest, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error != std::errc{} || index >= count) return std::nullopt;
  return static_cast<int>(index);
}

std::optional<int> device_of_uuid(std::string_view prefix, const std::vector<std::string>& uuids) {
  std::optional<int> found;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!uuids[i].starts_with(prefix)) continue;
    if (found) return std::nullopt;
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

std::vector<int> visible_devices(std::string_view value, const std::vector<std::string>& uuids) {
  std::vector<int> devices;
  const bool by_uuid = is_uuid(trimmed(value));
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    const std::string_view entry = trimmed(value.substr(begin, end - begin));
    begin = end + 1;
    if (is_uuid(entry) != by_uuid) break;
    const auto device =
        by_uuid ? device_of_uuid(entry, uuids) : device_of_index(entry, uuids.size());
    if (!device) break;
    if (std::find(devices.begin(), devices.end(), *device) != devices.end()) return {};
    devices.push_back(*device);
  }
  return devices;
}

}  // namespace train
