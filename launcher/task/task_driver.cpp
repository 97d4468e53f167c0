// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/hosts/host_fold.hpp"
#include "launcher/lease/trial_leases.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/rank_commands.hpp"

namespace train {

namespace {

Connections::Timing timing_of(const ExperimentConfig& experiment) {
  Connections::Timing timing;
  timing.reconnect_window = experiment.reconnect_window;
  timing.launcher_wait = experiment.launcher_wait.value_or(brief_launcher_wait);
  return timing;
}

// On the disk of each host, for output that is not written down here yet.
constexpr std::uint64_t most_spooled = std::uint64_t{1} << 30;

// A stop is not kept waiting for longer by a disk that is slow or hangs, nor is the end of all.
constexpr milliseconds stop_patience{1'000};
constexpr milliseconds end_patience{10'000};

std::vector<std::string> names_of(const Trial& trial) {
  std::vector<std::string> names;
  for (const PlannedHost& host : trial.hosts) names.push_back(host.host.name);
  return names;
}

Task task_of(const TaskDriver::Work& work) {
  if (work.resume) return work.resume->replay.task;
  return Task(Task::rules_of(work.plan.experiment));
}

HostStreams::Origin origin_of(const TaskDriver::Work& work) {
  if (!work.resume) return {.launcher = work.launcher};
  return {work.resume->epoch, work.resume->replay.attempt, work.resume->positions, work.launcher};
}

// By host.
std::vector<LeaseRequest> leases_of_hosts(const TaskDriver::Work& work) {
  const ExperimentConfig& experiment = work.plan.experiment;
  const Trial& trial = work.plan.trial;
  std::vector<LeaseRequest> requests(trial.hosts.size());
  if (experiment.leases == Leasing::none) return requests;
  for (std::size_t host = 0; host < requests.size(); ++host)
    requests[host] = {leases_of(experiment, trial, static_cast<int>(host)),
                      needed_gpus(trial.hosts[host].host),
                      experiment.name,
                      work.launcher,
                      trial.hosts[host].host.lease_directory,
                      experiment.allow_busy,
                      work.order};
  return requests;
}

}  // namespace

TaskDriver::TaskDriver(Ports ports, Work work, Hooks hooks)
    : ports_(std::move(ports)),
      work_(std::move(work)),
      hooks_(std::move(hooks)),
      trial_(work_.plan.trial),
      connections_(names_of(trial_), timing_of(work_.plan.experiment)),
      task_(task_of(work_)),
      journal_(ports_.journal, ports_.timers, work_.boot_id, work_.booted,
               [this](const Error& why) { journal_failed(why); }),
      may_be_missing_(trial_.hosts.size()),
      streams_({ports_.timers, ports_.transport, ports_.output}, trial_, work_.task_id,
               {[this](const ConnectionEvent& event) { happened(event); },
                [this](int host, Instant at, Instant now) {
                  return run_ ? run_->time_of(host, at, now) : now;
                },
                [this](const OutputChunk& chunk) { look_at(chunk); },
                [this](int host, const message::Displaced& by) { told_of_another(host, by); }},
               origin_of(work_)),
      leases_(leases_of_hosts(work_)),
      log_watch_(work_.plan.experiment.log_policies),
      deadline_(ports_.timers, [this] { tick(); }) {}

void TaskDriver::start() {
  is_reaching_ = work_.resume.has_value();
  if (work_.resume) return resume();
  journal_.write(journal_record::Supervised{1}, JournalWriter::Durable::no);
  feed(task_event::Begin{});
  if (ports_.open_context) deliver_context();
  for (int host = 0; host < connections_.count(); ++host) streams_.perform(host_action::Open{host});
}

void TaskDriver::stop(int signal) {
  if (displacement_) return;
  if (over()) return streams_.forget_agents();
  ports_.output.expect_end();
  if (ending_) return end_task();
  feed(task_event::StopRequested{signal});
  if (task_.over()) return settle();
  const bool is_hurry = !new_stops_.empty();
  new_stops_.push_back(signal);
  const auto act = [this] { act_on_stops(); };
  journal_.write(journal_record::StopRequested{signal}, JournalWriter::Durable::no, act,
                 stop_patience);
  if (is_hurry) act_on_stops();
}

void TaskDriver::try_hosts_now() {
  carry_out(connections_.try_now(ports_.timers.now()));
  settle();
}

void TaskDriver::act_on_stops() {
  for (const int signal : std::exchange(new_stops_, {})) {
    stops_.push_back(signal);
    feed(run_event::StopRequested{signal});
  }
  begin_written_attempt();
  settle();
}

void TaskDriver::deliver_context() {
  ContextDelivery::Hooks hooks;
  hooks.on_named = [this](const ContextSummary& summary) {
    is_context_named_ = true;
    hooks_.on_context(summary);
    feed(run_event::ContextPacked{});
    settle();
  };
  hooks.on_failed = [this](const Error& why) {
    feed(run_event::ContextFailed{why});
    settle();
  };
  hooks.send = [this](int host, const std::shared_ptr<const std::string>& frame) {
    streams_.send_shared(host, frame);
  };
  hooks.on_progress = hooks_.on_context_progress;
  delivery_.emplace(ports_.timers, ports_.open_context, connections_.count(), std::move(hooks));
}

// What is left to do is the other's: from here on no event is heard, and no host.
void TaskDriver::displace(const Displacement& by) {
  if (over() || displacement_) return;
  // A host knows more of the other one than the registry.
  const bool is_host_known = !by.host.empty() || told_of_others_.empty();
  displacement_ = is_host_known ? by : told_of_others_.begin()->second;
  delivery_.reset();
  goodbye_limit_.reset();
  deadline_.set(std::nullopt);
  streams_.leave();
  hooks_.on_displaced(*displacement_);
}

void TaskDriver::told_of_another(int host, const message::Displaced& by) {
  const bool is_asked = !told_of_others_.empty();
  told_of_others_.emplace(host, Displacement{connections_.name(host), by.by});
  if (work_.is_to_end) return weigh_what_was_told(false);
  if (!is_asked) journal_.look([this](bool is_anothers) { weigh_what_was_told(is_anothers); });
}

// Whoever takes a task over says so in the journal before it meets a host: no host can make a
// launcher leave its task by a lie.
void TaskDriver::weigh_what_was_told(bool is_anothers) {
  const auto told = std::exchange(told_of_others_, {});
  if (is_anothers && !told.empty()) return displace(told.begin()->second);
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
  feed(run_event::Tick{});
  feed(task_event::Tick{});
  settle();
}

void TaskDriver::carry_out(const std::vector<ConnectionAction>& actions) {
  for (const ConnectionAction& action : actions)
    std::visit([this](const auto& a) { perform(a); }, action);
}

void TaskDriver::feed(const RunEvent& event) {
  if (!run_ || displacement_) return;
  for (const RunAction& action : run_->on(event, ports_.timers.now()))
    std::visit([this](const auto& a) { perform(a); }, action);
}

void TaskDriver::feed(const TaskEvent& event) {
  if (displacement_) return;
  const bool was_running = task_.attempts().back() == AttemptState::running;
  const std::vector<TaskAction> actions = task_.on(event, ports_.timers.now());
  note(event, was_running);
  for (const TaskAction& action : actions)
    std::visit([this](const auto& a) { perform(a); }, action);
}

// What brings the end about is written down with it.
void TaskDriver::note(const TaskEvent& event, bool was_running) {
  last_end_.reset();
  if (const auto* over = std::get_if<task_event::AttemptOver>(&event)) {
    last_end_ = over->end;
    if (!task_.over())
      journal_.write(journal_record::AttemptOver{over->end}, JournalWriter::Durable::no);
  }
  if (!std::holds_alternative<task_event::AttemptFailing>(event) || !was_running) return;
  journal_record::AttemptFailing failing;
  if (run_ && !run_->failures().empty()) failing.first = run_->failures().front();
  journal_.write(failing, JournalWriter::Durable::no);
}

// What runs goes on; nothing new begins.
void TaskDriver::journal_failed(const Error& why) {
  if (ports_.journal->is_anothers()) return displace({});
  hooks_.on_note(
      fmt::format("the journal of this task cannot be written, so that no further "
                  "attempt may begin: {}",
                  in_one_line(why)));
  if (go_ != Go::allowed) feed(run_event::StartForbidden{why});
  settle();
}

// An attempt whose ranks have all ended without a failure is the last one, unless something very
// late goes wrong.
void TaskDriver::perform(const HostNews& news) {
  if (is_missing(news)) return;
  feed(RunEvent(news));
  const auto* said = std::get_if<host_news::Said>(&news);
  if (said != nullptr) tell_usage(said->message);
  if (said == nullptr || !std::holds_alternative<message::RankEnded>(said->message) || !run_)
    return;
  if (!run_->has_no_ranks_left()) return;
  if (run_->has_failed() && task_.may_restart())
    ports_.output.expect_another(task_.attempt());
  else
    ports_.output.expect_end();
}

// What the run has taken of it.
void TaskDriver::tell_usage(const Message& said) {
  const auto tell = [this](int rank) {
    const RankUsage* const usage = run_ ? run_->usage_of(rank) : nullptr;
    if (usage != nullptr) hooks_.on_usage(rank, *usage);
  };
  if (const auto* used = std::get_if<message::Usage>(&said))
    for (const UsageOfRank& each : used->ranks) tell(each.rank);
  if (const auto* ended = std::get_if<message::RankEnded>(&said)) tell(ended->rank);
}

// The end of an attempt is told once everything that came with it has been: what else is known of
// hosts by then is not the next attempt's.
void TaskDriver::settle() {
  if (displacement_) return;
  while (std::exchange(has_run_ended_, false)) {
    end_watches(task_.attempt());
    hooks_.on_attempt_over(task_.attempt(), run_->outcome());
    AttemptEnd end = end_of(run_->outcome());
    end.is_hopeless = std::exchange(is_hopeless_, false);
    end.is_unrecorded = journal_.trouble().has_value();
    feed(task_event::AttemptOver{end});
  }
  tell_reached();
  connections_.give_up_by(run_ ? run_->gives_up_by() : std::nullopt);
  std::optional<Instant> next;
  for (const auto& each : {connections_.next_deadline(),
                           run_ ? run_->next_deadline() : std::nullopt, task_.next_deadline()})
    if (each && (!next || *each < *next)) next = each;
  deadline_.set(over() ? std::nullopt : next);
}

void TaskDriver::tell_reached() {
  if (!is_reaching_) return;
  for (int host = 0; host < connections_.count(); ++host)
    if (connections_.is_expected(host) && !connections_.is_up(host)) return;
  is_reaching_ = false;
  hooks_.on_reached();
}

void TaskDriver::look_at(const OutputChunk& chunk) {
  if (displacement_) return;
  for (const MetricsReport& report : metrics_watch_.look(chunk)) hooks_.on_report(report);
  tell_ignored_lines();
  matched(log_watch_.look(chunk), chunk.of.attempt);
}

void TaskDriver::tell_ignored_lines() {
  const std::uint64_t before = std::exchange(ignored_lines_, metrics_watch_.ignored());
  if (ignored_lines_ > before) hooks_.on_ignored_lines(ignored_lines_ - before);
}

void TaskDriver::matched(const std::vector<PolicyMatch>& matches, int attempt) {
  for (const PolicyMatch& match : matches) {
    const LogPolicy& policy = work_.plan.experiment.log_policies[match.policy];
    if (policy.cancels_retries) note_hopeless(attempt);
    hooks_.on_match(policy, match);
  }
}

// What still comes of an attempt that is over says nothing of the next one.
void TaskDriver::note_hopeless(int attempt) {
  const AttemptState last = task_.attempts().back();
  const bool is_over = last != AttemptState::running && last != AttemptState::failing;
  if (is_over || attempt != task_.attempt()) return;
  if (!std::exchange(is_hopeless_, true))
    journal_.write(journal_record::AttemptHopeless{}, JournalWriter::Durable::no);
}

// Another attempt prints from here on.
void TaskDriver::end_watches(int attempt) {
  matched(log_watch_.end(), attempt);
  metrics_watch_.end();
  tell_ignored_lines();
}

void TaskDriver::perform(const host_action::CloseHost& action) {
  if (delivery_) delivery_->forget(action.host);
  streams_.perform(action);
}

// The first attempt is prepared meanwhile: nothing is started before it is on the disk that ranks
// are, which comes after this. What is known of the one before is forgotten by no host until it is
// written down that it is over.
void TaskDriver::perform(const task_action::BeginAttempt& action) {
  const journal_record::AttemptBegun begun{action.number};
  if (action.number > 0) {
    is_being_written_ = true;
    return journal_.write(begun, JournalWriter::Durable::yes, [this] {
      begin_written_attempt();
      settle();
    });
  }
  journal_.write(begun, JournalWriter::Durable::no);
  begin_attempt();
}

// One that begins with a stop starts nothing: it need not wait for a disk that hangs.
void TaskDriver::begin_written_attempt() {
  if (std::exchange(is_being_written_, false) && !displacement_) begin_attempt();
}

Run::Rules TaskDriver::run_rules() const {
  Run::Rules rules;
  rules.ports = work_.port_needs;
  rules.stop_notice = work_.plan.experiment.stop_notice;
  rules.stop_grace = work_.plan.experiment.stop_grace;
  const bool is_first = task_.attempt() == 0;
  // Whoever has it already does not ask for it again.
  if (ports_.open_context)
    rules.delivery = is_context_named_ ? Run::Delivery::packed_context : Run::Delivery::context;
  // Hosts know what became of their ranks until that is written down.
  if (journal_.is_kept()) rules.hosts = Run::Hosts::kept;
  if (task_.may_restart()) rules.hosts = is_first ? Run::Hosts::kept : Run::Hosts::kept_always;
  rules.of = of();
  rules.task_id = work_.task_id;
  for (const LeaseRequest& request : leases_) rules.holds.push_back(!request.wants.empty());
  return rules;
}

void TaskDriver::begin_attempt() {
  const int number = task_.attempt();
  start_frame_.clear();
  go_ = Go::not_wanted;
  awaiting_go_.clear();
  end_watches(number - 1);  // a host that was lost may have told more of the one before
  streams_.begin_attempt(number);
  run_.emplace(trial_, connections_, run_rules());
  if (number == 0 && !work_.resume) return;
  hooks_.on_attempt(number);
  if (journal_.trouble()) feed(run_event::StartForbidden{*journal_.trouble()});
  for (const int signal : stops_) feed(run_event::StopRequested{signal});
  if (has_run_ended_) return;
  for (int host = 0; host < connections_.count(); ++host) {
    connections_.want(host, ports_.timers.now());
    if (connections_.is_up(host))
      feed(host_news::Up{host});
    else if (!connections_.is_expected(host))
      carry_out(connections_.reach_anew(host, ports_.timers.now()));
  }
}

// While the delay passes, hosts that were lost are looked for.
void TaskDriver::perform(const task_action::AnnounceRestart& action) {
  hooks_.on_restart(action);
  for (int host = 0; host < connections_.count(); ++host) {
    connections_.want(host, ports_.timers.now());
    if (!connections_.is_expected(host))
      carry_out(connections_.reach_anew(host, ports_.timers.now()));
  }
}

// Until the end is written down the hosts know what it is made of.
void TaskDriver::perform(const task_action::End& action) {
  ending_ = action;
  const auto end = [this] { end_task(); };
  journal_.write(journal_record::TaskOver{action.why, last_end_, action.signal},
                 JournalWriter::Durable::yes, end, end_patience);
}

// Agents that outlive any launcher leave only when they are told to: those that are being looked
// for are given a moment to be found.
bool TaskDriver::owes_goodbye() {
  constexpr std::chrono::seconds patience{5};
  if (!may_owe_goodbye_) return false;
  bool is_any_away = false;
  for (int host = 0; host < connections_.count(); ++host)
    is_any_away = is_any_away || connections_.is_away(host);
  if (is_any_away && !goodbye_limit_)
    goodbye_limit_ = ports_.timers.after(patience, [this] {
      may_owe_goodbye_ = false;
      end_task();
    });
  return is_any_away;
}

void TaskDriver::end_task() {
  if (displacement_ || !ending_ || owes_goodbye()) return;
  const task_action::End action = *std::exchange(ending_, std::nullopt);
  for (int host = 0; host < connections_.count(); ++host)
    if (connections_.is_expected(host)) carry_out(connections_.dismiss(host));
  outcome_ = run_ ? run_->outcome() : RunOutcome();
  outcome_->ranks.resize(trial_.ranks.size());
  if (action.signal) interrupt(*outcome_, *action.signal);
  deadline_.set(std::nullopt);
  hooks_.on_over();
}

message::Prepare TaskDriver::prepare_message(int host) const {
  const PlannedHost& planned = trial_.hosts[host];
  const ExperimentConfig& experiment = work_.plan.experiment;
  message::Prepare prepare;
  prepare.of = of();
  prepare.task_id = work_.task_id;
  prepare.hold_ports = held_ports(work_.port_needs, trial_, host);
  prepare.files = run_files(experiment);
  prepare.stop_signal = signal_number(experiment.stop_signal).value_or(prepare.stop_signal);
  prepare.stop_notice = experiment.stop_notice;
  prepare.stop_grace = experiment.stop_grace;
  prepare.reconnect_window = experiment.reconnect_window;
  prepare.launcher_wait = experiment.launcher_wait.value_or(brief_launcher_wait);
  prepare.spool = {most_spooled, experiment.spool_overflow == SpoolOverflow::drop};
  if (streams_.is_remote(host)) prepare.output_packing = OutputPacking::lz4;
  if (delivery_) prepare.context = delivery_->context();
  if (trial_.hosts.size() > 1) prepare.interface = planned.host.interface;
  prepare.leases = leases_[static_cast<std::size_t>(host)];
  // What the task has held it gets before all who wait, also from a new agent, which holds nothing.
  if (task_.attempt() > 0) prepare.leases.order = TicketOrder{0, 0, work_.task_id};
  prepare.checkpoint_directory = checkpoint_directory(experiment, work_.task_id, trial_.trial);
  for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank) {
    prepare.ranks.push_back({rank, experiment.entrypoint, work_.working_directory,
                             work_.environment_of(rank, task_.attempt())});
    fill_in_checkpoints(prepare.ranks.back().environment, prepare.checkpoint_directory);
  }
  return prepare;
}

void TaskDriver::perform(const run_action::SendPrepare& action) {
  const message::Prepare prepare = prepare_message(action.host);
  const std::size_t ranks = prepare.ranks.size();
  std::size_t bytes = 0;
  for (const RankCommand& command : prepare.ranks) bytes += size_of(command);
  const std::string payload = encode_message(prepare);
  const bool is_too_large = bytes > most_rank_bytes;
  if (is_too_large || payload.size() > max_control_payload)
    return refuse_prepare(
        action.host,
        fmt::format(
            "the arguments and environments of its {} ranks are {} MiB; a host takes {} MiB", ranks,
            (is_too_large ? bytes : payload.size()) >> 20,
            (is_too_large ? most_rank_bytes : max_control_payload) >> 20),
        "pass large data in a file");
  if (prepare.hold_ports > most_held_ports)
    return refuse_prepare(action.host,
                          fmt::format("its {} ranks need {} ports; a host holds {}", ranks,
                                      prepare.hold_ports, most_held_ports),
                          "use more hosts");
  streams_.send(action.host, encode_frame(FrameKind::control, payload));
}

// Run is not entered while it waits for its actions to be carried out: this comes as an event.
void TaskDriver::refuse_prepare(int host, std::string what, std::string hint) {
  const Error why = make_error(ErrorClass::config, std::move(what), std::move(hint));
  ports_.timers.post([this, host, why] { streams_.break_protocol(host, why); });
}

void TaskDriver::perform(const run_action::SendContext& action) {
  if (delivery_ && delivery_->wanted(action.host, action.taken)) return;
  ports_.timers.post([this, host = action.host] {
    streams_.break_protocol(host, not_our_protocol("took more of the context than it was sent"));
  });
}

void TaskDriver::perform(const run_action::SendGo& action) {
  // A host that is lost may have to be sent it again.
  if (!task_.may_restart()) delivery_.reset();
  if (go_ == Go::allowed) return send_go(action.host);
  awaiting_go_.push_back(action.host);
  if (std::exchange(go_, Go::being_written) == Go::being_written) return;
  message::Go start = run_->start_message();
  start.of = of();
  feed(task_event::RanksStarting{});
  journal_record::RanksStarted started{std::move(start)};
  if (work_.booted) started.booted = work_.booted();
  journal_.write(std::move(started), JournalWriter::Durable::yes, [this] { allow_start(); });
}

// What has come meanwhile wins: a stop, or that no attempt may begin.
void TaskDriver::allow_start() {
  const std::vector<int> hosts = std::exchange(awaiting_go_, {});
  if (displacement_ || journal_.trouble() || run_->phase() != RunPhase::running) return;
  go_ = Go::allowed;
  for (const int host : hosts) send_go(host);
  settle();
}

void TaskDriver::send_go(int host) {
  connections_.begin_ranks(host, ports_.timers.now());
  streams_.begin_ranks(host);
  if (start_frame_.empty()) start_frame_ = frame_of(about(run_->start_message(), of()));
  streams_.send(host, start_frame_);
}

void TaskDriver::perform(const run_action::AllStarted&) {
  if (task_.attempt() == 0) tell_of_logins();
  hooks_.on_all_started();
}

// Where a lost connection is to end no ranks, this does.
void TaskDriver::tell_of_logins() {
  const ExperimentConfig& experiment = work_.plan.experiment;
  const bool is_patient =
      experiment.reconnect_window > milliseconds(0) ||
      experiment.launcher_wait.value_or(brief_launcher_wait) > brief_launcher_wait;
  std::vector<std::string> hosts;
  for (int host = 0; host < connections_.count(); ++host)
    if (is_patient && streams_.is_remote(host) && run_->ends_with_login(host))
      hosts.push_back(trial_.hosts[static_cast<std::size_t>(host)].host.name);
  if (hosts.empty()) return;
  hooks_.on_note(
      fmt::format("warning: no rank on {} outlives a lost connection: logind there kills what a "
                  "login has started when it ends; 'KillUserProcesses=no' in its logind.conf "
                  "spares them",
                  summarize_hosts(hosts)));
}

void TaskDriver::perform(const run_action::Stopping& action) {
  feed(task_event::AttemptFailing{});
  const bool is_last = !task_.may_restart();
  if (is_last) ports_.output.expect_end();
  hooks_.on_stopping(action.why, is_last);
}

}  // namespace train
