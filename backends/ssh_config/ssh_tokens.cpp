// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_tokens.hpp"

#include <fmt/format.h>

#include <optional>

namespace train {

namespace {

std::optional<std::string> value_of(char token, const SshTokens& tokens) {
  switch (token) {
    case '%':
      return "%";
    case 'd':
      return tokens.home;
    case 'u':
      return tokens.local_user;
    case 'i':
      return tokens.user_id;
    case 'l':
      return tokens.local_host;
    case 'L':
      return tokens.local_host.substr(0, tokens.local_host.find('.'));
    case 'h':
      return tokens.hostname;
    case 'n':
      return tokens.name;
    case 'k':
      return tokens.alias.empty() ? tokens.name : tokens.alias;
    case 'r':
      return tokens.user;
    case 'p':
      return std::to_string(tokens.port);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::string> expand_ssh_path(std::string_view path, const SshTokens& tokens,
                                    const std::function<const char*(const char*)>& variable) {
  const auto refuse = [path](std::string_view what) {
    return fail(ErrorClass::host, fmt::format("'{}' of ssh's configuration {}", path, what),
                "write the path out");
  };
  std::string expanded;
  std::string_view rest = path;
  if (rest == "~" || rest.starts_with("~/")) {
    expanded = tokens.home;
    rest.remove_prefix(1);
  } else if (rest.starts_with('~')) {
    return refuse("begins with the home of another user");
  }
  while (!rest.empty()) {
    if (rest.starts_with("${")) {
      const std::size_t end = rest.find('}');
      const std::string name(rest.substr(2, std::min(end, rest.size()) - 2));
      const char* value = end == std::string_view::npos ? nullptr : variable(name.c_str());
      if (value == nullptr) return refuse(fmt::format("needs the variable {}", name));
      expanded += value;
      rest.remove_prefix(end + 1);
    } else if (rest.front() == '%') {
      const auto value = rest.size() < 2 ? std::nullopt : value_of(rest[1], tokens);
      if (!value) return refuse(fmt::format("has the token {}", rest.substr(0, 2)));
      expanded += *value;
      rest.remove_prefix(2);
    } else {
      expanded += rest.front();
      rest.remove_prefix(1);
    }
  }
  return expanded;
}

}  // namespace train
