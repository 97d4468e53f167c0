// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace train {

/// Bytes with shared ownership, for readers without copies of their own.
struct SharedBytes {
  SharedBytes() = default;
  explicit SharedBytes(std::string text)
      : SharedBytes(std::make_shared<const std::string>(std::move(text))) {}
  explicit SharedBytes(const std::shared_ptr<const std::string>& text)
      : bytes(*text), owner(text) {}
  /// For bytes that are part of the program and live as long as it.
  static SharedBytes constant(std::string_view bytes) {
    SharedBytes shared;
    shared.bytes = bytes;
    return shared;
  }

  std::string_view bytes;
  std::shared_ptr<const void> owner;  ///< null for constant bytes
};

/// The agent's program in the form that is sent to hosts.
struct AgentBinary {
  SharedBytes packed;      ///< gzip
  std::uint64_t size = 0;  ///< unpacked, in bytes
  std::string sha256;      ///< of the unpacked file, hexadecimal

  /// Its file name on hosts, after "train-": a prefix of its checksum that is unique in practice.
  std::string name() const { return sha256.substr(0, 40); }
};

/// The message about a host that has received nothing of the agent for a while, and is given up
/// after `limit`.
std::string upload_pause_words(const std::string& host, std::chrono::milliseconds limit);

/// `uname -m` of this machine, for which this program and the agent in it are built.
std::string machine_of_this_program();

}  // namespace train
