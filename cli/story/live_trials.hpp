// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/show/trial_table.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/ports/timers.hpp"

namespace train {

/// The trials of a search in the foreground, as a table below the output on its terminal: the best
/// trial, those that have not ended, and counts. Of ended trials only the best is kept.
class LiveTrials {
 public:
  /// All arguments must outlive this object.
  LiveTrials(Terminal& terminal, Timers& timers, const SearchConfig& config, const Search& search)
      : terminal_(terminal), timers_(timers), config_(config), search_(search) {}

  void made(std::int64_t trial, const std::string& hyperparameters_json);
  /// The ranks of the trial have started.
  void begun(std::int64_t trial, std::vector<std::string> hosts, UnixMillis now);
  void reported(std::int64_t trial, const std::string& report_json);
  void ended(std::int64_t trial, UnixMillis now);
  /// Removes the table.
  void end();

  /// The table as drawn: a heading, the best trial, others by number, and below them counts by
  /// state of the trials that do not fit into `most_rows`.
  std::vector<std::string> rows(UnixMillis now, std::size_t most_rows) const;

 private:
  struct Known {
    std::vector<VariedValue> varied;
    std::vector<std::string> hosts = {};
    std::optional<UnixMillis> started = {};
    std::optional<UnixMillis> ended = {};
    std::int64_t reports = 0;
    std::optional<double> step = {};
  };
  void changed();
  void draw();
  void forget_ended();
  TrialRow row_of(std::int64_t trial, const Known& known, UnixMillis now) const;

  Terminal& terminal_;
  Timers& timers_;
  const SearchConfig& config_;
  const Search& search_;
  std::map<std::int64_t, Known> known_;  ///< trials that have not ended, and the best
  bool has_begun_ = false;
  Instant drawn_at_{};
  std::unique_ptr<Subscription> next_;
  bool is_next_soon_ = false;
};

}  // namespace train
