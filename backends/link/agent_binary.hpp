// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace train {

/// The agent's program as it travels to hosts.
struct AgentBinary {
  std::shared_ptr<const std::string> packed;  ///< gzip
  std::uint64_t size = 0;                     ///< unpacked, in bytes
  std::string sha256;                         ///< of the unpacked file, hexadecimal

  /// What it is called on hosts, after "train-": as much of its checksum as tells it from others.
  std::string name() const { return sha256.substr(0, 40); }
};

/// `uname -m` of this machine: what the agent is made for, as is the program that carries it.
std::string machine_of_this_program();

}  // namespace train
