// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/task_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/ports/earliest.hpp"

namespace train {

namespace {

Connections::Timing timing_of(const ExperimentConfig& experiment) {
  Connections::Timing timing;
  timing.reconnect_window = experiment.reconnect_window;
  timing.launcher_wait = experiment.launcher_wait.value_or(brief_launcher_wait);
  timing.stop_time = experiment.stop_notice + experiment.stop_grace;
  timing.waits_for_proof = !experiment.replaces_at_once;
  return timing;
}

// A slow or hanging disk delays a stop, and the end of the task, by at most these times.
constexpr milliseconds stop_patience{1'000};
constexpr milliseconds end_patience{10'000};

std::vector<Host> hosts_of(const TaskWork& work) {
  return work.hosts.empty() ? trial_hosts(work.plan.trial) : work.hosts;
}

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

HostStreams::Supervisor supervisor_of(const TaskDriver::Work& work) {
  return {work.resume ? work.resume->epoch : 1, work.launcher,
          work.is_search ? hosts_of(work).size() : work.plan.trial.hosts.size(),
          work.plan.experiment.replaces_at_once};
}

// Where a task was moved to, nobody waits: its hosts are reached as at a launch.
bool is_resumed_in_place(const TaskDriver::Work& work) {
  return work.resume && (work.is_search || !work.resume->is_moved);
}

}  // namespace

TaskDriver::TaskDriver(Ports ports, Work work, Hooks hooks)
    : ports_(std::move(ports)),
      work_(std::move(work)),
      hooks_(std::move(hooks)),
      context_{ports_.open_context != nullptr},
      connections_(
          names_of(hosts_of(work_)), timing_of(work_.plan.experiment),
          is_resumed_in_place(work_) ? 0 : static_cast<int>(work_.plan.trial.hosts.size())),
      journal_(ports_.journal, ports_.timers, work_.boot_id, work_.time,
               [this](const Error& why) { journal_failed(why); }),
      may_be_missing_(static_cast<std::size_t>(connections_.count())),
      streams_({ports_.timers, ports_.transport, ports_.output}, hosts_of(work_), work_.task_id,
               {[this](const ConnectionEvent& event) { happened(event); },
                [this](AttemptId of, int host, Instant at, Instant now) {
                  const TrialDriver* const trial = find(of.trial);
                  return trial == nullptr ? now : trial->time_of(host, at, now);
                },
                [this](const OutputChunk& chunk) {
                  TrialDriver* const trial = find(chunk.of.trial);
                  if (trial != nullptr && !displacement_) trial->look_at(chunk);
                },
                [this](int host, const message::Displaced& by) { note_displacement(host, by); }},
               supervisor_of(work_)),
      deadline_(ports_.timers, [this] { tick(); }) {
  TrialWork first{work_.plan, work_.port_needs, work_.environment_of,
                  hosts_of_task(work_.plan.trial, connections_), work_.order};
  first.is_left = work_.resume.has_value();
  make_trial(std::move(first), nullptr);
}

TrialDriver& TaskDriver::make_trial(TrialWork work, std::unique_ptr<Hooks> hooks) {
  const int number = work.plan.trial.trial;
  TrialOfTask& made = trials_[number];
  if (made.driver) replaced_.push_back(std::exchange(made, {}));
  made.hooks = std::move(hooks);
  made.driver = std::make_unique<TrialDriver>(
      TrialDriver::Means{ports_.timers, ports_.output, connections_, streams_, journal_, context_},
      work_, std::move(work), made.hooks ? *made.hooks : hooks_, static_cast<TrialOwner&>(*this));
  return *made.driver;
}

TrialDriver* TaskDriver::find(int trial) {
  const auto found = trials_.find(trial);
  return found == trials_.end() ? nullptr : found->second.driver.get();
}

void TaskDriver::begin_trial(TrialWork work, Hooks hooks) {
  if (displacement_ || !are_trials_expected_ || is_moving_) return;
  make_trial(std::move(work), std::make_unique<Hooks>(std::move(hooks))).start();
  settle();
}

// Once no trial follows, the end of the last trial is the task's.
void TaskDriver::expect_trials(bool are_expected) {
  are_trials_expected_ = are_expected;
  if (!are_expected && last_outcome_ && !is_any_left() && !is_ending_ && !over() && !displacement_)
    write_end(given_end_.value_or(last_end_), {});
}

void TaskDriver::end_trials(const task_action::End& how) {
  given_end_ = how;
  expect_trials(false);
}

void TaskDriver::write_decisions(journal_record::SearchDecided decided,
                                 JournalWriter::Durable durable, std::function<void()> then) {
  journal_.write(std::move(decided), durable, std::move(then));
}

void TaskDriver::start() {
  is_reaching_ = work_.resume.has_value();
  if (is_resumed_in_place(work_)) return resume();
  if (work_.resume)
    first().load_replay(*work_.resume);
  else
    journal_.write(journal_record::Supervised{1}, JournalWriter::Durable::no);
  first().start();
  if (ports_.open_context) deliver_context();
  for (const int host : first().hosts().of_task()) streams_.perform(host_action::Open{host});
}

void TaskDriver::stop(int signal) {
  if (displacement_) return;
  if (over()) return streams_.forget_agents();
  ports_.output.expect_end();
  if (is_ending_) return end_task();
  expect_trials(false);
  each_trial([&](TrialDriver& trial) { trial.request_stop(signal); });
  if (!is_any_left()) return settle();
  const bool is_hurry = !new_stops_.empty();
  new_stops_.push_back(signal);
  const auto act = [this] { act_on_stops(); };
  journal_.write(journal_record::StopRequested{signal}, JournalWriter::Durable::no, act,
                 stop_patience);
  if (is_hurry) act_on_stops();
}

void TaskDriver::stop_trial(int trial, int signal) {
  TrialDriver* const driver = find(trial);
  if (displacement_ || driver == nullptr || trials_.at(trial).is_over) return;
  driver->request_stop(signal);
  if (!trials_.at(trial).is_over) driver->act_on_stop(signal);
  if (!trials_.at(trial).is_over) driver->begin_written_attempt();
  settle();
}

void TaskDriver::move() {
  if (displacement_ || over() || is_ending_ || is_moving_) return;
  is_moving_ = true;
  each_trial([](TrialDriver& trial) { trial.move(); });
  settle();
}

void TaskDriver::report_moved() {
  if (!is_moving_ || over() || is_ending_ || !is_any_left()) return;
  bool is_at_rest = true;
  each_trial([&](const TrialDriver& trial) { is_at_rest = is_at_rest && trial.is_at_rest(); });
  if (is_at_rest) hooks_.on_moved();
}

void TaskDriver::try_hosts_now() {
  carry_out(connections_.try_now(ports_.timers.now()));
  settle();
}

void TaskDriver::act_on_stops() {
  for (const int signal : std::exchange(new_stops_, {}))
    each_trial([&](TrialDriver& trial) { trial.act_on_stop(signal); });
  each_trial([](TrialDriver& trial) { trial.begin_written_attempt(); });
  settle();
}

void TaskDriver::deliver_context() {
  ContextDelivery::Hooks hooks;
  hooks.on_named = [this](const ContextSummary& summary) {
    context_.is_named = true;
    hooks_.on_context(summary);
    each_trial([](TrialDriver& trial) { trial.feed(run_event::ContextPacked{}); });
    settle();
  };
  hooks.on_failed = [this](const Error& why) {
    context_.failure = why;
    each_trial([&](TrialDriver& trial) { trial.feed(run_event::ContextFailed{why}); });
    settle();
  };
  hooks.send = [this](int host, const std::shared_ptr<const std::string>& frame) {
    streams_.send_shared(host, frame);
  };
  hooks.on_progress = hooks_.on_context_progress;
  context_.delivery.emplace(ports_.timers, ports_.open_context, connections_.count(),
                            std::move(hooks));
}

// The other supervisor does the rest: from now on events and hosts are ignored.
void TaskDriver::displace(const Displacement& by) {
  if (over() || displacement_) return;
  // A host knows more about the other supervisor than the registry does.
  const bool is_host_known = !by.host.empty() || reported_displacements_.empty();
  displacement_ = is_host_known ? by : reported_displacements_.begin()->second;
  context_.delivery.reset();
  goodbye_limit_.reset();
  deadline_.set(std::nullopt);
  streams_.leave();
  hooks_.on_displaced(*displacement_);
}

void TaskDriver::note_displacement(int host, const message::Displaced& by) {
  const bool is_asked = !reported_displacements_.empty();
  reported_displacements_.emplace(host, Displacement{connections_.name(host), by.by});
  if (work_.is_to_end) return check_displacement(false);
  if (!is_asked) journal_.look([this](bool is_displaced) { check_displacement(is_displaced); });
}

// A supervisor that takes a task over says so in the journal before it connects to a host: a host
// cannot make a launcher leave its task by a lie.
void TaskDriver::check_displacement(bool is_displaced) {
  const auto told = std::exchange(reported_displacements_, {});
  if (is_displaced && !told.empty()) return displace(told.begin()->second);
  for (const auto& [host, each] : told) distrust(each.by, host);
}

void TaskDriver::distrust(const std::string& by, int host) {
  streams_.break_protocol(
      host,
      make_error(ErrorClass::host,
                 fmt::format("its agent serves another launcher of this task{}{}",
                             by.empty() ? "" : fmt::format(" ({})", by),
                             work_.is_to_end ? "" : ", of which the registry knows nothing")));
}

void TaskDriver::happened(const ConnectionEvent& event) {
  if (displacement_) return;
  carry_out(connections_.on(event, ports_.timers.now()));
  settle();
  if (goodbye_limit_) end_task();
}

void TaskDriver::tick() {
  happened(connection_event::Tick{});
  each_trial([](TrialDriver& trial) { trial.tick(); });
  settle();
}

void TaskDriver::carry_out(const std::vector<ConnectionAction>& actions) {
  for (const ConnectionAction& action : actions)
    std::visit([this](const auto& a) { perform(a); }, action);
}

// What runs goes on; nothing new begins.
void TaskDriver::journal_failed(const Error& why) {
  if (ports_.journal->is_displaced()) return displace({});
  hooks_.on_note(
      fmt::format("the journal of this task cannot be written, so that no further "
                  "attempt may begin: {}",
                  in_one_line(why)));
  each_trial([&](TrialDriver& trial) { trial.journal_failed(why); });
  settle();
}

void TaskDriver::perform(const HostNews& news) {
  if (is_missing(news)) return;
  const int host = std::visit([](const auto& each) { return each.host; }, news);
  const auto* const said = std::get_if<host_news::Said>(&news);
  const auto about = said != nullptr ? attempt_of(said->message) : std::nullopt;
  each_trial([&](TrialDriver& trial) {
    if (trial.hosts().is_on(host) && (!about || about->trial == trial.trial().trial))
      trial.handle(news);
  });
}

// The end of an attempt is reported once everything that came with it was reported.
void TaskDriver::settle() {
  if (displacement_) return;
  each_trial([](TrialDriver& trial) { trial.settle(); });
  report_reached();
  report_moved();
  std::optional<Instant> next = connections_.next_deadline();
  std::optional<Instant> given_up_by;
  bool is_any_awaited = false;
  each_trial([&](const TrialDriver& trial) {
    next = earliest({next, trial.next_deadline()});
    const auto limit = trial.run() != nullptr ? trial.run()->gives_up_by() : std::nullopt;
    is_any_awaited = is_any_awaited || !limit;
    if (limit) given_up_by = std::max(given_up_by.value_or(*limit), *limit);
  });
  connections_.give_up_by(is_any_awaited ? std::nullopt : given_up_by);
  deadline_.set(over() ? std::nullopt : next);
}

void TaskDriver::report_reached() {
  if (!is_reaching_) return;
  for (int host = 0; host < connections_.count(); ++host)
    if (connections_.is_expected(host) && !connections_.is_up(host)) return;
  is_reaching_ = false;
  hooks_.on_reached();
}

void TaskDriver::perform(const host_action::CloseHost& action) {
  if (context_.delivery) context_.delivery->forget(action.host);
  streams_.perform(action);
}

bool TaskDriver::is_any_left() const {
  return std::any_of(trials_.begin(), trials_.end(),
                     [](const auto& each) { return !each.second.is_over; });
}

bool TaskDriver::is_last(int trial) const {
  return !are_trials_expected_ &&
         std::all_of(trials_.begin(), trials_.end(), [trial](const auto& each) {
           return each.second.is_over || each.first == trial;
         });
}

bool TaskDriver::is_used_by_others(int trial, int host) const {
  return std::any_of(trials_.begin(), trials_.end(), [=](const auto& each) {
    return each.first != trial && !each.second.is_over && each.second.driver->uses(host);
  });
}

void TaskDriver::expect_end(int trial) {
  if (is_last(trial)) ports_.output.expect_end();
}

void TaskDriver::keep_host(int trial, int host) {
  if (!is_used_by_others(trial, host)) connections_.end_ranks(host);
}

void TaskDriver::dismiss_host(int trial, int host) {
  if (are_trials_expected_) return keep_host(trial, host);
  if (!is_used_by_others(trial, host)) carry_out(connections_.dismiss(host));
}

// If other trials use the host, the connection stays.
void TaskDriver::let_go_of_host(AttemptId of, int host) {
  if (!is_used_by_others(of.trial, host)) return carry_out(connections_.let_go(host));
  streams_.perform(host_action::Send{host, about(message::Stop{}, of)});
}

void TaskDriver::trial_ends(int trial, const task_action::End& how,
                            const std::optional<AttemptEnd>& end_of) {
  const bool is_end_of_task = is_last(trial);
  TrialOfTask& over = trials_.at(trial);
  over.is_over = true;
  last_end_ = how;
  last_outcome_ = over.driver->outcome(how.signal);
  if (is_end_of_task) return write_end(how, end_of);
  journal_.write_of(trial, journal_record::TrialOver{how.why, end_of, how.signal},
                    JournalWriter::Durable::yes,
                    [this, trial, outcome = *last_outcome_] { trial_is_over(trial, outcome); });
}

// The hook may begin another trial, which finds the hosts free, or say that no trial follows.
void TaskDriver::trial_is_over(int trial, const RunOutcome& outcome) {
  if (displacement_) return;
  streams_.end_trial(trial);
  trials_.at(trial).may_go = true;
  if (!dropping_) dropping_ = ports_.timers.after(nanoseconds(0), [this] { drop_trials(); });
  hooks_.on_trial_over(trial, outcome);
  if (!are_trials_expected_) expect_trials(false);
}

// The first trial stays for the accessors.
void TaskDriver::drop_trials() {
  dropping_.reset();
  replaced_.clear();
  for (auto trial = std::next(trials_.begin()); trial != trials_.end();) {
    if (!trial->second.may_go) {
      ++trial;
      continue;
    }
    trial = trials_.erase(trial);
  }
}

// Until the end is recorded, the hosts keep the facts that it is made of.
void TaskDriver::write_end(const task_action::End& how, const std::optional<AttemptEnd>& end) {
  is_ending_ = true;
  journal_.write(
      journal_record::TaskOver{how.why, end, how.signal}, JournalWriter::Durable::yes,
      [this] { end_task(); }, end_patience);
}

// Agents that outlive any launcher leave only when they are told to: those that are being reached
// get a few seconds to be found.
bool TaskDriver::needs_goodbye() {
  constexpr std::chrono::seconds patience{5};
  if (!may_need_goodbye_) return false;
  bool is_any_away = false;
  for (int host = 0; host < connections_.count(); ++host)
    is_any_away = is_any_away || connections_.is_away(host);
  if (is_any_away && !goodbye_limit_)
    goodbye_limit_ = ports_.timers.after(patience, [this] {
      may_need_goodbye_ = false;
      end_task();
    });
  return is_any_away;
}

void TaskDriver::end_task() {
  if (displacement_ || !is_ending_ || needs_goodbye()) return;
  is_ending_ = false;
  for (int host = 0; host < connections_.count(); ++host)
    if (connections_.is_expected(host)) carry_out(connections_.dismiss(host));
  outcome_ = std::move(last_outcome_);
  deadline_.set(std::nullopt);
  hooks_.on_over();
}

}  // namespace train
