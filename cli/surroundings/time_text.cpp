// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings/time_text.hpp"

#include <fmt/format.h>

#include <ctime>

#include "config_schema/fields/amounts.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::int64_t per_second = 1'000'000;

// Consumes parts from the front of a text.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  std::optional<int> number(std::size_t digits, int least, int most) {
    const auto value = whole_number(rest_.substr(0, digits), least, most);
    if (rest_.size() < digits || !value) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // The digits behind a point, as microseconds.
  std::optional<std::int64_t> fraction() {
    if (!take('.')) return 0;
    std::int64_t microseconds = 0;
    std::int64_t unit = per_second;
    const std::string_view before = rest_;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1))
      microseconds += (unit /= 10) * (rest_.front() - '0');
    return before.size() > rest_.size() ? std::optional(microseconds) : std::nullopt;
  }
  bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct Written {
  std::tm time{};
  std::int64_t microseconds = 0;
  std::optional<int> zone;  ///< seconds east of UTC
};

bool read_date(Parts& parts, std::tm& time) {
  const auto year = parts.number(4, 1970, 9999);
  if (!year || !parts.take('-')) return false;
  const auto month = parts.number(2, 1, 12);
  if (!month || !parts.take('-')) return false;
  const auto day = parts.number(2, 1, 31);
  if (!day) return false;
  time.tm_year = *year - 1900;
  time.tm_mon = *month - 1;
  time.tm_mday = *day;
  return true;
}

bool read_time(Parts& parts, Written& written) {
  const auto hour = parts.number(2, 0, 23);
  if (!hour || !parts.take(':')) return false;
  const auto minute = parts.number(2, 0, 59);
  if (!minute) return false;
  written.time.tm_hour = *hour;
  written.time.tm_min = *minute;
  if (!parts.take(':')) return true;
  const auto second = parts.number(2, 0, 60);
  const auto fraction = second ? parts.fraction() : std::nullopt;
  if (!fraction) return false;
  written.time.tm_sec = *second;
  written.microseconds = *fraction;
  return true;
}

bool read_zone(Parts& parts, std::optional<int>& zone) {
  if (parts.is_empty()) return true;
  if (parts.take('Z')) {
    zone = 0;
    return true;
  }
  const int sign = parts.take('-') ? -1 : parts.take('+') ? 1 : 0;
  const auto hours = sign == 0 ? std::nullopt : parts.number(2, 0, 23);
  if (!hours) return false;
  parts.take(':');
  const auto minutes = parts.is_empty() ? 0 : parts.number(2, 0, 59);
  if (!minutes) return false;
  zone = sign * (*hours * 3600 + *minutes * 60);
  return true;
}

// Nothing if the text has another form, or the day does not exist.
std::optional<std::int64_t> read_instant(std::string_view text, std::int64_t now_us) {
  Parts parts(text);
  Written written;
  const std::time_t now = now_us / per_second;
  ::localtime_r(&now, &written.time);
  written.time.tm_hour = written.time.tm_min = written.time.tm_sec = 0;
  const bool is_of_today = text.find('-') == text.npos;
  if (!is_of_today && !read_date(parts, written.time)) return std::nullopt;
  const bool has_time = is_of_today || parts.take('T') || parts.take(' ');
  if (has_time && !read_time(parts, written)) return std::nullopt;
  if ((has_time && !read_zone(parts, written.zone)) || !parts.is_empty()) return std::nullopt;
  if (is_of_today && written.zone) {  // "today" is the date in that zone
    const std::time_t there = now + *written.zone;
    std::tm day{};
    ::gmtime_r(&there, &day);
    written.time.tm_year = day.tm_year;
    written.time.tm_mon = day.tm_mon;
    written.time.tm_mday = day.tm_mday;
  }
  const std::tm asked = written.time;
  written.time.tm_isdst = -1;
  const std::time_t seconds =
      written.zone ? ::timegm(&written.time) - *written.zone : ::mktime(&written.time);
  if (written.time.tm_mday != asked.tm_mday && asked.tm_sec < 60) return std::nullopt;
  return std::int64_t{seconds} * per_second + written.microseconds;
}

// Digits rewritten as a date, if they may be meant as one: a year (2026 is 2026-01-01), or a day
// without dashes (20261123). Nothing for any other text.
std::optional<std::string> date_in_digits(const std::string& text) {
  constexpr int last_year = 2099;  // last plausible year
  Parts parts(text);
  if (!parts.number(4, 1970, last_year)) return std::nullopt;
  if (parts.is_empty()) return text + "-01-01";
  if (!parts.number(2, 1, 12) || !parts.number(2, 1, 31) || !parts.is_empty()) return std::nullopt;
  return fmt::format("{}-{}-{}", text.substr(0, 4), text.substr(4, 2), text.substr(6));
}

}  // namespace

std::chrono::nanoseconds wall_time() { return std::chrono::system_clock::now().time_since_epoch(); }

std::optional<std::chrono::milliseconds> parse_duration(const std::string& text) {
  return read_duration(resolve_plain_scalar(text));
}

Result<std::int64_t> parse_moment(const std::string& text, const std::string& flag,
                                  std::int64_t now_us) {
  if (const auto date = date_in_digits(text))
    return fail(ErrorClass::usage, fmt::format("{}: '{}' may be seconds or a date", flag, text),
                fmt::format("write {}s for so many seconds ago, or {} for the date", text, *date));
  if (const auto ago = parse_duration(text))
    return now_us - std::chrono::microseconds(*ago).count();
  if (const auto instant = read_instant(text, now_us)) return *instant;
  return fail(ErrorClass::usage, fmt::format("{} does not know '{}'", flag, text),
              "say how long ago (90s, 10m, 2h, 1d; a bare number is seconds), or when: 15:50, "
              "'2026-11-23 15:50', 2026-11-23T15:50:01+01:00");
}

void MomentWriter::append(std::string& text, std::int64_t instant_us) {
  // Rounds down, also before 1970.
  const std::int64_t microseconds = (instant_us % per_second + per_second) % per_second;
  const std::int64_t second = (instant_us - microseconds) / per_second;
  if (second_ != second) {
    const std::time_t seconds = second;
    std::tm local{};
    ::localtime_r(&seconds, &local);
    char front[32];
    char zone[8];
    std::strftime(front, sizeof front, "%Y-%m-%dT%H:%M:%S", &local);
    std::strftime(zone, sizeof zone, "%z", &local);
    front_ = front;
    zone_ = zone;
    if (zone_.size() == 5) zone_.insert(3, ":");
    second_ = second;
  }
  fmt::format_to(std::back_inserter(text), "{}.{:03}{}", front_, microseconds / 1000, zone_);
}

}  // namespace train
