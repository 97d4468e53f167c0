// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/accelerator/accelerator.hpp"

namespace train {

/// What this machine has.
struct Machine {
  std::string host_name;                  ///< as the kernel has it
  int cpus = 1;                           ///< that this process may run on, >= 1
  std::uint64_t memory = 0;               ///< bytes of RAM; 0 when not known
  std::vector<Accelerator> accelerators;  ///< all that this user may use, in PCI bus order
};

/// Describes this machine without its accelerators, which take the driver's time to ask.
Machine describe_machine();
/// The same with its accelerators; fails as `list_accelerators` does.
Result<Machine> describe_machine_with_accelerators(const AcceleratorSource& source = {});

/// Where own names are looked up; tests point it elsewhere.
struct NameSource {
  std::string host_name;  ///< empty: the kernel's
  std::string hosts_file = "/etc/hosts";
};

/// `name_or_address` is this machine: "localhost", a loopback address, the address of one of its
/// interfaces, its host name (whole, or up to the first dot), or a name to which /etc/hosts gives
/// one of these addresses. Letter case and a final dot do not matter. No resolver is asked, so that
/// no network is.
bool is_this_machine(std::string_view name_or_address, const NameSource& source = {});

}  // namespace train
