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

/// The trials of a search that runs in the foreground, as a table below the lines that its terminal
/// shows: the best one and those that have not ended, how many there are, and how each of them is.
/// Of those that have ended nothing is kept, unless one of them is the best.
class LiveTrials {
 public:
  /// All must outlive this.
  LiveTrials(Terminal& terminal, Timers& timers, const SearchConfig& config, const Search& search)
      : terminal_(terminal), timers_(timers), config_(config), search_(search) {}

  void made(std::int64_t trial, const std::string& hyperparameters_json);
  /// Its ranks have started.
  void begun(std::int64_t trial, std::vector<std::string> hosts, UnixMillis now);
  void reported(std::int64_t trial, const std::string& report_json);
  void ended(std::int64_t trial, UnixMillis now);
  /// There is no table any more.
  void end();

  /// As it is drawn: a heading, the best trial, others by number, and below what does not fit into
  /// `most_rows` how many there are of which kind.
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
  std::map<std::int64_t, Known> known_;  ///< that have not ended, and the best
  bool has_begun_ = false;
  Instant drawn_at_{};
  std::unique_ptr<Subscription> next_;
  bool is_next_soon_ = false;
};

}  // namespace train
