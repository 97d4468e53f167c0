// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/adoption.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "backends/log/attempt_logs.hpp"
#include "backends/log/trial_logs.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/proc.hpp"
#include "backends/store/task_bundle.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/request/request.hpp"
#include "cli/show/search_of_task.hpp"
#include "cli/show/task_table.hpp"
#include "cli/story/launch_report.hpp"
#include "cli/story/launch_story.hpp"
#include "cli/supervisor/adopted_logs.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/connections/sweep_driver.hpp"
#include "launcher/formats/formats.hpp"
#include "launcher/journal/stopping_plan.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/plan/trial_place.hpp"

namespace train {

namespace {

tl::unexpected<Error> cannot(const TaskRecord& task, const std::string& why) {
  return fail(ErrorClass::no_input, fmt::format("task {} cannot be resumed: {}", task.id, why),
              fmt::format("train task kill {} looks for what is left of it on its hosts", task.id));
}

// The plan without warnings and advice: they name lines of files that are not read again.
nlohmann::json what_runs(const std::string& plan) {
  nlohmann::json document = nlohmann::json::parse(plan, nullptr, false);
  if (document.is_object())
    for (const char* remark : {"warnings", "advice"}) document.erase(remark);
  return document;
}

// The path of the first difference between two plans: "ranks[0].environment".
std::string first_difference(const nlohmann::json& recorded, const nlohmann::json& again) {
  const nlohmann::json changes = nlohmann::json::diff(recorded, again);
  return changes.empty() ? std::string() : changes.front().value("path", std::string("/"));
}

// Higher than the epoch of any supervisor with a journal and of earlier calls of this, and lower
// than that of a goodbye.
std::uint64_t epoch_without_journal() {
  return last_epoch / 2 + static_cast<std::uint64_t>(now_on_the_wall());
}

// A third stop request would skip hosts that have not been reached yet.
constexpr std::size_t most_stops = 2;

}  // namespace

Result<Adoption> Adoption::begin(const std::string& task_id) {
  Adoption adoption;
  auto begun = adoption.open(task_id);
  if (begun) begun = adoption.read();
  if (begun) begun = adoption.take();
  if (!begun) return tl::make_unexpected(begun.error());
  return adoption;
}

Result<Adoption> Adoption::begin_elsewhere(const std::string& task_id, TaskRequest request) {
  Adoption adoption;
  adoption.is_moved_ = true;
  adoption.request_ = std::move(request);
  auto begun = adoption.open(task_id);
  if (begun) begun = adoption.plan_elsewhere();
  if (begun) begun = adoption.take();
  if (begun) begun = adoption.record_place();
  if (!begun) return tl::make_unexpected(begun.error());
  return adoption;
}

Result<Adoption> Adoption::begin_stop(const std::string& task_id, int signal) {
  Adoption adoption;
  adoption.stop_signal_ = signal;
  auto begun = adoption.open(task_id);
  if (begun && is_search(adoption.task_)) begun = adoption.read();
  if (begun) begun = adoption.take();
  if (!begun) return tl::make_unexpected(begun.error());
  return adoption;
}

Result<void> Adoption::open(const std::string& task_id) {
  auto store = open_task_store();
  if (!store) return tl::make_unexpected(store.error());
  store_ = std::move(*store);
  auto task = store_->find(task_id);
  if (!task) return tl::make_unexpected(task.error());
  task_ = std::move(*task);
  return {};
}

// Reads the request and checks that it still gives the recorded plan.
Result<void> Adoption::read() {
  const auto text = read_bundle(store_->bundle_folder(task_.id));
  if (!text) return cannot(task_, text.error().diagnostics.front().message);
  auto request = decode_request(*text);
  if (!request) return cannot(task_, request.error().diagnostics.front().message);
  request_ = std::move(*request);
  if (::chdir(request_.directory.c_str()) != 0)
    return cannot(task_, fmt::format("its directory '{}' cannot be used: {}", request_.directory,
                                     system_reason(errno)));
  auto plan = plan_again(request_);
  if (!plan) return cannot(task_, plan.error().diagnostics.front().message);
  plan_ = std::move(*plan);
  hosts_ = task_hosts(request_.inventory, *plan_);
  const auto recorded = what_runs(task_.plan_json);
  const auto again = what_runs(plan_to_json(*plan_));
  if (recorded != again)
    return cannot(task_, fmt::format("the plan that is made of it now differs from the recorded "
                                     "one at '{}'",
                                     first_difference(recorded, again)));
  if (!is_search(task_)) return {};
  auto experiment = experiment_again(request_);
  if (!experiment) return cannot(task_, experiment.error().diagnostics.front().message);
  search_ = std::move(*experiment);
  return {};
}

Result<void> Adoption::plan_elsewhere() {
  auto plan = plan_again(request_);
  if (!plan) return tl::make_unexpected(plan.error());
  plan_ = std::move(*plan);
  hosts_ = task_hosts(request_.inventory, *plan_);
  if (plan_->trial.world_size != most_ranks(task_))
    return cannot(task_, fmt::format("it began with {}, and would go on with {}",
                                     counted(most_ranks(task_), "rank"), plan_->trial.world_size));
  if (!is_search(task_)) return {};
  auto experiment = experiment_again(request_);
  if (!experiment) return tl::make_unexpected(experiment.error());
  search_ = std::move(*experiment);
  return {};
}

// The journal then says of no attempt that it runs.
Result<void> Adoption::end_attempts(std::vector<JournalEntry>& journal) {
  const auto known = replay_of(journal);
  if (!known) return cannot(task_, known.error().diagnostics.front().message);
  if (!known->stop_signals.empty()) return cannot(task_, "it was being stopped");
  for (const auto& [trial, end] : ends_without_hosts(*known))
    if (auto written = write(end, journal, trial); !written) return written;
  return {};
}

Result<void> Adoption::record_place() {
  const std::vector<Host> hosts = recorded_hosts(request_.inventory, *plan_);
  task_.hosts = recorded_names(hosts);
  if (!search_) {
    task_.restarts = resume_->replay.first().task.attempt();
    train::record_place(task_, plan_->trial, task_.restarts);
  }
  if (!task_.attempts.empty() && !task_.attempts.back().ended) {
    task_.attempts.back().ended = now_on_the_wall();
    task_.attempts.back().cause = task_moves_text;
  }
  task_.plan_json = plan_to_json(*plan_);
  auto written = store_->move(task_);
  std::string().swap(task_.plan_json);
  if (written) written = keep_task_hosts(*store_, task_.id, hosts, task_.working_directory);
  if (written) written = store_->keep_request(task_.id, encode_request(request_));
  return written;
}

// The epoch is on disk before any host receives it.
Result<void> Adoption::take() {
  if (auto adopted = store_->adopt(task_.id); !adopted) return adopted;
  // Read again under the lock: the last state that the previous launcher wrote.
  auto task = store_->find(task_.id);
  if (!task) return tl::make_unexpected(task.error());
  task_ = std::move(*task);
  auto entries = usable_journal();
  if (!entries) return tl::make_unexpected(entries.error());
  if (is_moved_)
    if (auto ended = end_attempts(*entries); !ended) return ended;
  const auto known = replay_of(*entries);
  if (!known) return cannot(task_, known.error().diagnostics.front().message);
  if (known->over || known->first().attempt < 0)
    return cannot(task_, "its journal says that nothing of it is left to resume");
  if (auto moved = follow_moves(*known); !moved) return moved;
  resume_.emplace();
  if (auto taken = take_logs(*known, *entries); !taken) return taken;
  const std::uint64_t epoch = known->epoch + 1;
  if (auto written = write(journal_record::Supervised{epoch}, *entries); !written) return written;
  if (may_write_stop(*known))
    if (auto written = write(journal_record::StopRequested{*stop_signal_}, *entries); !written)
      return written;
  auto replayed = replay_of(*entries);
  if (!replayed) return cannot(task_, replayed.error().diagnostics.front().message);
  resume_->replay = std::move(*replayed);
  resume_->is_moved = is_moved_;
  if (is_moved_)
    for (auto& [number, trial] : resume_->replay.trials) trial.place.reset();
  resume_->epoch = epoch;
  task_.launcher_pid = ::getpid();
  // The plan is in the registry, and large: it has the environments of all ranks.
  std::string().swap(task_.plan_json);
  return {};
}

// Its last attempt may be on other hosts than its plan; the plan for a stop has these already. The
// launcher that has begun that attempt may have died before it was in the record.
Result<void> Adoption::follow_moves(const Replay& known) {
  const auto& place = known.first().place;
  if (!place || is_moved_ || search_) return {};
  if (!stop_signal_) {
    auto trial = trial_at(plan_->experiment, request_.inventory, *place);
    if (!trial) return cannot(task_, "its ranks are at no place that they can have");
    plan_->trial = std::move(*trial);
  }
  if (recorded_names(trial_hosts(plan_->trial)) != task_.hosts ||
      plan_->trial.world_size != task_.world_size) {
    const std::string slots = task_.slots;
    train::record_place(task_, plan_->trial, known.first().attempt);
    if (stop_signal_) task_.slots = slots;  // its plan has none
  }
  return {};
}

// While a restart is pending, a stop request ends the task at once, which is up to the driver; the
// same holds in a search, where some trial may have a pending restart.
bool Adoption::may_write_stop(const Replay& known) const {
  return stop_signal_ && !search_ && known.first().attempt == known.first().task.attempt() &&
         known.stop_signals.size() < most_stops;
}

// Adopts the logs of all trials that may run; after that the reports of all trials can be read.
Result<void> Adoption::take_logs(const Replay& known, const std::vector<JournalEntry>& journal) {
  std::function<Result<std::vector<std::uint64_t>>(AttemptId of)> adopt;
  if (search_) {
    const auto logs = make_logs<TrialLogs>();
    adopt = [logs](AttemptId of) { return logs->adopt(of); };
  } else {
    const auto logs = make_logs<AttemptLogs>();
    adopt = [logs](AttemptId of) { return logs->adopt(of.attempt); };
  }
  for (const auto& [trial, replayed] : known.trials) {
    if (replayed.attempt < 0 || replayed.task.over()) continue;
    auto positions = adopt({trial, replayed.attempt});
    if (!positions) return cannot(task_, positions.error().diagnostics.front().message);
    resume_->left[trial] = left_of({trial, replayed.attempt}, std::move(*positions));
  }
  if (!search_) return {};
  auto record = search_of_task(task_, *search_, journal);
  if (!record) return tl::make_unexpected(record.error());
  left_ = std::move(*record);
  return {};
}

template <class Logs>
std::shared_ptr<Logs> Adoption::make_logs() {
  auto logs =
      std::make_shared<Logs>(task_.log_directory, most_ranks(task_), plan_->experiment.log_limit);
  logs_ = logs;
  return logs;
}

// Only for a task with one trial: the record has the policy matches of its attempts.
TrialLeft Adoption::left_of(AttemptId of, std::vector<std::uint64_t> positions) const {
  const ExperimentConfig& experiment = plan_->experiment;
  const std::string directory =
      search_ ? trial_log_directory(task_.log_directory, of.trial) : task_.log_directory;
  TrialLeft left{
      std::move(positions), last_output(directory, most_ranks(task_), of.attempt, experiment), {}};
  if (search_) return left;
  // Its logs are for the ranks of any attempt, and it may have fewer.
  const int ranks = most_ranks(task_);
  const std::ptrdiff_t missing = std::max(0, ranks - plan_->trial.world_size);
  const auto end_of_output = left.positions.begin() + ranks;
  left.positions.erase(left.positions.end() - missing, left.positions.end());
  left.positions.erase(end_of_output - missing, end_of_output);
  for (const AttemptRecord& attempt : task_.attempts)
    if (attempt.number == of.attempt)
      left.known_matches = recorded_matches(attempt, experiment.log_policies);
  return left;
}

Result<Replay> Adoption::replay_of(const std::vector<JournalEntry>& journal) const {
  return replay(journal, Task::rules_of(plan_->experiment, search_.has_value()), boot_time(),
                boot_id(), milliseconds(now_on_the_wall()));
}

// The journal, and for a stop also the plan. A stop works without a usable journal: the agents know
// what to stop.
Result<std::vector<JournalEntry>> Adoption::usable_journal() {
  auto entries = read_journal();
  if (!stop_signal_ || search_) return entries;
  std::optional<Error> trouble;
  if (!entries) {
    trouble = entries.error();
  } else {
    if (auto planned = plan_stop(*entries); !planned) return tl::make_unexpected(planned.error());
    if (const auto known = replay_of(*entries); !known) trouble = known.error();
  }
  if (!trouble) return entries;
  journal_trouble_ = std::move(trouble);
  entries = stopping_journal(task_, epoch_without_journal());
  if (auto planned = plan_stop(*entries); !planned) return tl::make_unexpected(planned.error());
  return entries;
}

Result<std::vector<JournalEntry>> Adoption::read_journal() {
  const auto lines = store_->read_journal(task_.id);
  if (!lines) return tl::make_unexpected(lines.error());
  auto entries = decode_journal(*lines);
  if (!entries) return cannot(task_, entries.error().diagnostics.front().message);
  return entries;
}

Result<void> Adoption::write(const JournalRecord& record, std::vector<JournalEntry>& journal,
                             int trial) {
  journal.push_back({record, boot_time(), boot_id(), milliseconds(now_on_the_wall()), trial});
  return store_->append_journal(task_.id, encode_entry(journal.back()), true);
}

Result<void> Adoption::plan_stop(const std::vector<JournalEntry>& journal) {
  const auto hosts = read_task_hosts(*store_, task_.id);
  if (!hosts) return tl::make_unexpected(hosts.error());
  auto plan = stopping_plan(task_, *hosts, journal);
  if (!plan) return cannot(task_, plan.error().diagnostics.front().message);
  plan_ = std::move(*plan);
  hosts_ = *hosts;
  request_.directory = task_.working_directory;
  return {};
}

Ended Adoption::run(decltype(SupervisedTask::on_steady) on_steady, StopSignals& signals) {
  ignore_signals();
  Tee nothing;
  nothing.mode = Tee::Mode::none;
  SupervisedTask supervised{
      request_,           *plan_,      task_, store_, nothing, std::move(on_steady), logs_,
      std::move(resume_), stop_signal_};
  supervised.hosts = hosts_;
  if (search_) {
    supervised.search = &*search_;
    supervised.left = &*left_;
  }
  supervised.may_go_back = is_moved_;
  HostConnections connections(hosts_);
  return supervise(std::move(supervised), connections, signals);
}

Result<void> become_kept_program(const SqliteTaskStore& store, const TaskRecord& task,
                                 const std::vector<std::string>& arguments) {
  std::string program = kept_program(store.bundle_folder(task.id));
  if (program.empty()) return {};
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  words.reserve(all.size() + 1);
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  (void)::execv(program.c_str(), words.data());
  return fail(ErrorClass::missing,
              fmt::format("task {} was launched by another build of train, and '{}', which is kept "
                          "of that, cannot be executed: {}",
                          task.id, program, system_reason(errno)));
}

}  // namespace train
