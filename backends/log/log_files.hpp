// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "backends/log/log_sink.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/output/log_budget.hpp"

namespace train {

/// The logs of all ranks of an attempt, as `launcher/output/log_index.hpp` describes them. Removes
/// the oldest segments to keep to the limits, and keeps a bounded number of files open, whatever
/// the number of ranks. Used from one thread at a time.
class LogFiles final : public LogSink {
 public:
  /// `log_files` are the paths of the first segments, by rank. No file becomes longer than this
  /// process may make one (ulimit -f).
  LogFiles(std::vector<std::string> log_files, LogLimits limits);

  /// Makes the first segment of every rank, empty. Fails with class `no_input` when one cannot be
  /// made.
  Result<void> create();
  /// What cannot be written is lost; what comes after it goes to a new segment.
  Outcome append(const LogPiece& piece) override;

 private:
  struct Log {
    std::string file;
    std::uint64_t begin = 0;       ///< where the segment that is written begins in the log
    std::uint64_t bytes = 0;       ///< in it
    std::uint64_t index_size = 0;  ///< of its index
    std::uint64_t lost = 0;        ///< bytes that should have followed
  };
  struct OpenLog {
    int rank = 0;
    Descriptor bytes;
    Descriptor index;
  };
  static constexpr std::size_t most_open = 128;

  std::string write(int rank, const LogPiece& piece, std::string_view bytes);
  OpenLog* open(int rank, std::string& trouble);
  void close(int rank);
  void begin_segment(int rank);
  void remove_surplus();

  std::vector<Log> logs_;
  std::uint64_t segment_size_;
  LogBudget budget_;
  std::list<OpenLog> open_;  ///< last used first
  std::map<int, std::list<OpenLog>::iterator> by_rank_;
};

/// How many bytes this user may still write where `directory` is; 0 when not known.
std::uint64_t free_bytes(const std::string& directory);

}  // namespace train
