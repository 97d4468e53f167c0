// SPDX-License-Identifier: Apache-2.0
// Separate from frameworks.cpp, which depends on everything that a plan consists of: hosts need
// only this part.
#include "launcher/rendezvous/tensorflow_config.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace train {

std::string tensorflow_config(const std::vector<std::string>& workers, int index) {
  std::string text = R"({"cluster":{"worker":[)";
  for (const std::string& worker : workers) {
    if (&worker != &workers.front()) text += ',';
    text += nlohmann::json(worker).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return text + fmt::format(R"(]}},"task":{{"type":"worker","index":{}}}}})", index);
}

std::size_t tensorflow_config_size(const std::vector<std::string>& workers) {
  constexpr std::string_view name = "TF_CONFIG=";
  if (workers.empty()) return name.size() + tensorflow_config({}, 0).size();
  std::size_t bytes = name.size() + workers.size() - 1;  // commas
  for (const std::string& worker : workers) bytes += worker.size() + 2;
  return bytes + tensorflow_config({}, static_cast<int>(workers.size()) - 1).size();
}

}  // namespace train
