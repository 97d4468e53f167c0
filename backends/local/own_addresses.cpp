// SPDX-License-Identifier: Apache-2.0
#include "backends/local/own_addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "config_schema/hosts/host_address.hpp"

namespace train {

namespace {

bool is_v6(const InterfaceAddress& each) { return each.address.find(':') != std::string::npos; }

// 169.254.0.0/16
bool is_link_local(const in_addr& address) { return (ntohl(address.s_addr) >> 16) == 0xa9fe; }

// Empty when other networks cannot reach the address.
std::string numeric_text(const sockaddr& any) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (any.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &any, sizeof v4);
    if (is_link_local(v4.sin_addr)) return {};
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (any.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &any, sizeof v6);
    if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) return {};
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return is_loopback(text.data()) ? "" : text.data();
}

bool is_numeric(const std::string& address) {
  in6_addr any{};
  return ::inet_pton(AF_INET, address.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, address.c_str(), &any) == 1;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  std::vector<InterfaceAddress> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> interfaces(first, &::freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    if (std::string text = numeric_text(*entry->ifa_addr); !text.empty())
      addresses.push_back({entry->ifa_name, std::move(text)});
  }
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const InterfaceAddress& each) { return !is_v6(each); });
  return addresses;
}

std::string declared_address(const Host& host, const std::vector<InterfaceAddress>& addresses) {
  if (is_numeric(host.address) && !is_loopback(host.address)) return host.address;
  if (host.interface.empty()) return {};
  const auto found =
      std::find_if(addresses.begin(), addresses.end(),
                   [&](const InterfaceAddress& each) { return each.interface == host.interface; });
  return found == addresses.end() ? "" : found->address;
}

std::string only_address(const std::vector<InterfaceAddress>& addresses) {
  const auto count = std::count_if(addresses.begin(), addresses.end(),
                                   [](const auto& each) { return !is_v6(each); });
  if (count == 1 || (count == 0 && addresses.size() == 1)) return addresses.front().address;
  return {};
}

}  // namespace train
