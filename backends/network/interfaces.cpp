// SPDX-License-Identifier: Apache-2.0
#include "backends/network/interfaces.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "backends/posix/files.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t most_names_of_folder = 4096;
constexpr int most_layers = 8;             // a VLAN on a bridge on a bond on two ports has four
constexpr int highest_speed = 10'000'000;  // Mb/s; larger values are errors

// Best first.
enum class AddressKind { v4, link_local_v4, v6, unusable };

AddressKind kind_of(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    const std::uint32_t bits = ntohl(v4.s_addr);
    if (bits == INADDR_ANY || bits >> 24 == IN_LOOPBACKNET) return AddressKind::unusable;
    return bits >> 16 == 0xa9fe ? AddressKind::link_local_v4 : AddressKind::v4;
  }
  in6_addr v6{};
  const bool is_global = ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 &&
                         !IN6_IS_ADDR_LINKLOCAL(&v6) && !IN6_IS_ADDR_LOOPBACK(&v6) &&
                         !IN6_IS_ADDR_UNSPECIFIED(&v6);
  return is_global ? AddressKind::v6 : AddressKind::unusable;
}

// A comma would make two names in NCCL_SOCKET_IFNAME, a colon is in labels of addresses, and no
// name may lead elsewhere in /sys.
bool is_usable_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.size() < IFNAMSIZ &&
         std::all_of(name.begin(), name.end(), [](char each) {
           return each > ' ' && each < 0x7f && each != ',' && each != ':' && each != '/';
         });
}

bool has_file(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string folder_of(const NetworkFiles& files, const std::string& interface) {
  return files.sys + "/class/net/" + interface;
}

int speed_of(const NetworkFiles& files, const std::string& interface) {
  return whole_number(first_line_of(folder_of(files, interface) + "/speed"), 1, highest_speed)
      .value_or(0);
}

// Whether the interface is a device or on top of one: a bond of ports, a bridge with a port, a
// VLAN.
bool has_device(const NetworkFiles& files, const std::string& interface) {
  constexpr std::string_view lower = "lower_";
  std::set<std::string> seen{interface};
  std::vector<std::string> layer{interface};
  for (int depth = 0; depth < most_layers && !layer.empty(); ++depth) {
    std::vector<std::string> below;
    for (const std::string& each : layer) {
      const std::string folder = folder_of(files, each);
      if (has_file(folder + "/device")) return true;
      for (const std::string& name : names_in(FolderReader(folder), most_names_of_folder))
        if (name.starts_with(lower) && seen.insert(name.substr(lower.size())).second)
          below.push_back(name.substr(lower.size()));
    }
    layer = std::move(below);
  }
  return false;
}

std::set<std::string> rdma_interfaces(const NetworkFiles& files) {
  std::set<std::string> found;
  const std::string folder = files.sys + "/class/infiniband";
  for (const std::string& device : names_in(FolderReader(folder), most_names_of_folder)) {
    const std::string interfaces = fmt::format("{}/{}/device/net", folder, device);
    for (std::string& name : names_in(FolderReader(interfaces), most_names_of_folder))
      found.insert(std::move(name));
  }
  return found;
}

// Zeros for a null pointer.
template <class Address>
Address copied(const sockaddr* any) {
  Address copy{};
  if (any != nullptr) std::memcpy(&copy, any, sizeof copy);
  return copy;
}

int count_bits(const void* mask, std::size_t size) {
  int count = 0;
  for (std::size_t i = 0; i < size; ++i)
    count += std::popcount(static_cast<const unsigned char*>(mask)[i]);
  return count;
}

// Without the interface's name; the address is empty for other families than IPv4 and IPv6.
InterfaceEntry read_address(const ifaddrs& entry) {
  InterfaceEntry read;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = entry.ifa_addr == nullptr ? AF_UNSPEC : entry.ifa_addr->sa_family;
  if (family == AF_INET) {
    const auto address = copied<sockaddr_in>(entry.ifa_addr);
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    const auto mask = copied<sockaddr_in>(entry.ifa_netmask);
    read.prefix = count_bits(&mask.sin_addr, sizeof mask.sin_addr);
  } else if (family == AF_INET6) {
    const auto address = copied<sockaddr_in6>(entry.ifa_addr);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    const auto mask = copied<sockaddr_in6>(entry.ifa_netmask);
    read.prefix = count_bits(&mask.sin6_addr, sizeof mask.sin6_addr);
  }
  read.address = text.data();
  return read;
}

// The address with zeros behind the prefix: "10.0.0.0/24".
std::string network_of(const InterfaceEntry& entry) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const bool is_v4 = ::inet_pton(AF_INET, entry.address.c_str(), bytes.data()) == 1;
  const int family = is_v4 ? AF_INET : AF_INET6;
  if (!is_v4) ::inet_pton(AF_INET6, entry.address.c_str(), bytes.data());
  for (int bit = entry.prefix; bit < static_cast<int>(8 * bytes.size()); ++bit)
    bytes[static_cast<std::size_t>(bit / 8)] &= static_cast<unsigned char>(~(0x80 >> bit % 8));
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/" + std::to_string(entry.prefix);
}

// The best address of each interface.
std::map<std::string, const InterfaceEntry*> best_entries(
    const std::vector<InterfaceEntry>& entries) {
  std::map<std::string, const InterfaceEntry*> best;
  for (const InterfaceEntry& entry : entries) {
    const AddressKind kind = kind_of(entry.address);
    if (kind == AddressKind::unusable || !entry.is_running || entry.is_loopback ||
        !is_usable_name(entry.interface))
      continue;
    const InterfaceEntry*& taken = best[entry.interface];
    if (taken == nullptr || kind < kind_of(taken->address)) taken = &entry;
  }
  return best;
}

}  // namespace

std::vector<InterfaceEntry> interface_entries() {
  std::vector<InterfaceEntry> entries;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return entries;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    InterfaceEntry entry = read_address(*each);
    if (entry.address.empty()) continue;
    constexpr unsigned running = IFF_UP | IFF_RUNNING;
    entry.interface = each->ifa_name;
    entry.is_running = (each->ifa_flags & running) == running;
    entry.is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<NetworkAddress> network_addresses(const std::vector<InterfaceEntry>& entries,
                                              const NetworkFiles& files) {
  const std::set<std::string> rdma = rdma_interfaces(files);
  std::vector<NetworkAddress> addresses;
  for (const auto& [name, entry] : best_entries(entries))
    addresses.push_back({.interface = name,
                         .address = entry->address,
                         .network = network_of(*entry),
                         .speed = speed_of(files, name),
                         .is_virtual = !has_device(files, name),
                         .has_rdma = rdma.contains(name)});
  std::sort(addresses.begin(), addresses.end(),
            [](const NetworkAddress& one, const NetworkAddress& other) {
              return std::tuple(one.is_virtual, -one.speed, std::string_view(one.interface)) <
                     std::tuple(other.is_virtual, -other.speed, std::string_view(other.interface));
            });
  if (addresses.size() > most_network_addresses) addresses.resize(most_network_addresses);
  return addresses;
}

std::vector<NetworkAddress> network_addresses(const NetworkFiles& files) {
  return network_addresses(interface_entries(), files);
}

}  // namespace train
