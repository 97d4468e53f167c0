// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace train {

/// Bytes that many may read without a copy of their own.
struct SharedBytes {
  SharedBytes() = default;
  explicit SharedBytes(std::string text)
      : SharedBytes(std::make_shared<const std::string>(std::move(text))) {}
  explicit SharedBytes(const std::shared_ptr<const std::string>& text)
      : bytes(*text), owner(text) {}
  /// Of the program itself: they are always there.
  static SharedBytes constant(std::string_view bytes) {
    SharedBytes shared;
    shared.bytes = bytes;
    return shared;
  }

  std::string_view bytes;
  std::shared_ptr<const void> owner;  ///< null: none is needed
};

/// The agent's program as it travels to hosts.
struct AgentBinary {
  SharedBytes packed;      ///< gzip
  std::uint64_t size = 0;  ///< unpacked, in bytes
  std::string sha256;      ///< of the unpacked file, hexadecimal

  /// What it is called on hosts, after "train-": as much of its checksum as tells it from others.
  std::string name() const { return sha256.substr(0, 40); }
};

/// What is said of a host that has taken nothing of it for a while, and is given up after `limit`.
std::string upload_pause_words(const std::string& host, std::chrono::milliseconds limit);

/// `uname -m` of this machine: what the agent is made for, as is the program that carries it.
std::string machine_of_this_program();

}  // namespace train
