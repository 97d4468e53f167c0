// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/surroundings/time_text.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/output/line_folder.hpp"
#include "launcher/output/line_splitter.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// What a terminal shows besides the output of ranks.
enum class Progress {
  live,   ///< rows below the output, where a person watches
  plain,  ///< lines alone
  none,   ///< only warnings, failures and the end
};

/// Which ranks' output is shown on the terminal; the log files get all of it.
struct Tee {
  enum class Mode { all, none, ranks };
  Mode mode = Mode::all;
  std::set<int> ranks;
  bool all_to_stderr = false;  ///< stdout contains only one JSON document
  bool raw = false;            ///< control characters are not escaped
  bool has_times = false;      ///< lines begin with the time when they were printed
  bool is_folded = false;      ///< a line that many ranks print is shown once
  Progress progress = Progress::live;

  bool shows(int rank) const {
    return mode == Mode::all || (mode == Mode::ranks && ranks.contains(rank));
  }
};

/// "all", "none", or "rank:0,4-7": class `usage` for anything else.
Result<Tee> parse_tee(const std::string& text, const std::string& flag);

/// Shows the output of ranks on the terminal, line by line, with a prefix that names the rank:
/// stdout to stdout and stderr to stderr. Remembers the last lines of stderr. When the terminal has
/// fallen far behind, output is skipped, so that neither the ranks nor their logs wait for it; the
/// number of skipped lines is printed once there is room again.
class RankOutput {
 public:
  /// The prefix of lines of rank 3 of trial 12: "[3] " if the task has one trial, "[12] " if it has
  /// many trials of one rank each, "[12/3] " otherwise.
  enum class Prefix { rank, trial, trial_and_rank };

  /// `elsewhere` is the command that prints all output.
  RankOutput(Terminal& terminal, Tee tee, std::string elsewhere = "train task logs",
             Prefix prefix = Prefix::rank)
      : terminal_(terminal),
        tee_(std::move(tee)),
        elsewhere_(std::move(elsewhere)),
        prefix_(prefix) {}

  /// From now on, shows a line that many ranks print once (see `LineFolder`). `ranks`: how many
  /// are shown, 0: not known. `timers` must outlive this object.
  void fold_lines(Timers& timers, std::size_t ranks);
  /// Whether it is said how the task goes on.
  bool tells_progress() const { return tee_.progress != Progress::none; }
  /// `time_us`: when it was printed, in microseconds since the Unix epoch.
  void add(const OutputChunk& chunk, std::int64_t time_us = 0);
  /// Adds what a rank wrote to its stderr earlier, which was shown by another launcher.
  void remember(int trial, int rank, std::string_view errors);
  /// Call it when the terminal has caught up.
  void has_room();
  /// Prints last lines without a newline.
  void end();
  /// Prints last lines of this trial without a newline, if the terminal has room.
  void end(int trial);
  /// Forgets all output of this trial.
  void forget(int trial);
  /// Ends and forgets a trial that prints nothing more; take its last errors before.
  void end_trial(int trial) {
    end(trial);
    forget(trial);
  }
  /// Unfinished lines of shown ranks that they have begun anew with a carriage return, such as
  /// progress bars, by rank, as a terminal would show them; at most `most`.
  std::vector<std::string> rewritten_lines(std::size_t most) const;
  /// The last lines of a rank's stderr, as a terminal would show them.
  std::vector<std::string> last_errors(int trial, int rank) const;

 private:
  struct RankStreams {
    int trial = 0;  ///< only lines of equal trials are folded
    int rank = 0;   ///< the number that tells it from others of this trial
    std::string prefix;
    bool is_shown = false;
    LineSplitter out;
    LineSplitter err;
    Tail errors{tail_lines};
  };
  static constexpr std::size_t tail_lines = 20;
  using Streams = std::map<std::pair<int, int>, RankStreams>;  ///< by trial and rank
  RankStreams& streams_of(int trial, int rank);
  std::string prefix_of(int trial, const std::string& ranks) const;
  void look_for_room();
  void end(Streams::iterator first, Streams::iterator last);
  void show(RankStreams& streams, OutputStream stream, std::string_view line, std::string& text);
  void append_head(std::string& text, const std::string& prefix, std::int64_t time_us);
  void pass_on(OutputStream stream, std::string text);
  LineFolder::Moment now() const;
  void look();
  void show_folded();
  void show_folded(const std::vector<FoldedLine>& lines);
  void show_all_folded();

  Terminal& terminal_;
  Tee tee_;
  std::string elsewhere_;
  Prefix prefix_;
  std::uint64_t not_shown_ = 0;  ///< lines skipped since the terminal was full
  bool is_behind_ = false;
  std::int64_t time_us_ = 0;  ///< of the last chunk
  MomentWriter times_;
  Streams streams_;
  std::optional<LineFolder> folder_;
  Timers* timers_ = nullptr;  ///< if lines are folded
  std::unique_ptr<Subscription> next_look_;
};

}  // namespace train
