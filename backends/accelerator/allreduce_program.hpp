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

/// One rank of a measurement of NCCL.
struct AllReduceCall {
  int rank = 0;
  int world = 1;                         ///< at most `most_allreduce_ranks`
  int device = 0;                        ///< a GPU as CUDA numbers it within CUDA_VISIBLE_DEVICES
  std::string library = "libnccl.so.2";  ///< path of NCCL, or its name where the system finds it
  std::uint64_t largest = std::uint64_t{1} << 30;  ///< bytes of the largest message
  std::vector<std::string> environment = {};       ///< the job's, "NAME=value"
};

/// A process that is one rank, on one GPU: `train-devices allreduce` (AllReduceTalk). It and its
/// process group are killed with this, at a limit, at any error, and with the thread that started
/// it; one that hangs in the kernel is left there.
///
/// The calls wait, each at most for its limit, so none belongs on an event loop. Errors are of
/// class `host` and say what is wrong in the words of NCCL or of the driver, or what the process
/// was doing at the limit and printed last; after one there is nothing more to be had.
class AllReduceProcess {
 public:
  class Conversation;
  explicit AllReduceProcess(std::unique_ptr<Conversation> conversation);
  ~AllReduceProcess();
  AllReduceProcess(AllReduceProcess&&) noexcept;
  AllReduceProcess& operator=(AllReduceProcess&&) noexcept;

  /// Of rank 0: by what the ranks meet.
  Result<std::string> id(milliseconds limit);
  /// To every rank, rank 0 included: they meet, and measure.
  Result<void> give_id(std::string_view id);
  /// What it has measured, when it has ended well. The limit is for each size.
  Result<AllReduceFacts> finish(milliseconds limit);

 private:
  std::unique_ptr<Conversation> conversation_;
};

/// Starts a rank from memory; it has its GPU, its memory there and NCCL when this returns. Of class
/// `missing` where the program cannot be executed.
Result<AllReduceProcess> start_allreduce(const DeviceProgram& program, const AllReduceCall& call,
                                         milliseconds limit);

}  // namespace train
