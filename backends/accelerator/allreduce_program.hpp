// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/accelerator/device_program.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/allreduce_report.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The arguments of one rank of an NCCL measurement.
struct AllReduceCall {
  int rank = 0;
  int world = 1;                         ///< at most `most_allreduce_ranks`
  int device = 0;                        ///< CUDA's number of the GPU within CUDA_VISIBLE_DEVICES
  std::string library = "libnccl.so.2";  ///< path of NCCL, or a name for the dynamic linker
  std::uint64_t largest = std::uint64_t{1} << 30;  ///< bytes of the largest message
  std::vector<std::string> environment = {};       ///< the job's, "NAME=value"
};

/// A process that is one rank, on one GPU: `train-devices allreduce` (AllReduceTalk). It and its
/// process group are killed by the destructor, at a limit, at any error, and when the thread that
/// started it ends; a process that hangs in the kernel is left.
///
/// The calls block, each up to its limit, so do not call them on an event loop. Errors are of class
/// `host`, with the text of NCCL or of the driver, or with the state of the process at the limit
/// and its last lines. After an error the object cannot be used any more.
class AllReduceProcess {
 public:
  class Conversation;
  explicit AllReduceProcess(std::unique_ptr<Conversation> conversation);
  ~AllReduceProcess();
  AllReduceProcess(AllReduceProcess&&) noexcept;
  AllReduceProcess& operator=(AllReduceProcess&&) noexcept;

  /// For rank 0: the NCCL id by which the ranks connect.
  Result<std::string> id(milliseconds limit);
  /// For every rank, including rank 0: passes the id; the ranks then connect and measure.
  Result<void> give_id(std::string_view id);
  /// Waits for the successful end and returns the measurement. The limit is for each size.
  Result<AllReduceFacts> finish(milliseconds limit);

 private:
  std::unique_ptr<Conversation> conversation_;
};

/// Starts a rank from memory. When this returns, the process has its GPU, memory on it, and NCCL
/// loaded. Class `missing` if the program cannot be executed.
Result<AllReduceProcess> start_allreduce(const DeviceProgram& program, const AllReduceCall& call,
                                         milliseconds limit);

}  // namespace train
