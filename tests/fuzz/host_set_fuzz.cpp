// SPDX-License-Identifier: Apache-2.0
// Host sets: expanding, and folding back. An input is one set; each of its parts that is a single
// name is folded with the others, too, in the order given.
#include <algorithm>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/text/text.hpp"
#include "tests/fuzz/property.hpp"

using namespace train;
using fuzz::require;

namespace {

using Names = std::vector<std::string>;

void check_error(const HostSetError& error, std::string_view text) {
  require(!error.message.empty(), "an error says something");
  require(error.offset <= text.size(), "an error's offset is in the text", error.message);
}

void check_folding(const Names& names) {
  std::string folded;
  {
    const fuzz::CpuLimit limit;
    folded = fold_hosts(names);
  }
  const auto again = expand_host_set(folded, names.size());
  require(again.has_value(), "what was folded can be expanded", folded.substr(0, 1000));
  require(*again == names, "what was folded expands to the same hosts", folded.substr(0, 1000));
}

Names single_names(std::string_view text) {
  Names names;
  for (const std::string_view part : split(text, ',')) {
    const auto expanded = expand_host_pattern(part, 1);
    if (expanded && expanded->front() == part) names.emplace_back(part);
  }
  return names;
}

void check_expansion(std::string_view text, std::size_t limit) {
  tl::expected<Names, HostSetError> names;
  {
    const fuzz::CpuLimit cpu_limit;
    names = expand_host_set(text, limit);
  }
  if (!names) return check_error(names.error(), text);
  require(!names->empty() && names->size() <= limit, "a set has a bounded number of hosts");
  check_folding(*names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Most inputs make few hosts, so that many inputs are tried.
  constexpr std::size_t few = 1000;
  check_expansion(text, size % 32 == 0 ? max_hosts : few);
  const Names names = single_names(text);
  if (!names.empty()) check_folding(names);
  return 0;
}
