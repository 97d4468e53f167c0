// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/variables.hpp"

namespace train {

void Variables::set(const std::string& name, std::string text) {
  entries_[name] = {.name = name, .text = std::move(text)};
}

void Variables::set_secret(const std::string& name, std::string text) {
  entries_[name] = {.name = name, .text = std::move(text), .secret = true};
}

void Variables::set_at_launch(const std::string& name, AtLaunch fact, std::string of) {
  entries_[name] = {.name = name, .text = std::move(of), .at_launch = fact};
}

void Variables::set_default(const std::string& name, std::string text) {
  if (has(name)) return;
  entries_[name] = {.name = name, .text = std::move(text), .is_default = true};
}

std::vector<EnvironmentEntry> Variables::entries() const {
  std::vector<EnvironmentEntry> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(entry);
  return all;
}

}  // namespace train
