// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/error_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace train {

namespace {

std::string first_line(std::string text) {
  constexpr std::size_t longest = 400;
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.size() > longest) text.replace(longest, std::string::npos, "...");
  return text;
}

}  // namespace

std::string message_of_error_file(std::string_view text) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_object() && document.contains("message")) {
    const auto& message = document["message"];
    if (message.is_string()) return first_line(message.get<std::string>());
    if (message.is_object() && message.contains("message") && message["message"].is_string())
      return first_line(message["message"].get<std::string>());
  }
  return first_line(std::string(text));
}

}  // namespace train
