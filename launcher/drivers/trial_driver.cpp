// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/trial_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "config_schema/hosts/host_fold.hpp"
#include "launcher/lease/trial_leases.hpp"
#include "launcher/ports/earliest.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/rank_commands.hpp"

namespace train {

namespace {

// On the disk of each host, for output that the launcher has not written yet.
constexpr std::uint64_t most_spooled = std::uint64_t{1} << 30;

Task task_of(const TaskWork& task, const TrialWork& work) {
  const Plan& plan = work.plan;
  if (work.is_left) return task.resume->replay.trials.at(plan.trial.trial).task;
  return Task(Task::rules_of(plan.experiment, task.is_search), work.first_attempt);
}

// By node rank.
std::vector<LeaseRequest> leases_of_hosts(const TrialWork& work, const std::string& launcher) {
  const ExperimentConfig& experiment = work.plan.experiment;
  const Trial& trial = work.plan.trial;
  std::vector<LeaseRequest> requests(trial.hosts.size());
  if (experiment.leases == Leasing::none) return requests;
  for (std::size_t host = 0; host < requests.size(); ++host)
    requests[host] = {leases_of(experiment, trial, static_cast<int>(host)),
                      needed_gpus(trial.hosts[host].host),
                      experiment.name,
                      launcher,
                      trial.hosts[host].host.lease_directory,
                      experiment.allow_busy,
                      work.order};
  return requests;
}

bool may_have_gpus(const LeaseRequest& request) {
  return std::any_of(request.wants.begin(), request.wants.end(), [](const LeaseWant& want) {
    return want.key.kind == LeaseKey::Kind::cuda || want.key.kind == LeaseKey::Kind::slot;
  });
}

// Slots that a filter left out are still slots of the host, which other tasks may have: positions
// of slots are their indices.
CpuBindingRule cpu_binding_of(const ExperimentConfig& experiment, const Trial& trial,
                              const PlannedHost& planned) {
  const bool has_all_slots = static_cast<int>(planned.slots.size()) == slot_count(planned.host);
  CpuBindingRule rule{experiment.cpu_binding, has_all_slots && experiment.needs.slots.is_whole()};
  if (rule.mode != CpuBinding::exclusive || rule.has_whole_host) return rule;
  for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank) {
    const std::vector<int>& slots = trial.ranks[static_cast<std::size_t>(rank)].slots;
    if (slots.empty()) return {rule.mode};
    rule.slots_of_ranks.push_back(slots);
  }
  rule.slots = slot_count(planned.host).value_or(0);
  return rule;
}

}  // namespace

std::vector<int> hosts_of_task(const Trial& trial, const Connections& connections) {
  std::unordered_map<std::string_view, int> numbers;
  for (int host = 0; host < connections.count(); ++host)
    numbers.emplace(connections.name(host), host);
  std::vector<int> hosts;
  for (const PlannedHost& planned : trial.hosts) hosts.push_back(numbers.at(planned.host.name));
  return hosts;
}

TrialDriver::TrialDriver(Means means, const TaskWork& task, TrialWork work, const TaskHooks& hooks,
                         TrialOwner& owner)
    : means_(means),
      common_(task),
      hooks_(hooks),
      owner_(owner),
      place_(std::make_unique<Place>(std::move(work), means.connections.count(), task.launcher)),
      task_(task_of(common_, this->work())),
      log_watch_(plan().experiment.log_policies),
      printed_reports_(plan().experiment.metrics.patterns) {}

TrialDriver::Place::Place(TrialWork done, int hosts_of_task, const std::string& launcher)
    : work(std::move(done)),
      hosts(work.hosts, hosts_of_task),
      leases(leases_of_hosts(work, launcher)) {}

void TrialDriver::start() { feed(task_event::Begin{}); }

// If all ranks have ended without a failure, this attempt is the last one, except for a very late
// failure.
void TrialDriver::handle(HostNews news) {
  std::visit([this](auto& each) { each.host = hosts().node_of(each.host); }, news);
  feed(RunEvent(news));
  report_start(news);
  const auto* said = std::get_if<host_news::Said>(&news);
  if (said != nullptr) report_usage(said->message);
  if (said != nullptr) note_checkpoint(said->message);
  if (said == nullptr || !std::holds_alternative<message::RankEnded>(said->message) || !run_)
    return;
  if (!run_->has_no_ranks_left()) return;
  if (run_->has_failed() && task_.may_restart())
    means_.output.expect_another(of());
  else
    owner_.expect_end(trial().trial);
}

void TrialDriver::tick() {
  feed(run_event::Tick{});
  if (!is_moving_) feed(task_event::Tick{});
}

// Running ranks go on.
void TrialDriver::journal_failed(const Error& why) {
  if (go_ != Go::allowed) feed(run_event::StartForbidden{why});
}

void TrialDriver::act_on_stop(int signal) {
  stops_.push_back(signal);
  feed(run_event::StopRequested{signal});
}

void TrialDriver::move() {
  is_moving_ = true;
  feed(run_event::StopRequested{task_moves});
}

// Later news of the hosts does not belong to the next attempt.
void TrialDriver::settle() {
  while (std::exchange(has_run_ended_, false)) {
    end_watches(task_.attempt());
    hooks_.on_attempt_over(task_.attempt(), run_->outcome());
    AttemptEnd end = end_of(run_->outcome());
    end.is_hopeless = std::exchange(is_hopeless_, false);
    end.is_unrecorded = means_.journal.trouble().has_value();
    end.is_moved = is_moving_ && !end.succeeded;
    end.made_progress = made_progress();
    look_for_place(end);
    feed(task_event::AttemptOver{end});
  }
}

// Where a host has failed before any rank was told to start, the attempt does not count, unless all
// such hosts had failed before: that bounds it.
void TrialDriver::look_for_place(AttemptEnd& end) {
  next_place_.reset();
  left_out_.clear();
  if (!common_.next_place || end.succeeded || end.is_moved || !stops_.empty()) return;
  const RunOutcome& outcome = run_->outcome();
  const auto next = common_.next_place(outcome);
  if (!next) return;
  const bool counts =
      outcome.were_told_to_start || task_.restarts() == 0 || !next->is_first_failure;
  if (counts && !task_.may_restart()) return;
  TrialWork work{*next->plan,
                 next->port_needs,
                 next->environment_of,
                 hosts_of_task(next->plan->trial, means_.connections),
                 this->work().order,
                 next->plan,
                 this->work().first_attempt,
                 this->work().is_left};
  auto place =
      std::make_unique<const Place>(std::move(work), means_.connections.count(), common_.launcher);
  Instant ranks_end_by{0};
  for (const int host : hosts().of_task())
    if (!place->hosts.is_on(host))
      ranks_end_by = std::max(ranks_end_by, means_.connections.ranks_end_by(host));
  if (ranks_end_by == Instant::max()) return;
  left_out_ = next->left_out;
  end.is_moved = !counts;
  end.fence = std::max(std::chrono::ceil<milliseconds>(ranks_end_by - now()), milliseconds(0));
  next_place_ = std::move(place);
}

std::optional<Instant> TrialDriver::next_deadline() const {
  const auto of_task = is_moving_ ? std::nullopt : task_.next_deadline();
  return earliest({run_ ? run_->next_deadline() : std::nullopt, of_task});
}

RunOutcome TrialDriver::outcome(std::optional<int> signal) const {
  RunOutcome outcome = run_ ? run_->outcome() : RunOutcome();
  outcome.ranks.resize(trial().ranks.size());
  if (signal) interrupt(outcome, *signal);
  if (end_ && is_in_vain(*end_) && outcome.cause) {
    Failure& cause = *outcome.cause;
    cause.error = make_error(ErrorClass::no_progress,
                             no_help_text(*end_, cause.error.diagnostics.front().message));
    cause.exit_code = 0;  // that of the class
  }
  return outcome;
}

bool TrialDriver::uses(int host) const {
  if (!hosts().is_on(host) || !run_ || run_->over()) return false;
  const HostState state = run_->host_state(hosts().node_of(host));
  return state != HostState::finished && state != HostState::failed;
}

Instant TrialDriver::time_of(int host, Instant at, Instant now) const {
  return run_ && hosts().is_on(host) ? run_->time_of(hosts().node_of(host), at, now) : now;
}

void TrialDriver::feed(const RunEvent& event) {
  if (!run_ || owner_.is_displaced()) return;
  for (const RunAction& action : run_->on(event, now()))
    std::visit([this](const auto& a) { perform(a); }, action);
}

void TrialDriver::feed(const TaskEvent& event) {
  if (owner_.is_displaced()) return;
  const bool was_running = task_.attempts().back() == AttemptState::running;
  const std::vector<TaskAction> actions = task_.on(event, now());
  note(event, was_running);
  for (const TaskAction& action : actions)
    std::visit([this](const auto& a) { perform(a); }, action);
}

// A failure that ends the trial is recorded together with the end.
void TrialDriver::note(const TaskEvent& event, bool was_running) {
  last_end_.reset();
  if (const auto* over = std::get_if<task_event::AttemptOver>(&event)) {
    last_end_ = over->end;
    if (!task_.over())
      write(journal_record::AttemptOver{over->end, left_out_}, JournalWriter::Durable::no);
  }
  if (!std::holds_alternative<task_event::AttemptFailing>(event) || !was_running) return;
  journal_record::AttemptFailing failing;
  if (run_ && !run_->failures().empty()) failing.first = run_->failures().front();
  write(failing, JournalWriter::Durable::no);
}

void TrialDriver::report_start(const HostNews& news) {
  if (const auto* up = std::get_if<host_news::Up>(&news)) {
    const LinkInfo& link = means_.streams.link(of_task(up->host));
    if (link.connected) hooks_.on_start_step(up->host, StartStep::connected, *link.connected);
    if (link.logged_in) hooks_.on_start_step(up->host, StartStep::logged_in, *link.logged_in);
    hooks_.on_start_step(up->host, StartStep::agent_runs, now());
  }
  const auto* said = std::get_if<host_news::Said>(&news);
  if (said == nullptr) return;
  if (std::holds_alternative<message::Ready>(said->message))
    hooks_.on_start_step(said->host, StartStep::is_ready, now());
  if (std::holds_alternative<message::RankStarted>(said->message))
    hooks_.on_start_step(said->host, StartStep::ranks_started, now());
}

// Reports the usage that the run has accepted.
void TrialDriver::report_usage(const Message& said) {
  const auto tell = [this](int rank) {
    const RankUsage* const usage = run_ ? run_->usage_of(rank) : nullptr;
    if (usage != nullptr) hooks_.on_usage(rank, *usage);
  };
  if (const auto* used = std::get_if<message::Usage>(&said))
    for (const UsageOfRank& each : used->ranks) tell(each.rank);
  if (const auto* ended = std::get_if<message::RankEnded>(&said)) tell(ended->rank);
  if (const auto* started = std::get_if<message::RankStarted>(&said); started && run_)
    if (const std::vector<int>* const cpus = run_->cpus_of(started->rank))
      hooks_.on_bound(started->rank, *cpus);
}

// One host that has found a new checkpoint is enough.
void TrialDriver::note_checkpoint(const Message& said) {
  const auto* ended = std::get_if<message::RankEnded>(&said);
  if (ended != nullptr && ended->has_new_checkpoint)
    has_progress_ = has_progress_.value_or(false) || *ended->has_new_checkpoint;
}

// A lost host may have had the checkpoint, or what was still to be reported.
bool TrialDriver::made_progress() const {
  const RunOutcome& outcome = run_->outcome();
  const bool is_known = !outcome.cause || outcome.cause->error.error_class != ErrorClass::host;
  if (!is_known || has_progress_) return has_progress_.value_or(true);
  return !plan().experiment.checkpoints.directory.empty();
}

void TrialDriver::look_at(const OutputChunk& chunk) {
  if (owner_.is_displaced()) return;
  const auto tell = [this](const MetricsReport& report) {
    has_progress_ = true;
    hooks_.on_report(report);
  };
  for (const MetricsReport& report : metrics_watch_.look(chunk)) tell(report);
  for (const MetricsReport& report : printed_reports_.look(chunk)) tell(report);
  report_ignored_lines();
  matched(log_watch_.look(chunk), chunk.of.attempt);
}

void TrialDriver::report_ignored_lines() {
  const std::uint64_t before = std::exchange(ignored_lines_, metrics_watch_.ignored());
  if (ignored_lines_ > before) hooks_.on_ignored_lines(ignored_lines_ - before);
}

void TrialDriver::matched(const std::vector<PolicyMatch>& matches, int attempt) {
  for (const PolicyMatch& match : matches) {
    const LogPolicy& policy = plan().experiment.log_policies[match.policy];
    if (policy.cancels_retries) note_hopeless(attempt);
    hooks_.on_match(policy, match);
  }
}

// Output of an attempt that is over says nothing about the next one.
void TrialDriver::note_hopeless(int attempt) {
  const AttemptState last = task_.attempts().back();
  const bool is_over = last != AttemptState::running && last != AttemptState::failing;
  if (is_over || attempt != task_.attempt()) return;
  if (!std::exchange(is_hopeless_, true))
    write(journal_record::AttemptHopeless{}, JournalWriter::Durable::no);
}

// From now on another attempt prints.
void TrialDriver::end_watches(int attempt) {
  matched(log_watch_.end(), attempt);
  metrics_watch_.end();
  printed_reports_.end();
  report_ignored_lines();
}

// The first attempt of a task is prepared while its record is written: its ranks are started only
// after `ranks_started` is on disk, which comes later. Any other attempt waits for its record: an
// adopting supervisor has to know that hosts may have it, and until the end of the previous attempt
// is recorded, no host forgets that attempt.
void TrialDriver::perform(const task_action::BeginAttempt& action) {
  journal_record::AttemptBegun begun{action.number};
  if (common_.time != nullptr) begun_ = common_.time->now_ms();
  if (common_.is_search || common_.next_place)
    begun.place = place_of(next_place_ ? next_place_->plan().trial : trial());
  const bool is_first_of_all = action.number == 0 && is_first();
  if (is_first_of_all) {
    write(begun, JournalWriter::Durable::no);
    return begin_attempt();
  }
  // After a restart, only this record says that there is a further attempt.
  const bool is_restart = action.number > 0;
  is_being_written_ = true;
  write(begun, is_restart ? JournalWriter::Durable::yes : JournalWriter::Durable::no, [this] {
    begin_written_attempt();
    owner_.settle();
  });
}

// An attempt that begins with a stop starts nothing: it need not wait for a hanging disk.
void TrialDriver::begin_written_attempt() {
  if (is_moving_ && stops_.empty()) return;
  if (std::exchange(is_being_written_, false) && !owner_.is_displaced()) begin_attempt();
}

Run::Rules TrialDriver::run_rules() const {
  Run::Rules rules;
  rules.ports = work().port_needs;
  rules.stop_notice = plan().experiment.stop_notice;
  rules.stop_grace = plan().experiment.stop_grace;
  rules.hang_timeout = plan().experiment.hang_timeout;
  const bool is_first = task_.restarts() == 0;
  // A host that has the context does not ask for it again.
  if (means_.context.travels)
    rules.delivery =
        means_.context.is_named ? Run::Delivery::packed_context : Run::Delivery::context;
  // Hosts keep the facts about their ranks until the end is recorded.
  if (means_.journal.is_kept()) rules.hosts = Run::Hosts::kept;
  if (task_.may_restart()) rules.hosts = is_first ? Run::Hosts::kept : Run::Hosts::kept_always;
  // An attempt that does not count may follow.
  if (common_.next_place && !is_first && stops_.empty()) rules.hosts = Run::Hosts::kept_always;
  if (owner_.expects_trials()) rules.hosts = Run::Hosts::kept_always;
  rules.of = of();
  rules.task_id = common_.task_id;
  rules.looks_for_networks = looks_for_networks(plan());
  for (const LeaseRequest& request : place_->leases) {
    rules.holds.push_back(!request.wants.empty());
    if (may_have_gpus(request)) rules.gpu_wait = plan().experiment.gpu_wait.limit;
  }
  return rules;
}

void TrialDriver::begin_attempt() {
  const int number = task_.attempt();
  start_frame_.clear();
  has_progress_.reset();
  go_ = Go::not_wanted;
  awaiting_go_.clear();
  end_watches(number - 1);  // a lost host may have sent more output of the previous attempt
  const std::unique_ptr<const Place> before =
      next_place_ ? std::exchange(place_, std::move(next_place_)) : nullptr;
  means_.streams.begin_attempt(of(), trial(), hosts());
  run_.emplace(trial(), TrialConnections(means_.connections, hosts()), run_rules());
  if (before) has_moved(*before);
  const bool is_first_of_all = number == 0 && is_first() && !work().is_left;
  if (is_first_of_all) return;
  if (number > 0 || work().is_left) hooks_.on_attempt(number, begun_);
  if (means_.journal.trouble()) feed(run_event::StartForbidden{*means_.journal.trouble()});
  if (means_.context.failure) feed(run_event::ContextFailed{*means_.context.failure});
  for (const int signal : stops_) feed(run_event::StopRequested{signal});
  if (has_run_ended_) return;
  for (int node = 0; node < hosts().count(); ++node) {
    request_host(of_task(node));
    if (means_.connections.is_up(of_task(node))) feed(host_news::Up{node});
  }
}

// Hosts of the attempt before that have no part in this one.
void TrialDriver::has_moved(const Place& before) {
  for (const int host : before.hosts.of_task())
    if (!hosts().is_on(host) && means_.connections.is_expected(host))
      owner_.dismiss_host(trial().trial, host);
  hooks_.on_new_place(plan());
}

// Lost hosts are already looked for during the delay, and so are those that take their place.
void TrialDriver::perform(const task_action::AnnounceRestart& action) {
  hooks_.on_restart(action);
  if (is_moving_) return;
  if (next_place_) {
    for (const LeftOutHost& host : left_out_) hooks_.on_note(left_out_text(host));
    hooks_.on_next_place(next_place_->plan());
  }
  for (const int host : (next_place_ ? *next_place_ : *place_).hosts.of_task()) request_host(host);
}

message::Prepare TrialDriver::prepare_message(int node) const {
  const PlannedHost& planned = trial().hosts[static_cast<std::size_t>(node)];
  const ExperimentConfig& experiment = plan().experiment;
  message::Prepare prepare;
  prepare.of = of();
  prepare.task_id = common_.task_id;
  prepare.hold_ports = held_ports(work().port_needs, trial(), node);
  prepare.files = run_files(experiment);
  prepare.stop_signal = signal_number(experiment.stop_signal).value_or(prepare.stop_signal);
  prepare.stop_notice = experiment.stop_notice;
  prepare.stop_grace = experiment.stop_grace;
  prepare.reconnect_window = experiment.reconnect_window;
  prepare.launcher_wait = experiment.launcher_wait.value_or(brief_launcher_wait);
  prepare.spool = {most_spooled, experiment.spool_overflow == SpoolOverflow::drop};
  if (means_.streams.is_remote(of_task(node))) prepare.output_packing = OutputPacking::lz4;
  if (means_.context.delivery) prepare.context = means_.context.delivery->context();
  if (trial().hosts.size() > 1) prepare.interface = planned.host.interface;
  prepare.wants_networks = looks_for_networks(plan());
  prepare.leases = place_->leases[static_cast<std::size_t>(node)];
  // On a restart the task comes before all waiting tasks for what it held, also with a new agent,
  // which holds nothing yet.
  if (task_.restarts() > 0) prepare.leases.order = TicketOrder{0, 0, common_.task_id};
  prepare.cpu_binding = cpu_binding_of(experiment, trial(), planned);
  prepare.gpu_wait = experiment.gpu_wait;
  // All hosts share the folder.
  prepare.looks_for_checkpoints =
      node == 0 && (experiment.max_no_progress > 0 || experiment.stop_on_same_cause);
  prepare.checkpoint_directory = checkpoint_directory(experiment, common_.task_id, trial().trial);
  for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank) {
    prepare.ranks.push_back({rank, experiment.entrypoint, common_.working_directory,
                             work().environment_of(rank, task_.attempt())});
    prepare.ranks.back().setup = experiment.setup;
    fill_in_checkpoints(prepare.ranks.back().environment, prepare.checkpoint_directory);
  }
  return prepare;
}

void TrialDriver::perform(const run_action::SendPrepare& action) {
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
  means_.streams.send(of_task(action.host), encode_frame(FrameKind::control, payload));
}

// `Run` must not be re-entered while its actions are carried out: this is posted as an event.
void TrialDriver::refuse_prepare(int node, std::string what, std::string hint) {
  const Error why = make_error(ErrorClass::config, std::move(what), std::move(hint));
  means_.timers.post([&streams = means_.streams, host = of_task(node), why] {
    streams.break_protocol(host, why);
  });
}

void TrialDriver::perform(const run_action::SendContext& action) {
  const int host = of_task(action.host);
  auto& delivery = means_.context.delivery;
  hooks_.on_start_step(action.host, StartStep::has_context, now());
  if (delivery && delivery->wanted(host, action.taken)) return;
  means_.timers.post([&streams = means_.streams, host] {
    streams.break_protocol(host, not_our_protocol("took more of the context than it was sent"));
  });
}

void TrialDriver::perform(const run_action::SendGo& action) {
  // A lost host may need the context again if another attempt follows.
  if (!task_.may_restart() && !owner_.expects_trials()) means_.context.delivery.reset();
  if (go_ == Go::allowed) return send_go(action.host);
  awaiting_go_.push_back(action.host);
  if (std::exchange(go_, Go::being_written) == Go::being_written) return;
  message::Go start = run_->start_message();
  start.of = of();
  feed(task_event::RanksStarting{});
  write(journal_record::RanksStarted{std::move(start)}, JournalWriter::Durable::yes,
        [this] { allow_start(); });
}

// A stop, or an error of the journal, that came meanwhile takes precedence.
void TrialDriver::allow_start() {
  const std::vector<int> nodes = std::exchange(awaiting_go_, {});
  if (owner_.is_displaced() || means_.journal.trouble() || run_->phase() != RunPhase::running)
    return;
  go_ = Go::allowed;
  for (const int node : nodes) send_go(node);
  owner_.settle();
}

void TrialDriver::send_go(int node) {
  const int host = of_task(node);
  means_.connections.begin_ranks(host, now());
  means_.streams.begin_ranks(host);
  if (start_frame_.empty()) start_frame_ = frame_of(about(run_->start_message(), of()));
  means_.streams.send(host, start_frame_);
  hooks_.on_start_step(node, StartStep::told_to_start, now());
}

void TrialDriver::perform(const run_action::AllStarted&) {
  if (task_.attempt() == 0 && is_first()) report_logins();
  hooks_.on_all_started();
}

// Warns about hosts on which logind ends ranks with the login, if ranks should outlive a lost
// connection.
void TrialDriver::report_logins() {
  const ExperimentConfig& experiment = plan().experiment;
  const bool is_patient =
      experiment.reconnect_window > milliseconds(0) ||
      experiment.launcher_wait.value_or(brief_launcher_wait) > brief_launcher_wait;
  std::vector<std::string> names;
  for (int node = 0; node < hosts().count(); ++node)
    if (is_patient && means_.streams.is_remote(of_task(node)) && run_->ends_with_login(node))
      names.push_back(trial().hosts[static_cast<std::size_t>(node)].host.name);
  if (names.empty()) return;
  hooks_.on_note(
      fmt::format("warning: no rank on {} outlives a lost connection: logind there kills what a "
                  "login has started when it ends; 'KillUserProcesses=no' in its logind.conf "
                  "spares them",
                  summarize_hosts(names)));
}

void TrialDriver::perform(const run_action::Stopping& action) {
  feed(task_event::AttemptFailing{});
  const bool is_last = !task_.may_restart();
  if (is_last) owner_.expect_end(trial().trial);
  hooks_.on_stopping(action.why, is_last);
}

// The callback may come after this trial is gone.
void TrialDriver::write(JournalRecord record, JournalWriter::Durable durable,
                        std::function<void()> then) {
  means_.journal.write_of(trial().trial, std::move(record), durable,
                          [alive = std::weak_ptr(alive_), then = std::move(then)] {
                            if (then && !alive.expired()) then();
                          });
}

void TrialDriver::request_host(int host) {
  means_.connections.want(host, now());
  if (!means_.connections.is_expected(host))
    owner_.carry_out(means_.connections.recover(host, now()));
}

void TrialDriver::perform(const host_action::Send& action) {
  means_.streams.perform({of_task(action.host), about(action.message, of())});
}

void TrialDriver::perform(const run_action::LetGo& action) {
  owner_.let_go_of_host(of(), of_task(action.host));
}

void TrialDriver::perform(const run_action::Dismiss& action) {
  owner_.dismiss_host(trial().trial, of_task(action.host));
}

void TrialDriver::perform(const run_action::Keep& action) {
  owner_.keep_host(trial().trial, of_task(action.host));
}

// Metrics in these logs were counted already. A match of a log policy may not have been reported,
// and a reported one may not have been recorded.
void TrialDriver::load_replay(TaskResumption& resumption) {
  const TrialReplay& replay = resumption.replay.trials.at(trial().trial);
  TrialLeft& left = resumption.left[trial().trial];
  is_hopeless_ = replay.is_hopeless;
  means_.streams.adopt_attempt({trial().trial, replay.attempt}, trial(), hosts(),
                               std::move(left.positions));
  const auto& policies = plan().experiment.log_policies;
  for (const std::size_t policy : left.known_matches) {
    log_watch_.know(policy);
    if (policies[policy].cancels_retries) note_hopeless(replay.attempt);
  }
  for (const OutputChunk& chunk : std::exchange(left.last_output, {})) {
    (void)metrics_watch_.look(chunk);
    (void)printed_reports_.look(chunk);
    matched(log_watch_.look(chunk), replay.attempt);
  }
  ignored_lines_ = metrics_watch_.ignored();
  stops_ = resumption.replay.stop_signals;
}

void TrialDriver::adopt_run(const Replay& task) {
  const TrialReplay& replay = task.trials.at(trial().trial);
  Run::Adopted known;
  known.go = replay.go;
  known.started_at = replay.started_at;
  known.is_failing = task_.attempts().back() == AttemptState::failing;
  known.failure = replay.failure;
  known.stop_signals = task.stop_signals;
  known.stopped_at = task.stopped_at;
  go_ = Go::allowed;
  has_progress_ = true;  // what it had reported before is in the logs alone
  for (int node = 0; node < hosts().count(); ++node) means_.streams.adopt_ranks(of_task(node));
  run_.emplace(trial(), TrialConnections(means_.connections, hosts()), run_rules());
  for (const RunAction& action : run_->adopt(known, now()))
    std::visit([this](const auto& a) { perform(a); }, action);
}

}  // namespace train
