// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "launcher/ports/clock.hpp"
#include "launcher/wire/attempt_id.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Where the launcher puts what ranks print: it is shown, and it is kept. A port of the driver of a
/// run.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// Takes a chunk that was printed so long ago. It is number 1, 2, ... of all that were taken.
  virtual std::uint64_t take(OutputChunk chunk, nanoseconds age) = 0;
  /// Chunks up to this number are written down, so that they outlast the launcher, or lost for
  /// good.
  virtual std::uint64_t written() const = 0;
  /// Chunks up to this number also outlast the launcher's machine, or are lost for good.
  virtual std::uint64_t synced() const = 0;
  /// The ranks have ended or are being stopped: from now on nothing may keep the task from ending.
  virtual void expect_end() = 0;
  /// The ranks of this attempt have ended, and another of its trial may follow: that does not wait
  /// for long until there is room for what these had printed.
  virtual void expect_another(AttemptId ended) = 0;
};

}  // namespace train
