// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "launcher/ports/clock.hpp"
#include "launcher/wire/attempt_id.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Takes the output of ranks on the launcher's side: shows it and keeps it. A port of the driver of
/// a run.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// Takes a chunk that was printed `age` ago, and returns its number: 1, 2, ... over all chunks
  /// taken.
  virtual std::uint64_t take(OutputChunk chunk, nanoseconds age) = 0;
  /// Chunks up to this number are written down, so that they outlast the launcher, or lost for
  /// good.
  virtual std::uint64_t written() const = 0;
  /// Chunks up to this number also outlast the launcher's machine, or are lost for good.
  virtual std::uint64_t synced() const = 0;
  /// The ranks have ended or are being stopped: from now on nothing may keep the task from ending.
  virtual void expect_end() = 0;
  /// The ranks of this attempt have ended, and another attempt of the trial may follow: it does not
  /// wait long for room for their output.
  virtual void expect_another(AttemptId ended) = 0;
};

}  // namespace train
