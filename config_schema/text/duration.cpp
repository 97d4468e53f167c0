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

}  // namespace train
