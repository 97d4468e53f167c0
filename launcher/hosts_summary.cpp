// SPDX-License-Identifier: Apache-2.0
#include "launcher/hosts_summary.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <unordered_map>

namespace train {
namespace {

// A name around its last number: "gpu7.lab" is "gpu", 7, ".lab".
struct NumberedName {
  std::string prefix;
  std::string digits;
  std::string suffix;
  std::int64_t number = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

NumberedName split_name(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  NumberedName parts{name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
  constexpr std::size_t digits_that_fit = 17;
  if (parts.digits.empty() || parts.digits.size() > digits_that_fit) return {name, {}, {}};
  for (const char c : parts.digits) parts.number = parts.number * 10 + (c - '0');
  return parts;
}

bool follows(const NumberedName& before, const NumberedName& after) {
  if (before.digits.empty() || after.digits.empty()) return false;
  if (before.prefix != after.prefix || before.suffix != after.suffix) return false;
  const bool same_width = before.digits.size() == after.digits.size();
  const bool unpadded = before.digits.front() != '0' && after.digits.front() != '0';
  return after.number == before.number + 1 && (same_width || unpadded);
}

struct Run {
  std::string text;
  std::size_t names = 1;
};

std::vector<Run> fold_runs(const std::vector<std::string>& names) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < names.size();) {
    const NumberedName first = split_name(names[i]);
    NumberedName last = first;
    std::size_t end = i + 1;
    for (; end < names.size(); ++end) {
      NumberedName next = split_name(names[end]);
      if (!follows(last, next)) break;
      last = std::move(next);
    }
    if (end == i + 1) {
      runs.push_back({names[i], 1});
    } else {
      runs.push_back(
          {fmt::format("{}[{}-{}]{}", first.prefix, first.digits, last.digits, first.suffix),
           end - i});
    }
    i = end;
  }
  return runs;
}

}  // namespace

std::string fold_names(const std::vector<std::string>& names, std::size_t limit) {
  const std::vector<Run> runs = fold_runs(names);
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < runs.size() && i < limit; ++i) {
    if (i > 0) text += ", ";
    text += runs[i].text;
    shown += runs[i].names;
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string list_amounts(const std::vector<HostAmount>& amounts) {
  constexpr std::size_t few = 6;
  std::string text;
  if (amounts.size() <= few) {
    for (const HostAmount& entry : amounts) {
      if (!text.empty()) text += ", ";
      text += fmt::format("{} {}", entry.host, entry.amount);
    }
    return text;
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  std::unordered_map<std::string, std::size_t> group_of;
  for (const HostAmount& entry : amounts) {
    const auto [found, is_new] = group_of.try_emplace(entry.amount, groups.size());
    if (is_new) groups.push_back({entry.amount, {}});
    groups[found->second].second.push_back(entry.host);
  }
  constexpr std::size_t most_groups = 4;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < groups.size() && i < most_groups; ++i) {
    const auto& [amount, names] = groups[i];
    if (i > 0) text += ", ";
    text += fmt::format("{} {}{}", fold_names(names, 3), amount, names.size() > 1 ? " each" : "");
    shown += names.size();
  }
  if (shown < amounts.size()) text += fmt::format(", and {} more hosts", amounts.size() - shown);
  return text;
}

std::string counted(const std::string& amount, const std::string& singular) {
  return fmt::format("{} {}{}", amount, singular, amount == "1" ? "" : "s");
}

}  // namespace train
