// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_address.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

// Two to four numbers, read like inet_aton(3) except for octal and hexadecimal ones: the last
// number fills all remaining bytes.
bool is_ipv4_loopback(std::string_view text) {
  if (text.find_first_not_of("0123456789.") != text.npos) return false;
  const auto parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 4 || parts[0] != "127") return false;
  return std::all_of(parts.begin() + 1, parts.end(), [&](const auto& part) {
    const bool is_last = &part == &parts.back();
    const int most = is_last ? (1 << (8 * (5 - parts.size()))) - 1 : 255;
    return whole_number(part, 0, most).has_value();
  });
}

// Zeros, at most eight colons, and a final one.
bool is_ipv6_loopback(std::string_view text) {
  if (!text.ends_with('1')) return false;
  text.remove_suffix(1);
  const auto colons = std::count(text.begin(), text.end(), ':');
  const bool is_whole = colons == 7 || (colons <= 8 && text.find("::") != text.npos);
  return is_whole && text.find_first_not_of("0:") == text.npos && text.find(":::") == text.npos;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_user_char(char c) {
  return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '\\' || c == '+' ||
         c == '$';
}

// Commas separate several interfaces, and ':' numbers aliases.
bool is_interface_char(char c) {
  return is_letter_or_digit(c) || std::string_view("-_.:+,").find(c) != std::string_view::npos;
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

bool is_ipv6_address(std::string_view text) {
  const std::size_t percent = std::min(text.find('%'), text.size());
  const std::string_view address = text.substr(0, percent);
  const std::string_view interface = text.substr(std::min(percent + 1, text.size()));
  const std::string_view allowed = "0123456789abcdefABCDEF:.";
  return std::count(address.begin(), address.end(), ':') >= 2 &&
         address.find_first_not_of(allowed) == address.npos &&
         std::all_of(interface.begin(), interface.end(), is_interface_char);
}

std::string in_brackets(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

std::string endpoint_text(const std::string& address, int port) {
  return in_brackets(address) + ":" + std::to_string(port);
}

tl::expected<std::string, HostSetError> read_user(std::string_view text, std::size_t offset) {
  constexpr std::size_t longest = 256;  // a user given for many hosts is stored with each of them
  if (text.empty())
    return refuse_at(offset, "the user's name is missing", "write user@host or host");
  if (text.size() > longest)
    return refuse_at(offset, fmt::format("a user's name of more than {} characters", longest),
                     "write user@host or host");
  const bool is_plain = std::all_of(text.begin(), text.end(), is_user_char);
  if (!is_plain || text.front() == '-')
    return refuse_at(offset, fmt::format("'{}' is no user's name", text),
                     "write user@host or host");
  return std::string(text);
}

tl::expected<std::string, HostSetError> read_address(std::string_view text, std::size_t offset) {
  if (is_ipv6_address(text)) return std::string(text);
  if (text.find_first_of("[]") != text.npos)
    return refuse_at(offset, fmt::format("'{}' is no address", text),
                     "write one name or IP address, IPv6 without brackets");
  auto names = expand_host_pattern(text, 1);
  if (names) return std::move(names->front());
  names.error().offset += offset;
  return tl::make_unexpected(names.error());
}

tl::expected<std::string, HostSetError> read_interface(std::string_view text, std::size_t offset) {
  constexpr std::size_t longest = 253;
  const bool is_plain = std::all_of(text.begin(), text.end(), is_interface_char);
  if (is_plain && !text.empty() && text.front() != '-' && text.size() <= longest)
    return std::string(text);
  return refuse_at(offset, fmt::format("'{}' is no network interface", text),
                   "write its name as 'ip link' on the host shows it");
}

tl::expected<int, HostSetError> read_port(std::string_view text, std::size_t offset) {
  constexpr int most = 65'535;
  if (const auto port = whole_number(text, 1, most)) return *port;
  return refuse_at(offset,
                   fmt::format("a port is a whole number from 1 to {}, not '{}'", most, text));
}

}  // namespace train
