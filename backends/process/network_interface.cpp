// SPDX-License-Identifier: Apache-2.0
#include "backends/process/network_interface.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <vector>

#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

struct Interface {
  bool is_up = false;
  bool has_address = false;
};

// Containers may give a host hundreds of them.
std::string list_of(const std::map<std::string, Interface>& interfaces) {
  constexpr std::size_t most = 8;
  std::vector<std::string> names;
  for (const auto& [name, each] : interfaces)
    if (each.is_up && each.has_address && names.size() < most) names.push_back(name);
  const std::size_t more = interfaces.size() - names.size();
  if (names.empty()) return "there is none that is up and has an address";
  return fmt::format("there {} {}{}", names.size() == 1 ? "is" : "are", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(", and {} more or without an address", more));
}

}  // namespace

Result<void> check_interface(const std::string& name) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    return fail(ErrorClass::host,
                fmt::format("cannot list its network interfaces: {}", system_reason(errno)));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::map<std::string, Interface> interfaces;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    Interface& each = interfaces[entry->ifa_name];
    each.is_up = each.is_up || (entry->ifa_flags & IFF_UP) != 0;
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    each.has_address = each.has_address || family == AF_INET || family == AF_INET6;
  }
  const auto found = interfaces.find(name);
  const char* hint = "correct 'interface' in the hosts file; 'ip address' there shows them";
  if (found == interfaces.end())
    return fail(ErrorClass::host,
                fmt::format("it has no network interface '{}': {}", name, list_of(interfaces)),
                hint);
  if (!found->second.is_up)
    return fail(ErrorClass::host,
                fmt::format("its network interface '{}' is down: {}", name, list_of(interfaces)),
                hint);
  if (!found->second.has_address)
    return fail(
        ErrorClass::host,
        fmt::format("its network interface '{}' has no address: {}", name, list_of(interfaces)),
        hint);
  return {};
}

}  // namespace train
