// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/jump_route.hpp"

#include <fmt/format.h>

#include <charconv>

#include "config_schema/hosts/host_address.hpp"

namespace train {

namespace {

constexpr std::string_view scheme = "ssh://";

std::optional<int> port_of(std::string_view text) {
  int port = 0;
  const auto end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stopped != end || port < 1 || port > 65'535) return std::nullopt;
  return port;
}

// "host", "host:22", "[::1]", "[::1]:22".
bool read_host_and_port(std::string_view text, SshDestination& destination) {
  const bool has_brackets = text.starts_with('[');
  const std::size_t end = has_brackets ? text.find(']') : text.find(':');
  if (has_brackets && end == text.npos) return false;
  destination.host = text.substr(has_brackets ? 1 : 0, has_brackets ? end - 1 : end);
  text.remove_prefix(has_brackets ? end + 1 : std::min(end, text.size()));
  if (text.starts_with(':')) {
    destination.port = port_of(text.substr(1));
    if (!destination.port) return false;
    text = {};
  }
  return text.empty() && !destination.host.empty();
}

}  // namespace

std::string jump_host_name(const SshDestination& jump_host) {
  const std::string user = jump_host.user.empty() ? "" : jump_host.user + "@";
  return user + (jump_host.port ? endpoint_text(jump_host.host, *jump_host.port) : jump_host.host);
}

std::string jump_server(const SshDestination& jump_host) {
  return "through " + jump_host_name(jump_host);
}

Result<JumpRoute> parse_jump_route(std::string_view proxy_jump) {
  JumpRoute route;
  std::string_view last = proxy_jump;
  if (const std::size_t comma = proxy_jump.rfind(','); comma != proxy_jump.npos) {
    route.before = proxy_jump.substr(0, comma);
    last.remove_prefix(comma + 1);
  }
  const bool is_uri = last.starts_with(scheme);
  if (is_uri) last.remove_prefix(scheme.size());
  if (is_uri && last.ends_with('/')) last.remove_suffix(1);
  if (const std::size_t at = last.rfind('@'); at != last.npos) {
    route.last.user = last.substr(0, at);
    last.remove_prefix(at + 1);
  }
  if (!read_host_and_port(last, route.last))
    return fail(ErrorClass::host, fmt::format("'ProxyJump {}' makes no sense", proxy_jump),
                "write it as [user@]host[:port], one after the other with commas in between");
  return route;
}

}  // namespace train
