// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "launcher/output/line_splitter.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Which ranks' output reaches the terminal; all of it reaches the log files.
struct Tee {
  enum class Mode { all, none, ranks };
  Mode mode = Mode::all;
  std::set<int> ranks;
  bool all_to_stderr = false;  ///< stdout belongs to one JSON document
  bool raw = false;            ///< bytes that steer the terminal reach it

  bool shows(int rank) const {
    return mode == Mode::all || (mode == Mode::ranks && ranks.contains(rank));
  }
};

/// "all", "none", or "rank:0,4-7": class `usage` for anything else.
Result<Tee> parse_tee(const std::string& text, const std::string& flag);

/// One file per rank, appended to as output arrives, byte for byte. Keeps a bounded number of files
/// open, whatever the number of ranks.
class LogFiles {
 public:
  explicit LogFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  ~LogFiles();
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  /// Makes every file, empty. Fails with class `no_input` when one cannot be made.
  Result<void> create();
  /// Appends to the file of a rank; the system's reason when it cannot.
  std::optional<std::string> append(int rank, std::string_view bytes);

 private:
  static constexpr std::size_t most_open = 256;
  int descriptor(int rank);

  std::vector<std::string> paths_;
  std::list<std::pair<int, int>> open_;  ///< rank and descriptor, last used first
  std::map<int, std::list<std::pair<int, int>>::iterator> by_rank_;
};

/// Where everything that ranks print goes: their log files, and the terminal, line by line with a
/// `[rank]` prefix, stdout to stdout and stderr to stderr.
class RankOutput {
 public:
  RankOutput(Terminal& terminal, Tee tee, std::vector<std::string> log_paths);

  Result<void> create_logs() { return logs_.create(); }
  void add(const OutputChunk& chunk);
  /// Prints what is left without a newline.
  void end();
  /// The last lines of a rank's stderr, as a terminal would show them.
  std::vector<std::string> last_errors(int rank) const;

 private:
  struct RankStreams {
    std::string prefix;
    bool is_shown = false;
    LineSplitter out;
    LineSplitter err;
    Tail errors{tail_lines};
  };
  static constexpr std::size_t tail_lines = 20;
  RankStreams& streams_of(int rank);
  void show(RankStreams& streams, OutputStream stream, std::string_view line, std::string& text);
  void pass_on(OutputStream stream, std::string text);

  Terminal& terminal_;
  Tee tee_;
  LogFiles logs_;
  std::map<int, RankStreams> streams_;
  bool has_told_log_trouble_ = false;
};

}  // namespace train
