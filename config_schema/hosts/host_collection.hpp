// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/diagnostics.hpp"

namespace train {

/// Collects the hosts of one input in order. A host named twice is an error that names both lines.
class HostCollection {
 public:
  /// `slots_form` is how a host of several slots is written, for users who repeat its name instead;
  /// empty where nobody would.
  explicit HostCollection(Diagnostics& diagnostics, std::string slots_form = {})
      : diagnostics_(diagnostics), slots_form_(std::move(slots_form)) {}

  /// `line` is the text of the line that declares it, for an error; no host keeps it.
  void add(Host host, std::string_view line);
  void reserve(std::size_t hosts);
  /// How many more hosts may be added.
  std::size_t room() const;
  std::vector<Host>& hosts() { return hosts_; }
  std::vector<Host> take() { return std::move(hosts_); }

 private:
  Diagnostics& diagnostics_;
  std::string slots_form_;
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> known_;  ///< name to index
};

/// The hosts of a YAML inventory.
std::vector<Host> read_yaml_hosts(const SourceText& source, Diagnostics& diagnostics);

/// The hosts of a hostfile in DeepSpeed's, Open MPI's or Hydra's form, or plain names; `text` is
/// normalized.
std::vector<Host> read_line_hosts(const SourceText& source, Diagnostics& diagnostics);

}  // namespace train
