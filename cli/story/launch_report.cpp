// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <set>

#include "cli/story/host_troubles.hpp"
#include "config_schema/text/duration.hpp"
#include "launcher/agent/agent.hpp"
#include "launcher/plan/summaries.hpp"
#include "launcher/plan/trial_place.hpp"

namespace train {

namespace {

ErrorClass class_of(const RunOutcome& outcome) {
  if (outcome.stop_signal == runtime_over) return ErrorClass::timeout;
  if (outcome.stop_signal) return ErrorClass::interrupted;
  return outcome.cause ? outcome.cause->error.error_class : ErrorClass::bug;
}

std::vector<int> ranks_in(const RunOutcome& outcome, RankOutcome::State state) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
    if (outcome.ranks[rank].state == state) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

TaskState final_state(const RunOutcome& outcome) {
  if (outcome.succeeded) return TaskState::succeeded;
  if (!outcome.stop_signal) return TaskState::failed;
  if (outcome.stop_signal == runtime_over) return TaskState::timeout;
  return *outcome.stop_signal == SIGTERM ? TaskState::killed : TaskState::interrupted;
}

// The usual meaning of a signal, for those that are not obvious to a user.
std::string meaning_of_signal(int signal) {
  switch (signal) {
    case SIGKILL:
      return "SIGKILL comes from outside: often the kernel's out-of-memory killer (see dmesg on "
             "that host), a batch system or another user";
    case SIGSEGV:
      return "SIGSEGV is a crash in native code, often in an extension or a driver";
    case SIGBUS:
      return "SIGBUS is often a full /dev/shm or a truncated mapped file";
    case SIGABRT:
      return "SIGABRT is an assertion or a native library giving up";
    default:
      return {};
  }
}

// All known facts about the cause, except for those in the last line.
TerminalText describe_cause(const Failure& cause, const RunOutcome& outcome, const Trial& trial,
                            const RankOutput& output, const TaskRecord& task) {
  const Host& host = trial.hosts[trial.ranks[*cause.rank].host].host;
  TerminalText text = terminal_text("rank {} on '{}':", *cause.rank, host.name);
  const RankOutcome& rank = outcome.ranks[*cause.rank];
  if (rank.memory_kill) {
    if (!rank.memory_kill->process.empty())
      text += terminal_text("\n  the kernel killed process {} (its words are in dmesg there)",
                            rank.memory_kill->process);
  } else if (rank.signal && rank.state == RankOutcome::State::failed && !rank.ended_with_parent) {
    if (const auto meaning = meaning_of_signal(*rank.signal); !meaning.empty())
      text += terminal_text("\n  {}", meaning);
  }
  if (!rank.core.empty()) text += terminal_text("\n  its core: {}", rank.core);
  if (!rank.reported.empty()) text += terminal_text("\n  it reported: {}", rank.reported);
  const auto errors = output.last_errors(trial.trial, *cause.rank);
  if (errors.empty()) {
    text += "\n  it printed nothing on stderr";
  } else {
    text += "\n  the last lines of its stderr:";
    for (const std::string& line : errors) text += terminal_text("\n  | {}", line);
  }
  if (!task.log_directory.empty())
    text += terminal_text("\n  its output: train task logs {} --rank {}, and as it came in {}",
                          task.id, *cause.rank, task.ranks[*cause.rank].log_file);
  return text;
}

void add_line(TerminalText& report, const TerminalText& line) {
  if (!report.empty() && !line.empty()) report += "\n";
  report += line;
}

// Similar lines about different ranks: the first few, and the number of the rest.
class FewLines {
 public:
  void add(const TerminalText& line) {
    if (shown_ == most_shown) return add_unknown(1);
    ++shown_;
    add_line(text_, line);
  }
  TerminalText text() const {
    if (left_out_ == 0) return text_;
    return text_ + terminal_text("\n... and {} more", left_out_);
  }
  /// Adds lines of which only the number is known.
  void add_unknown(std::size_t count) { left_out_ += count; }

 private:
  static constexpr std::size_t most_shown = 8;
  std::size_t shown_ = 0;
  std::size_t left_out_ = 0;
  TerminalText text_;
};

// How many failures of one host are shown if other hosts have some too.
constexpr std::size_t most_of_one = 5;

// The cause, if it is a failure of a host, is the first of the troubles and is printed last.
bool is_of_host(const RunOutcome& outcome) {
  return outcome.cause && !outcome.cause->rank && outcome.cause->host >= 0;
}

TerminalText describe_others(const RunOutcome& outcome, const Trial& trial,
                             const std::vector<HostTrouble>& troubles) {
  const TerminalText same_moment = "at the same moment, as far as the clocks tell: ";
  const std::set<int> simultaneous(outcome.simultaneous.begin(), outcome.simultaneous.end());
  FewLines at_once;
  FewLines later;
  for (std::size_t i = is_of_host(outcome) ? 1 : 0; i < troubles.size(); ++i) {
    const TerminalText text = terminal_text(troubles[i].named(trial), most_of_one);
    if (troubles[i].may_be_first)
      at_once.add(same_moment + text);
    else
      later.add("also: " + text);
  }
  for (int i = 0; i < static_cast<int>(outcome.others.size()); ++i) {
    const Failure& failure = outcome.others[i];
    if (!failure.rank && failure.host >= 0) continue;
    if (simultaneous.contains(i))
      at_once.add(same_moment + TerminalText(failure.error.diagnostics.front().message));
    else
      later.add("also: " + terminal_text(failure.error, most_of_one));
  }
  TerminalText text = at_once.text();
  add_line(text, later.text());
  return text;
}

// The beginning of the message up to its last quoted name: "cannot execute '/opt/train'". Empty
// when it has no such name, or is longer than a line.
std::string what_is_missing(const Error& error) {
  constexpr std::size_t longest = 160;
  const std::string& message = error.diagnostics.front().message;
  const std::size_t end = message.rfind('\'');
  if (error.error_class != ErrorClass::missing || end == message.find('\'')) return {};
  const std::string named = message.substr(0, end + 1);
  const bool is_one_line = named.find('\n') == named.npos;
  return named.size() <= longest && is_one_line ? named : std::string();
}

// The reason of a host's failure, if it fits into a line.
std::string reason_of(const Error& error) {
  constexpr std::size_t longest = 160;
  const std::string& message = error.diagnostics.front().message;
  const bool is_short = message.size() <= longest && message.find('\n') == message.npos;
  return error.error_class == ErrorClass::host && is_short ? message : what_is_missing(error);
}

// What ended the attempts before the last one, one line each.
TerminalText describe_attempts(const TaskRecord& task) {
  FewLines lines;
  for (std::size_t i = 0; i + 1 < task.attempts.size(); ++i)
    lines.add(terminal_text("attempt {}: {}", task.attempts[i].number, task.attempts[i].cause));
  return lines.text();
}

// The hosts whose answer was no longer awaited after others had failed.
TerminalText describe_undecided(const RunOutcome& outcome, const Trial& trial) {
  if (outcome.undecided.empty()) return {};
  const HostTrouble undecided{make_error(ErrorClass::host, "no answer by then"), outcome.undecided};
  return "also: " + terminal_text(undecided.named(trial));
}

TerminalText describe_stopped(const RunOutcome& outcome) {
  const auto stopped = ranks_in(outcome, RankOutcome::State::stopped);
  if (stopped.empty()) return {};
  return terminal_text("{} stopped by train", ranks_were(stopped));
}

// Whether the loss of this host is already reported as a failure.
bool is_named(const RunOutcome& outcome, int host) {
  const auto names_host = [host](const Failure& failure) {
    return !failure.rank && failure.host == host;
  };
  return (outcome.cause && names_host(*outcome.cause)) ||
         std::any_of(outcome.others.begin(), outcome.others.end(), names_host);
}

// What happens to ranks whose end is not confirmed.
std::string what_agents_do(const TaskRecord& task) {
  constexpr auto silence = std::chrono::duration_cast<milliseconds>(Agent::silence_limit);
  if (task.outlives_ms >= for_ever.count())
    return "they may go on there, as on_launcher_loss says, until they end by themselves";
  return fmt::format("its agent stops them once it has missed the launcher for {}",
                     duration_text(std::max(milliseconds(task.outlives_ms), silence)));
}

}  // namespace

ExitCode exit_code_of(const RunOutcome& outcome) {
  if (outcome.succeeded) return ExitCode();
  if (outcome.stop_signal == runtime_over) return exit_code_of(ErrorClass::timeout);
  if (outcome.stop_signal) return ExitCode(128 + *outcome.stop_signal);
  if (outcome.cause && outcome.cause->exit_code != 0) return ExitCode(outcome.cause->exit_code);
  return exit_code_of(class_of(outcome));
}

std::string cause_line(const RunOutcome& outcome) {
  if (outcome.cause) return outcome.cause->error.diagnostics.front().message;
  if (outcome.stop_signal) return stop_text(*outcome.stop_signal);
  return {};
}

TerminalText describe_failure(const RunOutcome& outcome, const Trial& trial,
                              const RankOutput& output) {
  TerminalText line(cause_line(outcome));
  if (!outcome.cause || !outcome.cause->rank) return line;
  const auto errors = output.last_errors(trial.trial, *outcome.cause->rank);
  if (!errors.empty()) line += terminal_text(": {}", errors.back());
  return line;
}

std::string recorded_names(const std::vector<Host>& hosts) {
  std::string names;
  for (const Host& host : hosts) names += (names.empty() ? "" : ",") + host.name;
  return names;
}

// Ranks that the attempt lacks stay in the record: there are logs of earlier attempts.
void record_place(TaskRecord& task, const Trial& trial, int attempt) {
  task.hosts = recorded_names(trial_hosts(trial));
  task.slots = to_string(trial.slots);
  const int ranks = std::max(most_ranks(task), trial.world_size);
  task.world_size = trial.world_size;
  task.ranks.assign(static_cast<std::size_t>(ranks), {});
  for (int rank = 0; rank < ranks; ++rank) {
    RankRecord& record = task.ranks[static_cast<std::size_t>(rank)];
    record.rank = rank;
    record.log_file = rank_log_file(task.log_directory, rank, attempt);
    if (rank >= trial.world_size) continue;
    const PlannedRank& planned = trial.ranks[static_cast<std::size_t>(rank)];
    record.host = trial.hosts[planned.host].host.name;
    record.slots = fmt::format("{}", fmt::join(planned.slots, ","));
  }
}

void record_binding(RankRecord& record, const std::vector<int>& cpus) {
  record.cpus = fold_ranks(cpus);
}

void record_usage(RankRecord& record, const RankUsage& usage) {
  record.cpu_ms = usage.cpu.count();
  record.memory.reset();
  if (usage.memory) record.memory = static_cast<std::int64_t>(*usage.memory);
  if (usage.memory_peak > 0) record.memory_peak = static_cast<std::int64_t>(usage.memory_peak);
}

void record_outcome(TaskRecord& task, const RunOutcome& outcome, const Trial& trial) {
  task.state = final_state(outcome);
  task.exit_code = exit_code_of(outcome).value();
  if (!outcome.succeeded) task.error_class = to_string(class_of(outcome));
  task.cause = cause_line(outcome);
  for (const PlannedRank& planned : trial.ranks) {
    const RankOutcome& rank = outcome.ranks[planned.rank];
    RankRecord& record = task.ranks[planned.rank];
    record.exit_code = rank.code;
    record.signal = rank.signal;
    record.stopped = rank.state == RankOutcome::State::stopped;
    record.core = rank.core;
    // Values that a previous launcher recorded are kept if this one has none.
    if (!rank.cpus.empty()) record_binding(record, rank.cpus);
    if (rank.usage) record_usage(record, *rank.usage);
    if (rank.code || rank.signal) record.memory.reset();
    if (!rank.memory_kill) continue;
    record.oom = rank.memory_kill->limit;
    if (!rank.memory_kill->process.empty()) record.oom += ": process " + rank.memory_kill->process;
  }
}

TerminalText describe_leftovers(const RunOutcome& outcome, const Trial& trial,
                                const TaskRecord& task) {
  FewLines unconfirmed;
  FewLines survivors;
  for (const Leftover& leftover : outcome.leftovers) {
    const std::string& host = trial.hosts[leftover.host].host.name;
    if (leftover.survivors.empty() && !is_named(outcome, leftover.host))
      unconfirmed.add(terminal_text("host '{}' did not confirm that its ranks are gone ({}); {}",
                                    host, leftover.why, what_agents_do(task)));
    for (const auto& survivor : leftover.survivors)
      survivors.add(terminal_text("left on '{}': process {} of user {} could not be killed: {}",
                                  host, survivor.pid, survivor.uid, survivor.command));
    survivors.add_unknown(static_cast<std::size_t>(leftover.more_survivors));
  }
  TerminalText text = unconfirmed.text();
  add_line(text, survivors.text());
  return text;
}

TerminalText last_words(const RunOutcome& outcome, const Trial& trial, const RankOutput& output,
                        const TaskRecord& task) {
  if (outcome.succeeded) return describe_leftovers(outcome, trial, task);
  const ExitCode code = exit_code_of(outcome);
  const ErrorClass error_class = class_of(outcome);
  // The cause is printed last: it is read first there and does not scroll away.
  const auto troubles = host_troubles(outcome, trial);
  TerminalText text = describe_attempts(task);
  add_line(text, describe_others(outcome, trial, troubles));
  add_line(text, describe_undecided(outcome, trial));
  add_line(text, describe_stopped(outcome));
  add_line(text, describe_leftovers(outcome, trial, task));
  TerminalText summary;
  if (outcome.cause) {
    const Failure& cause = *outcome.cause;
    if (!cause.rank && error_class == ErrorClass::hang) {
      summary = TerminalText(cause.error.diagnostics.front().message);
    } else if (cause.rank) {
      summary = TerminalText(cause.error.diagnostics.front().message);
      add_line(text, describe_cause(cause, outcome, trial, output, task));
    } else if (cause.host >= 0) {
      const std::string hosts = troubles.front().names(trial);
      const TerminalText described = terminal_text(troubles.front().named(trial));
      const bool is_one_line = described.text().find('\n') == std::string::npos;
      // The last line has the host and the reason, but does not repeat the hint.
      if (!is_one_line) add_line(text, described);
      const std::string reason = reason_of(troubles.front().error);
      summary =
          is_one_line ? described : TerminalText(hosts + (reason.empty() ? "" : ": " + reason));
    } else {
      add_line(text, terminal_text(cause.error));
    }
  } else if (outcome.stop_signal) {
    summary = TerminalText(stop_text(*outcome.stop_signal));
  }
  if (!summary.empty()) summary = ": " + summary;
  add_line(text,
           terminal_text("failed: {}{} (exit {})", to_string(error_class), summary, code.value()));
  return text;
}

}  // namespace train
