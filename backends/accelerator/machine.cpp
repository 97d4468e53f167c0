// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/machine.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "backends/posix/proc.hpp"
#include "config_schema/hosts/host_address.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

using Address = std::array<unsigned char, 16>;

Address mapped(const in_addr& v4) {
  Address address{};
  address[10] = address[11] = 0xff;
  std::memcpy(&address[12], &v4, sizeof v4);
  return address;
}

bool is_loopback(const Address& address) {
  static constexpr Address v6_loopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  static constexpr Address v4_loopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return address == v6_loopback ||
         std::equal(address.begin(), address.begin() + 13, v4_loopback.begin());
}

std::string kernel_host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

Machine describe_machine() {
  return {.host_name = kernel_host_name(),
          .cpus = usable_cpus(),
          .memory = total_memory(),
          .accelerators = {}};
}

Result<Machine> describe_machine_with_accelerators(const AcceleratorSource& source) {
  auto accelerators = list_accelerators(source);
  if (!accelerators) return tl::make_unexpected(std::move(accelerators.error()));
  Machine machine = describe_machine();
  machine.accelerators = std::move(*accelerators);
  return machine;
}

std::optional<Address> OwnNames::parse_address(std::string text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));  // the zone of a link-local address
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return mapped(v4);
  Address v6{};
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return v6;
  return std::nullopt;
}

void OwnNames::read_interfaces() {
  interfaces_.emplace();
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> interfaces(first, &freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    if (entry->ifa_addr->sa_family == AF_INET) {
      sockaddr_in v4{};
      std::memcpy(&v4, entry->ifa_addr, sizeof v4);
      interfaces_->push_back(mapped(v4.sin_addr));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 v6{};
      std::memcpy(&v6, entry->ifa_addr, sizeof v6);
      std::memcpy(interfaces_->emplace_back().data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    }
  }
}

bool OwnNames::is_own_address(const Address& address) {
  if (is_loopback(address)) return true;
  if (!interfaces_) read_interfaces();
  return std::find(interfaces_->begin(), interfaces_->end(), address) != interfaces_->end();
}

// The format is that of hosts(5): for each name the first line counts.
void OwnNames::read_hosts_file() {
  addresses_.emplace();
  std::ifstream stream(source_.hosts_file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    words >> address;
    const auto parsed = parse_address(address);
    for (std::string word; words >> word;) addresses_->try_emplace(to_lower(word), parsed);
  }
}

bool OwnNames::contains(std::string_view name_or_address) {
  std::string name = to_lower(name_or_address);
  if (name.ends_with('.')) name.pop_back();
  if (name.empty()) return false;
  if (is_localhost(name)) return true;
  if (const auto address = parse_address(name)) return is_own_address(*address);
  if (host_name_.empty())
    host_name_ = to_lower(source_.host_name.empty() ? kernel_host_name() : source_.host_name);
  if (name == host_name_ || name == host_name_.substr(0, host_name_.find('.'))) return true;
  if (!addresses_) read_hosts_file();
  const auto found = addresses_->find(name);
  return found != addresses_->end() && found->second && is_own_address(*found->second);
}

bool is_this_machine(std::string_view name_or_address, const NameSource& source) {
  return OwnNames(source).contains(name_or_address);
}

}  // namespace train
