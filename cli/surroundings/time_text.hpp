// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

// Times in the form in which users write and read them.

/// Now, since the Unix epoch.
std::chrono::nanoseconds wall_time();

/// Parses durations as in files: "500ms", "90s", "10m", "1.5h", "7d", or a bare number of seconds
/// ("90", "0.5"). Nothing for any other text, and for more than a year.
std::optional<std::chrono::milliseconds> parse_duration(const std::string& text);

/// Parses an instant; returns microseconds since the Unix epoch. Accepts a duration before `now_us`
/// ("10m", or "90" as seconds), or a time in the time zone of this process: "2026-11-23",
/// "2026-11-23 15:50", "2026-11-23T15:50:01.25", with an explicit zone if it ends in Z or +01:00;
/// "15:50" and "15:50:01" mean today. Class `usage` for any other text, also for digits that may be
/// a date ("2026", "20261123"); `flag` names the option in the error.
Result<std::int64_t> parse_moment(const std::string& text, const std::string& flag,
                                  std::int64_t now_us);

/// Formats instants so that `parse_moment` can read them: "2026-11-23T15:50:01.250+01:00".
class MomentWriter {
 public:
  void append(std::string& text, std::int64_t instant_us);

 private:
  std::optional<std::int64_t> second_;  ///< the cached parts below belong to this second
  std::string front_;                   ///< "2026-11-23T15:50:01"
  std::string zone_;                    ///< "+01:00"
};

}  // namespace train
