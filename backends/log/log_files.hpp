// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/log/log_sink.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/output/log_budget.hpp"

namespace train {

/// A segment of at least this size, in bytes, is synced before the next one begins. Smaller ones
/// are checked when a log is adopted.
constexpr std::uint64_t least_synced_segment = 1u << 20;

/// The logs of all ranks of an attempt, as `launcher/output/log_index.hpp` describes them. Removes
/// the oldest segments to stay within the limits, and keeps a bounded number of files open,
/// independent of the number of ranks. Used from one thread at a time.
class LogFiles final : public LogSink {
 public:
  /// When the log of a rank is created: `create` makes an empty one, or the first write makes it.
  enum class Making { at_once, when_written };

  /// `log_files` are the paths of the first segments, by rank, all in one folder. No file becomes
  /// longer than the limit of this process (ulimit -f).
  LogFiles(std::vector<std::string> log_files, LogLimits limits, Making making = Making::at_once);

  /// Creates the first segment of every rank, empty. Fails with class `no_input` when one cannot be
  /// created.
  Result<void> create();
  /// Instead of `create`, adopts the logs that another process has left, wherever it was
  /// interrupted: each is cut back to its last whole record, and is on the disk when this returns.
  /// Returns the positions, by rank, from which the output has to be sent again. Fails with class
  /// `no_input` when a log cannot be read or cut.
  Result<std::vector<std::uint64_t>> adopt();
  /// Output that cannot be written for a permanent reason (its folder was removed) is lost; what
  /// comes after it goes to a new segment, behind a gap.
  Outcome append(const LogPiece& piece, std::size_t from, NoRoom no_room) override;
  using LogSink::append;
  /// Two of the returned syncs may run at the same time.
  Sync begin_sync() override;
  /// How many logs are open, two files each.
  std::size_t open_logs() const { return open_.size(); }
  /// Closes all files; they are opened again when written.
  void close_files();

 private:
  struct Log {
    std::string file;
    std::uint64_t begin = 0;       ///< position in the log of the current segment
    std::uint64_t bytes = 0;       ///< in the current segment
    std::uint64_t dropped = 0;     ///< bytes in gaps of the current segment
    std::uint64_t index_size = 0;  ///< bytes of its index
    std::uint64_t lost = 0;        ///< bytes that could not be written behind it

    std::uint64_t end() const { return begin + bytes + dropped; }
  };
  struct OpenLog {
    int rank = 0;
    Descriptor bytes;
    Descriptor index;
  };
  /// A write that failed.
  struct Failure {
    int error = 0;
    std::string text;
  };
  using Segment = std::pair<int, std::uint64_t>;  ///< rank, position in the log
  static constexpr std::size_t most_open = 128;

  Log& log_of(int rank) { return logs_[static_cast<std::size_t>(rank)]; }
  Result<std::uint64_t> adopt(int rank, const std::vector<std::uint64_t>& segments);
  Outcome failed(const LogPiece& piece, Outcome outcome, Failure failure, NoRoom no_room);
  Failure write_gap(const LogPiece& piece);
  Failure write(const LogPiece& piece, std::string_view bytes);
  Failure write_entry(int rank, std::string_view bytes, const std::string& record);
  void sync_before_the_next(int rank);
  OpenLog* open(int rank, Failure& failure);
  void close(int rank);
  void begin_segment(int rank);
  void remove_surplus();

  std::vector<Log> logs_;
  Making making_;
  std::uint64_t segment_size_;
  LogBudget budget_;
  std::list<OpenLog> open_;  ///< last used first
  std::map<int, std::list<OpenLog>::iterator> by_rank_;
  std::set<Segment> unsynced_;
  bool has_new_files_ = false;  ///< whose names are not synced yet
  std::string lost_in_sync_;    ///< not reported yet
};

/// Whether an operation with this errno may succeed later: space may be freed, a disk may come
/// back. A folder that was removed does not come back.
bool may_pass(int error);

/// How many bytes this user may still write on the file system of `directory`; 0 when not known.
std::uint64_t free_bytes(const std::string& directory);

}  // namespace train
