// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "cli/commands/flags.hpp"
#include "cli/logs/logged_trials.hpp"
#include "cli/logs/task_view.hpp"
#include "cli/show/task_table.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/output/rank_list.hpp"

namespace train {

namespace {

struct TaskLogsFlags {
  std::string task;
  std::string ranks;         ///< "3", "0,4-7"; empty: all
  std::string hosts;         ///< a host set; empty: all
  std::string attempt;       ///< a number, or "all"; empty: the last one, or with `since` all
  std::optional<int> trial;  ///< nothing: the task is not a search
  std::string since;         ///< as `parse_moment` reads it; empty: the beginning
  std::optional<std::uint64_t> tail;
  bool only_stdout = false;
  bool only_stderr = false;
  bool timestamps = false;
  bool is_folded = false;
  bool follow = false;
};

// Accepts the number of an attempt, or "all".
CLI::Validator attempt_choice() {
  constexpr std::uint64_t most = 1'000'000;  // the most attempts that an experiment can have
  CLI::Validator number = whole_number(0, most);
  const CLI::Validator checked{
      [number](std::string& text) mutable { return text == "all" ? std::string() : number(text); },
      ""};
  return checked.name(kind_of_words({"all"}));
}

// The attempts to show, in order; a running task may add more.
struct Shown {
  int first = 0;
  int last = 0;
};

// "task k3wq", "trial 12 of task k3wq".
std::string subject(const TaskLogsFlags& flags, const TaskRecord& task) {
  if (!flags.trial) return fmt::format("task {}", task.id);
  return fmt::format("trial {} of task {}", *flags.trial, task.id);
}

// The first attempt with output since a time, which may span several. The ends of a trial's
// attempts are not known.
int first_attempt_since(const TaskRecord& task, std::int64_t since_us) {
  if (task.attempts.empty()) return 0;
  for (const AttemptRecord& attempt : task.attempts)
    if (!attempt.ended || *attempt.ended >= since_us / 1000)
      return std::min(attempt.number, task.restarts);
  return task.restarts;
}

Result<Shown> attempts_of(const TaskLogsFlags& flags, const TaskRecord& task,
                          const LineChoice& lines) {
  const int last = task.restarts;
  if (flags.attempt.empty())
    return Shown{lines.since_us ? first_attempt_since(task, *lines.since_us) : last, last};
  if (flags.attempt == "all") return Shown{0, last};
  const int attempt = std::stoi(flags.attempt);
  if (attempt <= last) return Shown{attempt, attempt};
  return fail(ErrorClass::no_input,
              last == 0 ? fmt::format("{} has no attempt {}: it was not restarted",
                                      subject(flags, task), attempt)
                        : fmt::format("{} has no attempt {}: its attempts are 0 to {}",
                                      subject(flags, task), attempt, last));
}

Result<std::set<int>> ranks_in(const std::string& list) {
  if (auto ranks = parse_rank_list(list)) return std::move(*ranks);
  return fail(ErrorClass::usage, fmt::format("--rank does not know '{}'", list),
              "give ranks, or ranges of them: 0,4-7");
}

Result<std::int64_t> since_of(const TaskLogsFlags& flags) {
  return parse_moment(flags.since, "--since", now_on_the_wall() * 1000);
}

// Checks the flags that do not depend on the task.
Result<void> check_words(const TaskLogsFlags& flags) {
  if (!flags.ranks.empty())
    if (const auto ranks = ranks_in(flags.ranks); !ranks) return tl::make_unexpected(ranks.error());
  if (!flags.since.empty())
    if (const auto since = since_of(flags); !since) return tl::make_unexpected(since.error());
  return {};
}

Result<std::set<int>> ranks_by_number(const TaskLogsFlags& flags, const TaskRecord& task) {
  auto ranks = ranks_in(flags.ranks);
  if (!ranks) return ranks;
  for (const int rank : *ranks)
    if (rank >= static_cast<int>(task.ranks.size()))
      return fail(ErrorClass::no_input,
                  fmt::format("{} has no rank {}: its ranks are 0 to {}", subject(flags, task),
                              rank, task.ranks.size() - 1));
  return std::move(*ranks);
}

Result<std::set<int>> ranks_by_host(const TaskLogsFlags& flags, const TaskRecord& task) {
  const auto names = expand_host_set(flags.hosts);
  if (!names)
    return fail(ErrorClass::usage, fmt::format("--host does not know '{}'", flags.hosts),
                "give names of hosts: node[01-04],gpu-b");
  if (flags.trial && !task.ranks.empty() && task.ranks.front().host.empty())
    return fail(ErrorClass::no_input,
                fmt::format("its logs do not tell where {} ran", subject(flags, task)),
                "choose ranks by their numbers: --rank 0,4-7");
  std::vector<std::string> known;
  std::set<std::string> known_in_lower_case;
  for (const RankRecord& rank : task.ranks)
    if (!rank.host.empty() && (known.empty() || known.back() != rank.host))
      known.push_back(rank.host);
  for (const std::string& name : known) known_in_lower_case.insert(to_lower(name));
  std::set<std::string> wanted;
  for (const std::string& name : *names) {
    wanted.insert(to_lower(name));
    if (known_in_lower_case.contains(to_lower(name))) continue;
    const std::string hint = did_you_mean(name, known);
    return fail(ErrorClass::no_input, fmt::format("task {} is not on host '{}'", task.id, name),
                hint.empty() ? "it is on " + summarize_hosts(known) : hint);
  }
  std::set<int> ranks;
  for (const RankRecord& rank : task.ranks)
    if (wanted.contains(to_lower(rank.host))) ranks.insert(rank.rank);
  return ranks;
}

Result<std::optional<std::set<int>>> chosen_ranks(const TaskLogsFlags& flags,
                                                  const TaskRecord& task) {
  std::optional<std::set<int>> chosen;
  if (!flags.ranks.empty()) {
    auto ranks = ranks_by_number(flags, task);
    if (!ranks) return tl::make_unexpected(ranks.error());
    chosen = std::move(*ranks);
  }
  if (flags.hosts.empty()) return chosen;
  auto there = ranks_by_host(flags, task);
  if (!there) return tl::make_unexpected(there.error());
  if (!chosen) return std::optional(std::move(*there));
  std::set<int> both;
  std::set_intersection(chosen->begin(), chosen->end(), there->begin(), there->end(),
                        std::inserter(both, both.end()));
  if (both.empty())
    return fail(ErrorClass::no_input,
                fmt::format("no rank of {} is on {}", flags.ranks, flags.hosts));
  return std::optional(std::move(both));
}

Result<MergedLogs::Choice> choice_of(const TaskLogsFlags& flags, const TaskRecord& task) {
  MergedLogs::Choice choice;
  auto ranks = chosen_ranks(flags, task);
  if (!ranks) return tl::make_unexpected(ranks.error());
  choice.ranks = std::move(*ranks);
  if (!flags.since.empty()) {
    const auto since = since_of(flags);
    if (!since) return tl::make_unexpected(since.error());
    choice.lines.since_us = *since;
  }
  if (flags.only_stdout) choice.lines.stream = OutputStream::out;
  if (flags.only_stderr) choice.lines.stream = OutputStream::err;
  choice.lines.last = flags.tail;
  choice.style.has_times = flags.timestamps;
  choice.style.is_folded = flags.is_folded;
  const bool is_one_rank = flags.ranks.find_first_of(",-") == std::string::npos;
  choice.style.is_bytes = !flags.ranks.empty() && is_one_rank && !flags.timestamps;
  return choice;
}

// The last lines may span several attempts: begins with the first of them; `last` becomes the
// number of lines to show of that attempt.
Result<void> begin_with_last(const TaskRecord& task, MergedLogs::Choice choice, Shown& shown,
                             std::uint64_t& last) {
  int attempt = shown.last;
  for (; attempt > shown.first; --attempt) {
    choice.lines.last = last;
    const auto lines = MergedLogs(task, attempt, choice).count();
    if (!lines) return tl::make_unexpected(lines.error());
    if (*lines >= last) break;
    last -= *lines;
  }
  shown.first = attempt;
  return {};
}

ExitCode task_logs_command(const TaskLogsFlags& flags) {
  std::signal(SIGPIPE, SIG_IGN);  // `train task logs X | head` is not a failure
  if (const auto checked = check_words(flags); !checked) return report(checked.error());
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (task) task = only_trial(std::move(*task), flags.trial);
  if (!task) return report(task.error());
  auto choice = choice_of(flags, *task);
  if (!choice) return report(choice.error());
  auto shown = attempts_of(flags, *task, choice->lines);
  if (!shown) return report(shown.error());
  auto& last = choice->lines.last;
  if (last)
    if (auto begun = begin_with_last(*task, *choice, *shown, *last); !begun)
      return report(begun.error());
  const int first = shown->first;
  const bool is_headed = flags.attempt == "all" || shown->first < shown->last;
  for (int attempt = first; attempt <= shown->last; ++attempt) {
    if (attempt > first || is_headed) talk(terminal_text("attempt {}", attempt));
    const auto printed =
        print_attempt({*choice, flags.follow, flags.trial}, **store, *task, attempt);
    if (!printed) return report(printed.error());
    if (!*printed) return ExitCode();
    last.reset();  // later attempts are shown whole
    // `--follow` continues with the next attempts.
    const bool is_one = !flags.attempt.empty() && flags.attempt != "all";
    if (flags.follow && !is_one) shown->last = task->restarts;
  }
  if (flags.follow && task->is_unattended) return report_unattended(*task);
  return ExitCode();
}

}  // namespace

void add_task_logs(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskLogsFlags>();
  CLI::App* logs =
      task.add_subcommand("logs", "Print what the ranks of a task wrote")->group("Commands");
  add_task_name(*logs, flags->task);
  logs->add_option("--rank", flags->ranks, "Only these ranks: 0-3,7; one alone byte for byte")
      ->type_name("LIST")
      ->check(names("rank"));
  logs->add_option("--host", flags->hosts,
                   "Only the ranks on these hosts, as they are placed now: node[01-02]")
      ->type_name("HOSTS")
      ->check(names("host"));
  add_trial(*logs, flags->trial);
  logs->add_option("--attempt", flags->attempt,
                   "Of this attempt (0 is the first), or of all in turn; else of the last")
      ->type_name("N|all")
      ->check(attempt_choice());
  logs->add_option("--since", flags->since,
                   "Only from then on: 10m or 90 (seconds) ago, 15:50, a date")
      ->type_name("TIME")
      ->check(names("time"));
  logs->add_option("--tail", flags->tail,
                   "Only the last lines of what is chosen, of all ranks together")
      ->type_name("N")
      ->check(whole_number(0, most_counted));
  auto* only_stdout = logs->add_flag("--stdout", flags->only_stdout, "Only standard output");
  logs->add_flag("--stderr", flags->only_stderr, "Only standard error")->excludes(only_stdout);
  logs->add_flag("--timestamps", flags->timestamps, "Begin each line with its time");
  add_dedup(*logs, flags->is_folded);
  logs->add_flag("-f,--follow", flags->follow, "Go on until the task has ended");
  logs->footer(
      "Examples:\n"
      "  train task logs k3wq --rank 0-3,7 -f\n"
      "  train task logs k3wq --host gpu-a --stderr --since 10m\n"
      "  train task logs k3wq --attempt all --tail 100");
  logs->callback([&choice, flags] { choice.run = [flags] { return task_logs_command(*flags); }; });
}

}  // namespace train
