// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace train {

namespace {

tl::unexpected<HostSetError> refuse(std::size_t offset, std::string message,
                                    std::string hint = {}) {
  return tl::make_unexpected(HostSetError{offset, std::move(message), std::move(hint)});
}

constexpr const char* no_port =
    "after ':' come the slots; a port is written in a hosts file: 'port=2222', or 'port: 2222'";

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_user_char(char c) {
  return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '\\' || c == '+' ||
         c == '$';
}

// Several of them are separated by commas, and ':' numbers aliases.
bool is_interface_char(char c) {
  return is_letter_or_digit(c) || std::string_view("-_.:+,").find(c) != std::string_view::npos;
}

// IPv6, with the interface that it is reached through behind '%'.
bool is_address(std::string_view text) {
  const std::size_t percent = std::min(text.find('%'), text.size());
  const std::string_view address = text.substr(0, percent);
  const std::string_view interface = text.substr(std::min(percent + 1, text.size()));
  const std::string_view allowed = "0123456789abcdefABCDEF:.";
  return std::count(address.begin(), address.end(), ':') >= 2 &&
         address.find_first_not_of(allowed) == address.npos &&
         std::all_of(interface.begin(), interface.end(), is_interface_char);
}

// The name or set of an item, and where the rest (":slots") begins.
struct NamePart {
  std::vector<std::string> names;
  std::size_t end = 0;
};

tl::expected<NamePart, HostSetError> read_names(std::string_view text, std::size_t limit) {
  const std::size_t close = text.find(']');
  const bool is_bracketed = !text.empty() && text.front() == '[' && close != text.npos &&
                            text.substr(1, close - 1).find(':') != text.npos;
  if (is_bracketed) {
    const std::string_view address = text.substr(1, close - 1);
    if (!is_address(address)) return refuse(1, fmt::format("'{}' is no IPv6 address", address));
    if (limit == 0) return refuse(0, fmt::format("more than {} hosts", max_hosts));
    return NamePart{{std::string(address)}, close + 1};
  }
  if (std::count(text.begin(), text.end(), ':') > 1)
    return refuse(
        0, fmt::format("'{}' has more than one ':'", text),
        is_address(text) ? "write IPv6 addresses in brackets: [::1] or [::1]:8" : no_port);
  const std::size_t end = std::min(text.find(':'), text.size());
  auto names = expand_host_pattern(text.substr(0, end), limit);
  if (!names) return tl::make_unexpected(names.error());
  return NamePart{std::move(*names), end};
}

}  // namespace

tl::expected<std::string, HostSetError> read_user(std::string_view text, std::size_t offset) {
  constexpr std::size_t longest = 256;  // a user of many hosts is kept with each of them
  if (text.empty()) return refuse(offset, "the user's name is missing", "write user@host or host");
  if (text.size() > longest)
    return refuse(offset, fmt::format("a user's name of more than {} characters", longest),
                  "write user@host or host");
  const bool is_plain = std::all_of(text.begin(), text.end(), is_user_char);
  if (!is_plain || text.front() == '-')
    return refuse(offset, fmt::format("'{}' is no user's name", text), "write user@host or host");
  return std::string(text);
}

tl::expected<std::string, HostSetError> read_address(std::string_view text, std::size_t offset) {
  if (is_address(text)) return std::string(text);
  if (text.find_first_of("[]") != text.npos)
    return refuse(offset, fmt::format("'{}' is no address", text),
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
  return refuse(offset, fmt::format("'{}' is no network interface", text),
                "write its name as 'ip link' on the host shows it");
}

tl::expected<int, HostSetError> read_port(std::string_view text, std::size_t offset) {
  constexpr int most = 65'535;
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && port >= 1 && port <= most) return port;
  return refuse(offset, fmt::format("a port is a whole number from 1 to {}, not '{}'", most, text));
}

std::vector<HostWord> host_words(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<HostWord> words;
  for (std::size_t at = line.find_first_not_of(blanks); at < line.size();
       at = line.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = end;
  }
  return words;
}

tl::expected<int, HostSetError> read_slots(std::string_view text, std::size_t offset) {
  constexpr int most = 65'536;
  int slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && slots >= 1 && slots <= most) return slots;
  return refuse(offset,
                fmt::format("slots must be a whole number from 1 to {}, not '{}'", most, text),
                is_number && slots == 0               ? "leave a host without slots out"
                : text.find(':') != std::string::npos ? no_port
                                                      : "as in node01:8, or 'node01 slots=8'");
}

tl::expected<SlotType, HostSetError> read_slot_type(std::string_view text, std::size_t offset) {
  if (const auto type = slot_type_of(text)) return *type;
  return refuse(offset, fmt::format("slot_type is auto, cuda, rocm or cpu, not '{}'", text),
                "cuda is for NVIDIA's GPUs, rocm for AMD's, cpu for places without any");
}

tl::expected<HostItem, HostSetError> read_host_item(std::string_view text, std::size_t limit) {
  HostItem item;
  std::size_t begin = 0;
  if (const std::size_t at = text.find('@'); at != text.npos) {
    const auto user = read_user(text.substr(0, at), 0);
    if (!user) return tl::make_unexpected(user.error());
    item.user = *user;
    begin = at + 1;
  }
  auto part = read_names(text.substr(begin), limit);
  if (!part) {
    part.error().offset += begin;
    return tl::make_unexpected(part.error());
  }
  item.names = std::move(part->names);
  const std::size_t rest = begin + part->end;
  if (rest == text.size()) return item;
  if (text[rest] != ':')
    return refuse(rest, fmt::format("'{}' is not understood", text.substr(rest)),
                  "write the number of slots as host:8");
  const auto slots = read_slots(text.substr(rest + 1), rest + 1);
  if (!slots) return tl::make_unexpected(slots.error());
  item.slots = *slots;
  return item;
}

}  // namespace train
