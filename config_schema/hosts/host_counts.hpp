// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/hosts/host_line.hpp"
#include "config_schema/text/diagnostics.hpp"

namespace train {

/// Hosts in the order in which a scheduler's list names them first, with the slots that all its
/// entries give them. Naming a host again is no fault here.
class HostCounts {
 public:
  explicit HostCounts(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// One line of a file, not blank, or the value of a variable.
  struct Line {
    const std::string& source;
    std::string_view context;  ///< what messages begin with: "$PBS_NODEFILE"; may be empty
    int number = 0;
    std::string_view text;
  };

  /// `host`: one slot more (PBS, LSF).
  void add_repeated(const Line& line);
  /// `host slots queue processors` (Grid Engine).
  void add_counted(const Line& line);
  /// `host-gpuN`: GPU N of a host that is there already (Torque).
  void add_gpu(const Line& line);
  /// `host host host`, one slot each.
  void add_names(const Line& line);
  /// `host slots host slots`.
  void add_pairs(const Line& line);

  std::size_t size() const { return hosts_.size(); }
  bool is_each_once() const { return is_each_once_; }
  void set_slots(int each);
  /// Leaves out the first host if it has one slot; its name.
  std::optional<std::string> drop_first_of_one_slot();
  std::vector<Host> take() { return std::move(hosts_); }

 private:
  void add(const HostWord& name, int slots, const Line& line);
  void report(const Line& line, std::size_t offset, const HostSetError& error);

  Diagnostics& diagnostics_;
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> known_;  ///< name to index
  bool is_each_once_ = true;
};

}  // namespace train
