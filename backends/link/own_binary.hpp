// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "config_schema/error.hpp"

namespace train {

/// The binary as it travels.
struct PackedBinary {
  std::string bytes;       ///< gzip
  std::uint64_t size = 0;  ///< unpacked
  std::string sha256;      ///< of the unpacked file, hexadecimal
};

/// Reads and packs a file of at most 512 MiB. Blocks.
Result<PackedBinary> pack_binary(const std::string& path);

/// The binary that is to run on the hosts: a file, and the name of its content.
struct ShippedBinary {
  std::string path;
  std::string build_id;
};

/// The running program, also when another was installed over it; its build id or, when the linker
/// put none in, its SHA-256. Class `bug` when its file cannot be read.
Result<ShippedBinary> running_binary();

/// The GNU build id that the linker put into the running program, hexadecimal; empty if it did not.
std::string build_id_of_this_program();

/// `uname -m` of this machine: what the running program is made for.
std::string machine_of_this_program();

/// Packs the binary on a thread of its own, once, when the first host asks for it.
class BinaryPacker {
 public:
  using Packed = std::shared_ptr<const Result<PackedBinary>>;

  BinaryPacker(Loop& loop, std::string path);
  ~BinaryPacker();
  BinaryPacker(const BinaryPacker&) = delete;
  BinaryPacker& operator=(const BinaryPacker&) = delete;

  /// `on_ready` comes from the loop, never from inside this call, and not after this object is
  /// gone.
  void request(std::function<void(const Packed&)> on_ready);

 private:
  struct State {
    Packed packed;
    std::vector<std::function<void(const Packed&)>> waiting;
  };
  Loop& loop_;
  std::string path_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::thread thread_;
};

}  // namespace train
