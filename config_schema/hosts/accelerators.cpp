// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/accelerators.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "config_schema/text/text.hpp"

namespace train {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_word(char c) { return is_upper(c) || is_digit(c) || (c >= 'a' && c <= 'z'); }

/// The length of a model at the start of `name`: capitals, digits, perhaps a capital ("A100",
/// "GB200", "L40S"). 0 when `name` starts otherwise.
std::size_t model_length(std::string_view name) {
  std::size_t end = 0;
  while (end < name.size() && is_upper(name[end])) ++end;
  const std::size_t digits = end;
  while (end < name.size() && is_digit(name[end])) ++end;
  if (digits == 0 || end == digits) return 0;
  if (end < name.size() && is_upper(name[end])) ++end;
  // Kepler boards have a lower-case letter for their cooling: K40m and K40c are one model.
  const bool ends_there = end == name.size() || !is_word(name[end]);
  const bool board_letter =
      end + 1 == name.size() || (end + 1 < name.size() && name[end + 1] == ' ');
  return ends_there || board_letter ? end : 0;
}

void drop_prefix(std::string_view& name, std::string_view prefix) {
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
}

/// "RTX PRO 6000" of "RTX PRO 6000 Blackwell Server Edition".
std::string_view first_words(std::string_view name, int words) {
  std::size_t end = 0;
  for (int word = 0; word < words && end != std::string_view::npos; ++word)
    end = name.find(' ', word == 0 ? 0 : end + 1);
  return name.substr(0, end);
}

std::string with_dashes(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_word(c) || c == '.' || c == '_')
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace

std::string accelerator_type_of(std::string_view driver_name) {
  drop_prefix(driver_name, "NVIDIA ");
  drop_prefix(driver_name, "Tesla ");
  drop_prefix(driver_name, "GRID ");
  if (const std::size_t length = model_length(driver_name); length > 0)
    return std::string(driver_name.substr(0, length));
  if (driver_name.starts_with("RTX PRO ")) return with_dashes(first_words(driver_name, 3));
  return with_dashes(driver_name);
}

AcceleratorMaker maker_of(std::string_view accelerator_type) {
  using Maker = AcceleratorMaker;
  static constexpr std::array<std::pair<std::string_view, Maker>, 5> makers{{
      {"amd", Maker::amd},
      {"intel-gpu", Maker::intel_gpu},
      {"intel-gaudi", Maker::intel_gaudi},
      {"aws-neuron", Maker::aws_neuron},
      {"ascend", Maker::huawei_ascend},
  }};
  const std::string type = to_lower(accelerator_type);
  for (const auto& [prefix, maker] : makers)
    if (type.starts_with(prefix)) return maker;
  return Maker::nvidia;
}

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
