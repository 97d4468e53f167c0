// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/hang_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/text/duration.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/output/rank_list.hpp"

namespace train {

namespace {

// A person's screen.
constexpr std::size_t most_groups_shown = 4;
constexpr std::size_t most_frames_shown = 4;
constexpr std::size_t most_hosts_named = 4;

// From `File "/x/train.py", line 12 in step`: "step (/x/train.py:12)".
std::string frame_of(std::string_view text) {
  constexpr std::string_view quote = "\", line ";
  constexpr std::string_view in = " in ";
  const std::size_t path_end = text.find(quote);
  const std::size_t line_end = text.find(in, path_end);
  if (path_end == text.npos || line_end == text.npos || path_end == 0) return std::string(text);
  const std::size_t line = path_end + quote.size();
  return fmt::format("{} ({}:{})", text.substr(line_end + in.size()), text.substr(1, path_end - 1),
                     text.substr(line, line_end - line));
}

// The frames of the first thread in the text, which is the main thread as a rule.
std::vector<std::string> main_frames(const std::string& python) {
  constexpr std::string_view file = "File ";
  std::vector<std::string> frames;
  for (const std::string_view line : split(python, '\n')) {
    const std::string_view text = trim(line);
    if (text.starts_with(file)) frames.push_back(frame_of(text.substr(file.size())));
    if (text.empty() && !frames.empty()) break;
  }
  return frames;
}

std::string words_of(const RankState* state) {
  if (state == nullptr || state->pid == 0) return "not known";
  const std::string& name = state->command;
  const char letter = state->state.empty() ? ' ' : state->state.front();
  const std::string in = state->waits_in.empty() ? "" : " in " + state->waits_in;
  switch (letter) {
    case 'R':
      return name + " computes";
    case 'T':
      return name + " is stopped by a signal (SIGSTOP)";
    case 't':
      return name + " is stopped by a debugger";
    case 'Z':
      return name + " has ended, and something of it is left";
    case 'D':
      return name + " waits for a device or file system" + in;
    default:
      return name + " waits" + in;
  }
}

bool is_stuck(const RankState* state) {
  return state != nullptr && !state->state.empty() &&
         std::string_view("TtZD").find(state->state.front()) != std::string_view::npos;
}

const std::string& host_of(int rank, const Trial& trial) {
  const PlannedRank& planned = trial.ranks[static_cast<std::size_t>(rank)];
  return trial.hosts[static_cast<std::size_t>(planned.host)].host.name;
}

// Empty if there are many.
std::string hosts_of(const std::vector<int>& ranks, const Trial& trial) {
  std::vector<std::string> names;
  for (const int rank : ranks) {
    const std::string& name = host_of(rank, trial);
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (is_new) names.push_back(name);
    if (names.size() > most_hosts_named) return {};
  }
  return fmt::format(" on {}", fmt::join(names, ", "));
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", rank_list_text(ranks));
}

// Ranks in a collective of torch wait for those that are not.
bool waits_for_others(const HangGroup& group) {
  return std::any_of(group.frames.begin(), group.frames.end(), [](const std::string& frame) {
    return frame.find("/torch/distributed/") != frame.npos;
  });
}

void mark_odd_groups(std::vector<HangGroup>& groups, std::size_t ranks) {
  const bool is_any_in_collective = std::any_of(groups.begin(), groups.end(), waits_for_others);
  const auto most = std::find_if(groups.begin(), groups.end(), [&](const HangGroup& group) {
    return group.is_known && 2 * group.ranks.size() > ranks;
  });
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (is_any_in_collective)
      group->is_odd = group->is_odd || !waits_for_others(*group);
    else if (most != groups.end())
      group->is_odd = group->is_odd || group != most;
    group->is_odd = group->is_odd && group->is_known;
  }
  if (std::all_of(groups.begin(), groups.end(), [](const HangGroup& each) { return each.is_odd; }))
    for (HangGroup& group : groups) group.is_odd = false;
}

// Where the innermost frame is that of other ranks too, the first one that is not tells more.
void tell_odd_groups_apart(std::vector<HangGroup>& groups) {
  const auto usual = std::find_if(groups.begin(), groups.end(),
                                  [](const HangGroup& each) { return !each.is_odd; });
  if (usual == groups.end()) return;
  for (HangGroup& group : groups) {
    const auto differs = std::mismatch(group.frames.begin(), group.frames.end(),
                                       usual->frames.begin(), usual->frames.end());
    const bool is_further_out =
        differs.first != group.frames.begin() && differs.first != group.frames.end();
    if (group.is_odd && is_further_out) group.what += fmt::format(", from {}", *differs.first);
  }
}

}  // namespace

HangReport hang_report(milliseconds silence, const std::vector<int>& ranks,
                       std::map<int, RankState> states) {
  HangReport report{silence, {}, std::move(states)};
  std::map<std::pair<std::string, std::vector<std::string>>, HangGroup> groups;
  for (const int rank : ranks) {
    const auto found = report.states.find(rank);
    const RankState* const state = found == report.states.end() ? nullptr : &found->second;
    std::vector<std::string> frames =
        state == nullptr ? std::vector<std::string>() : main_frames(state->python);
    // Where the frames are known, what the kernel says of this moment only divides equal ranks.
    std::string what = frames.empty() || is_stuck(state)
                           ? words_of(state)
                           : fmt::format("{} in {}", state->command, frames.front());
    HangGroup& group = groups[{what, frames}];
    group.ranks.push_back(rank);
    group.what = std::move(what);
    group.frames = std::move(frames);
    group.is_known = state != nullptr && state->pid != 0;
    group.is_stuck = group.is_odd = is_stuck(state);
  }
  for (auto& [key, group] : groups) report.groups.push_back(std::move(group));
  std::stable_sort(
      report.groups.begin(), report.groups.end(),
      [](const HangGroup& a, const HangGroup& b) { return a.ranks.size() > b.ranks.size(); });
  mark_odd_groups(report.groups, ranks.size());
  tell_odd_groups_apart(report.groups);
  return report;
}

std::string line_of(const HangGroup& group, const Trial& trial) {
  return fmt::format("{}{}{}: {}", ranks_text(group.ranks), hosts_of(group.ranks, trial),
                     group.is_odd ? ", unlike the others" : "", group.what);
}

std::vector<std::string> lines_of(const HangReport& report, const Trial& trial) {
  std::vector<std::string> lines;
  std::size_t shown = 0;
  std::size_t left = 0;
  // The odd ones are what is looked for.
  for (const bool is_odd : {true, false})
    for (const HangGroup& group : report.groups) {
      if (group.is_odd != is_odd) continue;
      if (++shown > most_groups_shown) {
        left += group.ranks.size();
        continue;
      }
      lines.push_back(line_of(group, trial));
      const std::size_t end = std::min(group.frames.size(), most_frames_shown);
      for (std::size_t i = 1; i < end; ++i) lines.push_back("  from " + group.frames[i]);
    }
  const bool is_python =
      std::any_of(report.states.begin(), report.states.end(), [](const auto& entry) {
        return entry.second.command.starts_with("python") && entry.second.python.empty();
      });
  if (is_python) lines.emplace_back("'hang_stacks: true' lets Python say where it is");
  if (left > 0) lines.push_back(fmt::format("and {} more ranks in other states", left));
  return lines;
}

std::string text_of(const HangReport& report, const Trial& trial) {
  constexpr std::size_t longest = 16u << 20;
  std::string text =
      fmt::format("nothing came from any rank for {}\n\n", duration_text(report.silence));
  for (const HangGroup& group : report.groups) text += escaped(line_of(group, trial)) + "\n";
  text += '\n';
  const auto add = [&text](const char* what, const std::string& stack) {
    if (stack.empty()) return;
    text += what;
    for (const std::string_view line : split(stack, '\n')) text += escaped(line) + "\n";
  };
  for (const auto& [rank, state] : report.states) {
    if (text.size() > longest) return text + "\n(there is no more room for further ranks)\n";
    text += escaped(fmt::format("rank {} on {}: {}", rank, host_of(rank, trial), words_of(&state)));
    if (state.pid > 0)
      text += escaped(fmt::format(" (process {}, {}, {})", state.pid, state.state,
                                  counted(state.threads, "thread")));
    text += '\n';
    add("kernel:\n", state.kernel_stack);
    add("Python:\n", state.python);
    text += '\n';
  }
  return text;
}

}  // namespace train
