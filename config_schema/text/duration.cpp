// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/duration.hpp"

#include <fmt/format.h>

namespace train {

std::string duration_text(std::chrono::nanoseconds duration) {
  // Durations up to this length are easier to compare in one unit.
  constexpr std::chrono::seconds longest_in_seconds{119};
  const auto all = std::chrono::duration_cast<std::chrono::seconds>(duration);
  if (all <= longest_in_seconds) return fmt::format("{} s", all.count());
  struct Unit {
    const char* name;
    std::chrono::seconds length;
  };
  constexpr Unit units[] = {{"d", std::chrono::hours(24)},
                            {"h", std::chrono::hours(1)},
                            {"min", std::chrono::minutes(1)},
                            {"s", std::chrono::seconds(1)}};
  const Unit* unit = units;
  while (all < unit->length) ++unit;
  std::string text = fmt::format("{} {}", all / unit->length, unit->name);
  const auto rest = all % unit->length;
  const Unit& next = unit[1];
  if (rest >= next.length) text += fmt::format(" {} {}", rest / next.length, next.name);
  return text;
}

std::string short_duration_text(std::chrono::milliseconds duration) {
  if (duration >= std::chrono::seconds(1)) return duration_text(duration);
  return fmt::format("{} ms", duration.count());
}

std::string format_duration(std::int64_t duration) {
  const std::int64_t seconds = duration / 1000;
  if (seconds < 60) return fmt::format("{}.{}s", seconds, duration % 1000 / 100);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds / 3600 % 24);
}

}  // namespace train
