// SPDX-License-Identifier: Apache-2.0
// Hosts files in all their forms, and inline lists. An input is one text, read as both.
#include <cmath>
#include <unordered_set>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "tests/fuzz/property.hpp"

using namespace train;
using fuzz::require;

namespace {

bool could_be_a_flag(const std::string& text) { return !text.empty() && text.front() == '-'; }

void check_host(const Host& host) {
  require(!host.name.empty() && !could_be_a_flag(host.name), "a host has a name", host.name);
  require(!host.address.empty() && !could_be_a_flag(host.address), "a host has an address",
          host.address);
  require(!could_be_a_flag(host.user), "a user's name is no flag of ssh", host.user);
  require(!host.port || (*host.port >= 1 && *host.port <= 65'535), "a port is one", host.name);
  require(!host.slots || (*host.slots >= 1 && *host.slots <= 65'536), "slots are within bounds",
          host.name);
  require(!host.accelerators || *host.accelerators >= 0, "devices are not negative", host.name);
  require(host.weight > 0 && std::isfinite(host.weight), "a weight is positive", host.name);
}

void check_inventory(const HostInventory& inventory, const std::vector<fuzz::NamedText>& texts) {
  require(!inventory.hosts.empty() && inventory.hosts.size() <= max_hosts,
          "an inventory has a bounded number of hosts");
  fuzz::check_diagnostics(inventory.warnings, texts);
  std::unordered_set<std::string> names;
  std::vector<std::string> in_order;
  for (const Host& host : inventory.hosts) {
    check_host(host);
    require(names.insert(host.name).second, "a host is there once", host.name);
    in_order.push_back(host.name);
  }
  // What messages show can be given back as -H. Folding very many is host_set_fuzz's work.
  constexpr std::size_t few = 1000;
  if (in_order.size() > few) return;
  const std::string folded = fold_hosts(in_order);
  const auto again = parse_host_list({"-H", folded});
  require(again.has_value(), "folded hosts are a host list", folded);
  std::vector<std::string> names_again;
  for (const Host& host : again->hosts) names_again.push_back(host.name);
  require(names_again == in_order, "folded hosts are the same hosts", folded);
}

void check_result(const Result<HostInventory>& result, const std::vector<fuzz::NamedText>& texts) {
  if (result)
    check_inventory(*result, texts);
  else
    fuzz::check_error(result.error(), ErrorClass::hosts, texts);
}

template <class Parse>
void check_parser(Parse parse, const SourceText& source) {
  Result<HostInventory> result;
  {
    const fuzz::CpuLimit limit;
    result = parse(source);
  }
  check_result(result, {{source.name, source.text}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_parser(parse_hosts, {"hosts", text});
  check_parser(parse_host_list, {"-H", text});
  return 0;
}
