// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/world.hpp"

#include <limits>

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

Plan plan_of(const Scenario& scenario) {
  Plan plan;
  plan.trial = scenario.trial();
  plan.experiment.entrypoint.shell = "true";
  plan.experiment.max_runtime = scenario.max_runtime;
  plan.experiment.stop_notice = scenario.notice;
  plan.experiment.stop_grace = scenario.grace;
  plan.experiment.reconnect_window = scenario.window;
  plan.experiment.launcher_wait = scenario.launcher_wait;
  plan.experiment.max_restarts = scenario.max_restarts;
  plan.experiment.restart_delay = scenario.restart_delay;
  return plan;
}

std::vector<EnvironmentEntry> environment_of(int /*rank*/, int /*attempt*/) {
  return {{"MASTER_PORT", "", AtLaunch::rendezvous_port},
          {"MEGASCALE_PORT", "", AtLaunch::megascale_port},
          {"TF_CONFIG", "", AtLaunch::tensorflow_cluster}};
}

int number_of(const std::string& host) { return std::stoi(host.substr(1)); }

std::vector<int> hosts_at(const TrialPlace& place) {
  std::vector<int> hosts;
  for (const std::string& name : host_names(place)) hosts.push_back(number_of(name));
  return hosts;
}

std::string kind_of(const Replay& known) {
  const AttemptState last = known.first().task.attempts().back();
  if (last == AttemptState::running && !known.first().go) return "prepared";
  return std::string(attempt_states().row(last).name);
}

}  // namespace

World::World(Scenario scenario)
    : scenario_(std::move(scenario)),
      plan_(plan_of(scenario_)),
      chance_(scenario_.seed + 1),
      readiness_{static_cast<int>(scenario_.hosts.size() - scenario_.spares), {}, &hosts_} {
  for (int host = 0; host < static_cast<int>(scenario_.hosts.size()); ++host)
    hosts_.emplace_back(time_, chance_, scenario_, host, readiness_, logs_, complaints_);
  note_place(0, plan_.trial);
  begin_supervisor(Instant(0), "boot", std::nullopt);
  plan_events();
}

void World::begin_supervisor(Instant booted, std::string boot_id,
                             std::optional<TaskDriver::Resumption> resume) {
  Supervisor& made =
      supervisors_.emplace_back(time_, chance_, scenario_, plan_, hosts_, complaints_, logs_, disk_,
                                booted, std::move(boot_id), [this] { return on_the_wall(); });
  if (resume && resume->replay.first().place)
    made.plan.trial = scenario_.trial_on(hosts_at(*resume->replay.first().place));
  made.replayed_at = made.timers.now();
  made.replayed_wall = on_the_wall();
  for (int rank = 0; resume && rank < made.plan.trial.world_size; ++rank)
    made.reports[rank] =
        logs_.position({{0, resume->replay.first().attempt}, rank, true}) / report_size;
  TaskDriver::Ports ports{made.timers, made.transport, made.output};
  if (scenario_.has_journal) ports.journal = &made.journal;
  if (scenario_.has_context)
    ports.open_context = [this](ContextSource::Events events) {
      return std::make_unique<FakeContext>(time_, scenario_, std::move(events));
    };
  decltype(TaskDriver::Work::next_place) next_place;
  if (scenario_.spares > 0)
    next_place = [this, &made](const RunOutcome& outcome) {
      return this->next_place(made, outcome);
    };
  made.driver.emplace(std::move(ports),
                      TaskDriver::Work{made.plan,
                                       "taskid",
                                       scenario_.ports,
                                       scenario_.has_context ? "sub" : "/",
                                       environment_of,
                                       made.boot_id,
                                       std::move(resume),
                                       false,
                                       {},
                                       &made.events,
                                       {},
                                       all_hosts(),
                                       next_place},
                      hooks_of(made));
  losses_seen_ = 0;
  if (supervisors_.size() <= scenario_.deaths.size())
    plan_death(made, scenario_.deaths[supervisors_.size() - 1]);
  made.driver->start();
  if (scenario_.has_journal) watch_registry(made);
}

milliseconds World::on_the_wall() const {
  return std::chrono::floor<milliseconds>(time_.now() + scenario_.wall_shift(time_.now()));
}

int World::lost_in_attempt() const {
  return logs_.lost.empty() ? std::numeric_limits<int>::max() - 1
                            : logs_.lost.begin()->first.of.attempt;
}

void World::note_place(int attempt, const Trial& trial) {
  std::map<int, int>& first_ranks = readiness_.first_ranks[attempt];
  first_ranks.clear();
  for (const PlannedHost& planned : trial.hosts)
    first_ranks[number_of(planned.host.name)] = planned.first_rank;
}

// The first hosts that have not failed. Where an attempt has had too few of them and failed for
// another reason, all serve again.
std::optional<NextPlace> World::next_place(Supervisor& supervisor, const RunOutcome& outcome) {
  const std::size_t failed_before = supervisor.failed.size();
  std::vector<Failure> failures = outcome.others;
  if (outcome.cause) failures.push_back(*outcome.cause);
  bool is_any = false;
  for (const Failure& failure : failures) {
    if (failure.host < 0 || failure.error.error_class != ErrorClass::host) continue;
    is_any = true;
    supervisor.failed.insert(supervisor.driver->hosts().of_task(failure.host));
    supervisor.left_out.insert(supervisor.driver->hosts().of_task(failure.host));
  }
  const auto wanted = static_cast<std::size_t>(readiness_.hosts);
  const std::size_t present = supervisor.plan.trial.hosts.size();
  const bool may_grow = scenario_.shrinks && !is_any && present < wanted;
  if (may_grow) supervisor.left_out.clear();
  std::vector<int> left;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (!supervisor.left_out.contains(host)) left.push_back(host);
  if ((!is_any && !may_grow) || left.empty()) return std::nullopt;
  if (left.size() < wanted && !scenario_.shrinks) return std::nullopt;
  left.resize(std::min(left.size(), wanted));
  auto next = std::make_shared<Plan>(supervisor.plan);
  next->trial = scenario_.trial_on(left);
  return NextPlace{std::move(next), scenario_.ports, environment_of,
                   supervisor.failed.size() > failed_before};
}

std::vector<Host> World::all_hosts() const {
  std::vector<Host> hosts(hosts_.size());
  for (std::size_t host = 0; host < hosts.size(); ++host)
    hosts[host].name = "h" + std::to_string(host);
  return hosts;
}

// As its recorder does: whoever is cut off from all hosts finds out there.
void World::watch_registry(Supervisor& supervisor) {
  time_.at(time_.now() + registry_watch, [this, &supervisor] {
    supervisor.process.run([this, &supervisor] {
      if (supervisor.driver->over() || supervisor.driver->displacement() != nullptr) return;
      if (supervisor.journal.is_displaced()) return supervisor.driver->displace({});
      watch_registry(supervisor);
    });
  });
}

// Its process ends.
void World::displaced(Supervisor& supervisor, const TaskDriver::Displacement& by) {
  if (&supervisor == &now()) complaints_.push_back("a launcher left that nobody has replaced");
  told_by_hosts_ += !by.host.empty();
  supervisor.left_at = time_.now();
  supervisor.process.leave();
  time_.at(time_.now(), [&supervisor] { supervisor.transport.die(false); });
}

// Every one, in order, and each once.
void World::reported(Supervisor& supervisor, const MetricsReport& report) {
  const AttemptId of{0, supervisor.driver->task().attempt()};
  if (supervisor.output.is_unsure({of, report.rank, true})) return;
  std::string wanted = report_line(report.rank, supervisor.reports[report.rank]++);
  std::erase_if(wanted, [](char c) { return c == ' ' || c == '\n'; });
  if (report.json != wanted) complaints_.push_back("a report is lost, or told twice");
}

// A launcher that another one has taken over from is nobody's any more.
TaskDriver::Hooks World::hooks_of(Supervisor& supervisor) {
  const auto is_now = [this, &supervisor] { return &supervisor == &now(); };
  TaskDriver::Hooks hooks;
  hooks.on_report = [this, &supervisor](const MetricsReport& report) {
    reported(supervisor, report);
  };
  hooks.on_ignored_lines = [&supervisor](std::uint64_t lines) {
    supervisor.ignored_lines += lines;
  };
  hooks.on_attempt = [this, is_now, &supervisor](int attempt, std::optional<milliseconds>) {
    supervisor.reports.clear();
    supervisor.ignored_lines = 0;
    if (!is_now()) return;
    attempts_ = std::max(attempts_, attempt + 1);
    losses_seen_ = 0;
  };
  hooks.on_new_place = [this, is_now, &supervisor](const Plan& next) {
    const int ranks = std::exchange(supervisor.plan.trial, next.trial).world_size;
    if (!is_now()) return;
    ++moves_;
    shrunk_ += next.trial.world_size < ranks ? 1 : 0;
    grown_ += next.trial.world_size > ranks ? 1 : 0;
    note_place(supervisor.driver->task().attempt(), next.trial);
  };
  hooks.on_attempt_over = [this, is_now](int attempt, const RunOutcome& outcome) {
    if (is_now() && scenario_.max_restarts > 0) check_output(complaints_, attempt, outcome);
  };
  hooks.on_displaced = [this, &supervisor](const TaskDriver::Displacement& by) {
    displaced(supervisor, by);
  };
  hooks.on_over = [this, is_now] {
    if (!is_now()) return;
    over_at_ = time_.now();
    now().driver->await_agents([] {});
  };
  return hooks;
}

void World::plan_events() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const HostScript& script = scenario_.hosts[static_cast<std::size_t>(host)];
    if (script.fault == HostFault::link_break)
      time_.at(script.fault_at, [this, host] { break_connections(host, {}); });
    for (const Cut& cut : script.cuts)
      if (scenario_.prints_steadily)
        time_.at(cut.end() + 2s, [this, host, cut] { check_flow(host, cut.end()); });
    for (const Break& each : script.breaks)
      time_.at(each.at, [this, host, each] { break_connections(host, each); });
  }
  for (const Instant interrupt : scenario_.interrupts)
    time_.at(interrupt, [this] {
      if (now().acts()) now().driver->stop(2);
    });
  if (scenario_.supervisor_dies)
    time_.at(*scenario_.supervisor_dies, [this] {
      if (driver().over()) return;
      lost_at_ = time_.now();
      now().transport.die(scenario_.supervisor_dies_silently);
    });
}

void World::break_connections(int host, const Break& how) {
  for (Supervisor& each : supervisors_) each.transport.break_connections(host, how);
}

void World::plan_death(Supervisor& supervisor, const SupervisorDeath& death) {
  const auto happens = [this, &supervisor, death] { died(supervisor, death); };
  if (!death.at) return supervisor.process.die_at_action(death.at_action, happens);
  time_.at(time_.now() + *death.at, [&supervisor, happens] {
    if (supervisor.driver->over() || supervisor.process.is_dead()) return;
    happens();
  });
}

// Every host was told to start, and can be talked to.
bool World::have_ranks_met(const Supervisor& supervisor) const {
  const TaskDriver& driver = *supervisor.driver;
  const AttemptId of{0, driver.task().attempt()};
  for (const int host : driver.hosts().of_task()) {
    const auto& attempts = hosts_[static_cast<std::size_t>(host)].agent().attempts();
    const auto attempt = attempts.find(of);
    const bool has_started = attempt != attempts.end() && attempt->second.status().has_started;
    if (!has_started || !driver.connections().is_up(host)) return false;
  }
  return true;
}

void World::died(Supervisor& supervisor, const SupervisorDeath& when) {
  // Who adopts the task reads its logs first.
  SupervisorDeath death = when;
  const Instant readable = scenario_.logs_answer(time_.now() + death.unattended);
  if (readable < HostScript::never) death.unattended = readable - time_.now();
  // Whoever dies may not have met them yet.
  const nanoseconds away =
      death.unattended <= 3s ? death.unattended : unattended_ + death.unattended;
  are_deaths_soft_ = are_deaths_soft_ && !death.freezes && away <= scenario_.soft_loss() &&
                     have_ranks_met(supervisor);
  lost_at_ = time_.now();
  if (death.freezes)
    supervisor.process.freeze();
  else
    supervisor.transport.die(death.silently);
  time_.at(time_.now() + death.unattended,
           [this, &supervisor, death] { adopt(supervisor, death); });
}

// As the command does that adopts a task: under a lock, which a frozen launcher has lost here.
void World::adopt(Supervisor& before, const SupervisorDeath& death) {
  unattended_ += death.unattended;
  const Instant booted = death.silently ? time_.now() : before.booted;
  const std::string boot_id = death.silently ? before.boot_id + "+" : before.boot_id;
  if (death.silently) {  // what was not on the disk is lost
    disk_.entries.resize(disk_.durable + chance_.below(disk_.entries.size() - disk_.durable + 1));
    logs_.lose_power();
  }
  logs_.synced = logs_.written;
  std::vector<JournalEntry> entries;
  for (const std::string& line : disk_.entries) entries.push_back(*decode_entry(line));
  auto known = replay(entries, Task::rules_of(plan_.experiment), time_.now() - booted, boot_id,
                      on_the_wall());
  is_ended_ = known && known->over;
  const bool has_started = known && (known->first().attempt > 0 || known->first().go);
  const bool is_readable = scenario_.logs_answer(time_.now()) < HostScript::never;
  if (is_ended_ || !has_started || !is_readable || disk_.entries.size() >= scenario_.journal_room) {
    if (!death.freezes) return;
    lost_at_ = time_.now();
    before.transport.die(false);
    return before.process.thaw();
  }
  TaskDriver::Resumption resume{std::move(*known), known->epoch + 1, {}};
  for (int rank = 0; rank < ranks_of(resume.replay); ++rank)
    resume.left[0].positions.push_back(logs_.position({{0, resume.replay.first().attempt}, rank}));
  take_over_metrics(resume);
  entries.push_back({journal_record::Supervised{resume.epoch}, time_.now() - booted, boot_id});
  disk_.entries.push_back(encode_entry(entries.back()));
  disk_.durable = disk_.entries.size();
  logs_.adopted_attempt = resume.replay.first().attempt;
  lost_at_.reset();
  adopted_.push_back(kind_of(resume.replay));
  before.output.displace();
  if (death.freezes) thaw_later(before);
  begin_supervisor(booted, boot_id, std::move(resume));
  check_start(entries);
}

int World::ranks_of(const Replay& replay) const {
  const auto& place = replay.first().place;
  return place ? train::ranks_of(*place) : plan_.trial.world_size;
}

// The metrics come behind what is printed, and with them the lines that have not ended.
void World::take_over_metrics(TaskDriver::Resumption& resume) const {
  for (int rank = 0; rank < ranks_of(resume.replay); ++rank) {
    const std::uint64_t end = logs_.position({{0, resume.replay.first().attempt}, rank, true});
    resume.left[0].positions.push_back(end);
    OutputChunk chunk;
    chunk.rank = rank;
    chunk.stream = OutputStream::metrics;
    chunk.bytes = report_bytes(rank, end - end % report_size, end % report_size);
    resume.left[0].last_output.push_back(std::move(chunk));
  }
}

// Some hosts may know of the new one by then, or none.
void World::thaw_later(Supervisor& frozen) {
  time_.at(time_.now() + chance_.up_to(20s), [this, &frozen] {
    frozen.thawed_at = time_.now();
    frozen.process.thaw();
  });
}

// What is left is a slow disk that a launcher has given up.
bool World::is_all_gone() {
  return driver().over() && std::all_of(hosts_.begin(), hosts_.end(), [](const FakeHost& host) {
           return host.dead() || host.agent().gone();
         });
}

void World::play() {
  constexpr std::uint64_t most_events = 10'000'000;
  // Agents to which nobody comes back go at last.
  const nanoseconds longest =
      3600s + (scenario_.waits_for_ever() ? nanoseconds(Agent::idle_limit) : scenario_.fence());
  while (!endless_ && time_.step()) {
    const bool is_late = ++events_ > most_events || time_.now() > longest;
    if (is_late && is_all_gone()) return;
    endless_ = is_late;
    check_losses();
    if (scenario_.has_journal) check_replay();
  }
}

}  // namespace train::simulation
