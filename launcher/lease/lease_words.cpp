// SPDX-License-Identifier: Apache-2.0
// Separate from lease.cpp: only launchers need text for people.
#include "launcher/lease/lease_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config_schema/text/quantity.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

using Kind = LeaseKey::Kind;

// "0-3,7" for ascending numbers.
std::string numbers(const std::vector<int>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t last = i;
    while (last + 1 < all.size() && all[last + 1] == all[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", all[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? "," : "-", all[last]);
    i = last + 1;
  }
  return text;
}

std::string decimal(std::uint64_t units) {
  return fmt::format("{:.10g}", static_cast<double>(units) / static_cast<double>(lease_units));
}

const char* noun_of(Kind kind) {
  switch (kind) {
    case Kind::cuda:
    case Kind::rocm:
      return "GPU";
    case Kind::device:
      return "device";
    default:
      return "slot";
  }
}

std::string words_of_amount(const LeaseHolder::Held& held) {
  if (held.key.kind == Kind::cpus)
    return held.amount == lease_units ? "1 CPU" : decimal(held.amount) + " CPUs";
  if (held.key.kind == Kind::memory) {
    const double gibibytes = static_cast<double>(held.amount) / (1u << 30);
    return gibibytes < 100 ? fmt::format("{:.3g} GiB of memory", gibibytes)
                           : fmt::format("{:.0f} GiB of memory", gibibytes);
  }
  return fmt::format("{} {}", decimal(held.amount), escaped(held.key.name));
}

}  // namespace

std::string words_of(const std::vector<LeaseHolder::Held>& leases) {
  constexpr std::size_t most = 6;
  std::map<std::string, std::vector<int>> whole;  // by noun
  std::vector<std::string> parts;
  for (const LeaseHolder::Held& held : leases) {
    const Kind kind = held.key.kind;
    if (kind == Kind::cpus || kind == Kind::memory || kind == Kind::custom)
      parts.push_back(words_of_amount(held));
    else if (held.amount > 0 && held.amount < lease_units)
      parts.push_back(
          fmt::format("{} of {} {}", decimal(held.amount), noun_of(kind), held.key.index));
    else
      whole[noun_of(kind)].push_back(held.key.index);
  }
  std::vector<std::string> words;
  for (auto& [noun, all] : whole) {
    std::sort(all.begin(), all.end());
    words.push_back(fmt::format("{}{} {}", noun, all.size() == 1 ? "" : "s", numbers(all)));
  }
  words.insert(words.end(), parts.begin(), parts.end());
  if (words.size() > most) {
    const std::size_t more = words.size() - (most - 1);
    words.resize(most - 1);
    words.push_back(fmt::format("{} more", more));
  }
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

namespace {

std::string user_of(const LeaseHolder& holder) {
  return holder.user.empty() ? fmt::format("user {}", holder.uid) : escaped(holder.user);
}

// "task abcd2345 ('digits') of alice"
std::string name_of(const LeaseHolder& holder) {
  std::string text = "task " + escaped(holder.task);
  if (!holder.name.empty()) text += fmt::format(" ('{}')", escaped(holder.name));
  return text + " of " + user_of(holder);
}

std::string launched_by(const LeaseHolder& holder) {
  if (holder.launcher.empty()) return {};
  return fmt::format(" (launched by {})", escaped(holder.launcher));
}

// "process 4711 of bob ('python3 train.py', of no task)"
std::string name_of_process(const LeaseHolder& holder) {
  constexpr std::size_t most = 60;
  const bool is_cut = holder.command.size() > most;
  const std::string command =
      escaped(is_cut ? holder.command.substr(0, most) : holder.command) + (is_cut ? "..." : "");
  const std::string task = holder.name.empty() ? "of no task"
                                               : fmt::format("of task {} that holds nothing there",
                                                             escaped(holder.name));
  return fmt::format("process {} of {} ('{}', {})", holder.pid, user_of(holder), command, task);
}

std::string unknown_process(const LeaseHolder& holder) {
  return holder.name.empty() ? "a process that belongs to no task" : escaped(holder.name);
}

}  // namespace

std::string short_words_of(const LeaseHolder& holder) {
  if (holder.pid > 0) return name_of_process(holder);
  return holder.task.empty() ? unknown_process(holder) : name_of(holder) + launched_by(holder);
}

std::string waiting_words_of(const LeaseHolder& holder) {
  return short_words_of(holder) + " waits for slots there, and comes first";
}

}  // namespace train
