// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/request_fields.hpp"

namespace train {

using nlohmann::json;

Result<void> read_request(std::string_view text, const char* words,
                          const std::function<void(const json& document)>& read) {
  const auto damaged = [words](const std::string& what) {
    return fail(ErrorClass::no_input, words + what);
  };
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return damaged("no JSON");
  try {
    read(document);
  } catch (const Malformed& malformed) {
    return damaged(malformed.what);
  }
  return {};
}

}  // namespace train
