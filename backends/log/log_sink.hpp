// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A piece of what a rank wrote.
struct LogPiece {
  int rank = 0;
  OutputStream stream = OutputStream::out;
  std::int64_t time_us = 0;  ///< microseconds since the Unix epoch
  std::string bytes;
};

/// Where pieces are written down. May block for as long as a disk likes.
class LogSink {
 public:
  struct Outcome {
    std::uint64_t lost = 0;  ///< bytes of the piece that could not be written
    std::string trouble;     ///< and why; empty when all were
  };

  virtual ~LogSink() = default;
  virtual Outcome append(const LogPiece& piece) = 0;
};

}  // namespace train
