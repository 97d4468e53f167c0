// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/slurm_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "config_schema/hosts/host_fold.hpp"

namespace train {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// "0-4/2" is "0,2,4"; all else stays, and so do the zeros before a number.
std::string without_step(std::string_view range) {
  const std::size_t slash = range.find('/');
  const std::size_t dash = range.find('-');
  if (slash == range.npos || dash == range.npos) return std::string(range);
  const std::string_view first = range.substr(0, dash);
  const std::int64_t last = number_of(range.substr(dash + 1, slash - dash - 1));
  const std::int64_t step = std::max<std::int64_t>(1, number_of(range.substr(slash + 1)));
  std::string numbers;
  for (std::int64_t number = number_of(first); number <= last; number += step)
    numbers += fmt::format("{}{:0{}}", numbers.empty() ? "" : ",", number, first.size());
  return numbers;
}

}  // namespace

bool slurm_sorts_before(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty()) {
    if (!is_digit(left.front()) || !is_digit(right.front())) {
      if (left.front() != right.front()) return left.front() < right.front();
      left.remove_prefix(1);
      right.remove_prefix(1);
      continue;
    }
    const auto digits = [](std::string_view& text) {
      const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
      std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
      text.remove_prefix(number.size());
      number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
      return number;
    };
    const std::string_view first = digits(left);
    const std::string_view second = digits(right);
    if (first.size() != second.size()) return first.size() < second.size();
    if (first != second) return first < second;
  }
  return left.size() < right.size();
}

std::string slurm_host_set(const std::vector<std::string>& names) {
  const std::string folded = fold_hosts(names);
  std::string text;
  for (std::size_t begin = 0; begin < folded.size();) {
    const std::size_t end = std::min(folded.find_first_of("[,]", begin), folded.size());
    text += without_step(std::string_view(folded).substr(begin, end - begin));
    if (end < folded.size()) text += folded[end];
    begin = end + 1;
  }
  return text;
}

std::string slurm_job_name(std::string_view name) {
  constexpr std::size_t longest = 64;
  std::string job;
  for (const char c : name.substr(0, longest)) {
    const bool is_plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          c == '.' || c == '_' || c == '-';
    job += is_plain ? c : '_';
  }
  return job.empty() ? "train" : job;
}

}  // namespace train
