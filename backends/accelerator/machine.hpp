// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/accelerator/accelerator.hpp"

namespace train {

/// The resources of this machine.
struct Machine {
  std::string host_name;                  ///< from the kernel
  int cpus = 1;                           ///< that this process may run on, >= 1
  std::uint64_t memory = 0;               ///< bytes of RAM; 0 when not known
  std::vector<Accelerator> accelerators;  ///< all that this user may use, in PCI bus order
};

/// Describes this machine without its accelerators, whose driver takes time to answer.
Machine describe_machine();
/// The same with its accelerators; fails as `list_accelerators` does.
Result<Machine> describe_machine_with_accelerators(const AcceleratorSource& source = {});

/// Where own names are looked up; tests point it elsewhere.
struct NameSource {
  std::string host_name;  ///< empty: the kernel's
  std::string hosts_file = "/etc/hosts";
};

/// The names of this machine: "localhost", a loopback address, the address of one of its
/// interfaces, its host name (whole, or up to the first dot), or a name to which /etc/hosts gives
/// one of these addresses. Letter case and a final dot do not matter. Does not use a resolver,
/// which might use the network. Everything is read once, when first needed: thousands of hosts may
/// be checked, and /etc/hosts may list them all.
class OwnNames {
 public:
  explicit OwnNames(NameSource source = {}) : source_(std::move(source)) {}

  bool contains(std::string_view name_or_address);

 private:
  /// An IPv6 address; IPv4 ones are mapped into ::ffff:0:0/96, so that one comparison serves both.
  using Address = std::array<unsigned char, 16>;

  static std::optional<Address> parse_address(std::string text);
  bool is_own_address(const Address& address);
  void read_interfaces();
  void read_hosts_file();

  NameSource source_;
  std::string host_name_;                           ///< lower case; empty until needed
  std::optional<std::vector<Address>> interfaces_;  ///< not set until needed
  std::optional<std::unordered_map<std::string, std::optional<Address>>> addresses_;  ///< by name
};

/// The same for one name.
bool is_this_machine(std::string_view name_or_address, const NameSource& source = {});

}  // namespace train
