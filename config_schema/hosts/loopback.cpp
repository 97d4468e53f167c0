// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/loopback.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

// Two to four numbers, as inet_aton(3) reads them but for octal and hexadecimal ones: the last
// fills all bytes that are left.
bool is_ipv4_loopback(std::string_view text) {
  if (text.find_first_not_of("0123456789.") != text.npos) return false;
  const auto parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 4 || parts[0] != "127") return false;
  return std::all_of(parts.begin() + 1, parts.end(), [&](const auto& part) {
    const bool is_last = &part == &parts.back();
    const std::uint64_t most = is_last ? (1u << (8 * (5 - parts.size()))) - 1 : 255;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    return error == std::errc() && end == part.data() + part.size() && number <= most;
  });
}

// Zeros, at most eight colons, and a one at the end.
bool is_ipv6_loopback(std::string_view text) {
  if (!text.ends_with('1')) return false;
  text.remove_suffix(1);
  const auto colons = std::count(text.begin(), text.end(), ':');
  const bool is_whole = colons == 7 || (colons <= 8 && text.find("::") != text.npos);
  return is_whole && text.find_first_not_of("0:") == text.npos && text.find(":::") == text.npos;
}

}  // namespace

bool is_loopback(std::string_view address) {
  constexpr std::string_view mapped = "::ffff:";
  address = address.substr(0, address.find('%'));
  if (to_lower(address.substr(0, mapped.size())) == mapped)
    return is_ipv4_loopback(address.substr(mapped.size()));
  return is_ipv4_loopback(address) || is_ipv6_loopback(address);
}

bool is_localhost(std::string_view name_or_address) {
  if (is_loopback(name_or_address)) return true;
  if (name_or_address.ends_with('.')) name_or_address.remove_suffix(1);
  return to_lower(name_or_address) == "localhost";
}

}  // namespace train
