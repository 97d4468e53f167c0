// SPDX-License-Identifier: Apache-2.0
// What must hold at the end of every simulated run.
#include <algorithm>
#include <set>

#include "launcher/agent/agent.hpp"
#include "tests/launcher/simulation/world.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

// Whether anything was done to this host that a launcher may hold against it.
bool is_suspect(const HostScript& host) {
  return host.fault != HostFault::none || host.port_taken_at || host.unreachable || host.refuses ||
         host.miscounts_ports || host.context_fails || host.check_delay > 50s || host.has_outages();
}

// Words by which a launcher says that none of a host's ranks is left.
bool is_proof(const std::string& why) {
  return why.starts_with("out of reach") || why.starts_with("was started anew") ||
         why.starts_with("its agent has ended");
}

std::string of_rank(int rank) { return " (rank " + std::to_string(rank) + ")"; }
std::string of_host(int host) { return " (host " + std::to_string(host) + ")"; }

}  // namespace

const FakeProcess* World::process(int rank) const {
  return hosts_[static_cast<std::size_t>(host_of(rank))].process(rank);
}

std::vector<std::string> World::broken_promises() const {
  Lines broken = complaints_;
  check_end(broken);
  check_leftovers(broken);
  check_adoptions(broken);
  check_displaced(broken);
  if (is_unattended() || !driver().over()) return broken;
  check_survival(broken);
  check_runtime(broken);
  if (scenario_.max_restarts > 0) {
    check_restarts(broken);
    return broken;
  }
  check_verdict(broken);
  check_cause(broken);
  check_order(broken);
  check_ranks(broken);
  check_output(broken, 0, outcome());
  check_logins(broken);
  return broken;
}

// The fence: a launcher that says so may start the ranks elsewhere. A frozen machine runs nothing.
void World::check_losses() {
  if (!now().acts() || !has_run()) return;
  const auto& leftovers = run().outcome().leftovers;
  for (; losses_seen_ < leftovers.size(); ++losses_seen_) {
    const Leftover& lost = leftovers[losses_seen_];
    const int host = driver().hosts().of_task(lost.host);
    const FakeHost& fake = hosts_[static_cast<std::size_t>(host)];
    if (!is_proof(lost.why) || fake.dead() || fake.frozen()) continue;
    if (fake.alive() > 0)
      complaints_.push_back("a host is lost, and its ranks live" + of_host(host));
  }
}

// The network is back for two seconds.
void World::check_flow(int host, Instant healed) {
  const int node = driver().hosts().node_of(host);
  if (node == TrialHosts::elsewhere) return;
  const int rank = trial().hosts[static_cast<std::size_t>(node)].first_rank;
  if (driver().over() || !process(rank)->alive) return;
  if (now().output.last_taken(rank) < healed)
    complaints_.push_back("output does not flow two seconds after the network is back" +
                          of_host(host));
}

// A host to which nothing happens is let alone.
void World::check_logins(Lines& broken) const {
  if (!scenario_.deaths.empty()) return;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (!is_suspect(scenario_.hosts[static_cast<std::size_t>(host)]) &&
        now().transport.opened(host) > 1)
      broken.push_back("a host was logged in to again without need" + of_host(host));
}

// Every run ends, and soon after it was asked to.
void World::check_end(Lines& broken) const {
  if (endless_) broken.push_back("things go on for ever");
  if (is_unattended()) return;
  if (!over_at_) return broken.push_back("the run has not ended");
  if (now().transport.has_links()) broken.push_back("the run is over and keeps a host");
  const Run::Timing timing;
  const Connections::Timing connection;
  const Instant end = *over_at_;
  nanoseconds start = 15s + timing.prepare_limit + timing.answer_wait;
  if (scenario_.has_context) start += scenario_.context_packed.value_or(1s) + timing.unpack_limit;
  const nanoseconds stop = scenario_.notice + scenario_.grace + timing.stop_slack;
  // Where it is for ever, the user ends it.
  const nanoseconds silence = scenario_.waits_for_ever() ? last_interrupt() : scenario_.fence();
  const nanoseconds lost = connection.silence_limit + 2 * connection.heartbeat + silence +
                           silence / 1'000 + scenario_.outage_time();
  const bool is_flooded = std::any_of(scenario_.hosts.begin(), scenario_.hosts.end(),
                                      [](const HostScript& host) { return host.floods; });
  const nanoseconds blocked = is_flooded ? nanoseconds(timing.drain_limit) : output_time();
  const nanoseconds attempt =
      start + scenario_.longest_lifetime() + blocked + lost + stop + timing.finish_limit;
  // To be reached anew a host has the window, and the delays are short here. Others take its place
  // once its ranks must have ended.
  nanoseconds between = scenario_.window + 40s;
  const bool is_fenced = scenario_.spares > 0 && !scenario_.waits_for_ever();
  if (is_fenced)
    between += std::max(scenario_.fence(),
                        longest_silence_of_launcher + scenario_.notice + scenario_.grace);
  // Whoever adopts a task waits for its hosts once more.
  const nanoseconds adoptions = unattended_ + scenario_.deaths.size() * (attempt + between);
  if (end > most_attempts() * (attempt + between) + adoptions)
    broken.push_back("the run has ended late");
  if (!scenario_.deaths.empty()) return;
  const auto& interrupts = scenario_.interrupts;
  if (!interrupts.empty() && end > interrupts[0] + stop)
    broken.push_back("the run has ended late after an interrupt");
  // Where there is a notice, one of them may have ended that.
  const bool has_notice = scenario_.notice > milliseconds(0);
  const nanoseconds second = (has_notice ? scenario_.grace : milliseconds(0)) + timing.stop_slack;
  if (interrupts.size() > 1 && end > interrupts[1] + second)
    broken.push_back("the run has ended late after the second interrupt");
  const nanoseconds third = has_notice ? timing.stop_slack : milliseconds(0);
  if (interrupts.size() > 2 && end > interrupts[2] + third)
    broken.push_back("the run has not ended at the third interrupt");
  if (const auto limit = end_of_runtime(); limit && end > *limit + stop)
    broken.push_back("the run has ended late after its time");
}

// An attempt in which a host that had served well cannot be had does not count.
int World::most_attempts() const {
  const auto uncounted = scenario_.spares > 0 ? hosts_.size() * supervisors_.size() : 0;
  return scenario_.max_restarts + 1 + static_cast<int>(uncounted);
}

// By virtual time.
std::optional<Instant> World::end_of_runtime() const {
  const auto started = driver().task().started_at();
  if (!started || !scenario_.max_runtime) return std::nullopt;
  return now().booted + *started + *scenario_.max_runtime;
}

// Nobody stops a task for its time before that is over, however often its launcher has died. Where
// the machine was booted anew, whoever did may have been wrong about the wall clock.
void World::check_runtime(Lines& broken) const {
  const bool may_be_wrong = !scenario_.wall_jumps.empty() && now().booted > Instant(0);
  if (outcome().stop_signal != runtime_over || may_be_wrong) return;
  const auto end = end_of_runtime();
  // Instants of other boots are known to a millisecond.
  if (!end || *over_at_ + 1ms < *end)
    broken.push_back("a task was stopped for its time, and had more of it");
}

// Of ranks that print much to a launcher that writes slowly, or over a slow line.
nanoseconds World::output_time() const {
  const auto& hang = scenario_.logs_hang;
  nanoseconds stall{0};
  if (hang) stall = hang->length ? *hang->length : last_interrupt();
  return 30s + scenario_.write_time * now().output.taken() + scenario_.line_time() + stall;
}

nanoseconds World::last_interrupt() const {
  return scenario_.interrupts.empty() ? nanoseconds(0) : scenario_.interrupts.back();
}

Instant World::last_attended() const {
  return lost_at_ ? *lost_at_ : over_at_.value_or(time_.now());
}

// The state of the task is what its journal tells, after every step.
void World::check_replay() {
  Supervisor& each = now();
  if (!each.acts() || each.journal.has_failed()) return;
  const auto& appended = each.journal.appended();
  if (each.entries_seen < appended.size()) {
    for (; each.entries_seen < appended.size(); ++each.entries_seen)
      each.entries.push_back(*decode_entry(appended[each.entries_seen]));
    const auto known = replay(each.entries, Task::rules_of(plan_.experiment), each.replayed_at,
                              each.boot_id, each.replayed_wall);
    each.replayed = known ? known->first().task.snapshot() : render(known.error());
  }
  if (each.replayed != each.driver->task().snapshot())
    complaints_.push_back("the journal tells of another task: " + each.replayed + " instead of " +
                          each.driver->task().snapshot());
}

// Whoever adopts a task knows when its ranks were first told to start. Over boots of the machine
// that is as wrong as the wall clock, which has been set meanwhile, and never in the future.
void World::check_start(const std::vector<JournalEntry>& entries) {
  const Supervisor& adopter = now();
  for (const JournalEntry& entry : entries) {
    if (!std::holds_alternative<journal_record::RanksStarted>(entry.record)) continue;
    const auto writer =
        std::find_if(supervisors_.begin(), supervisors_.end(),
                     [&](const Supervisor& each) { return each.boot_id == entry.boot_id; });
    Instant expected = writer->booted + entry.at;
    const nanoseconds set = on_the_wall() - time_.now() - (*entry.wall - expected);
    if (writer->boot_id != adopter.boot_id) expected = std::min(expected - set, time_.now());
    const auto known = adopter.driver->task().started_at();
    if (!known || std::chrono::abs(adopter.booted + *known - expected) > 2ms)
      complaints_.push_back("a launcher is wrong about when the task has begun");
    return;
  }
}

// An attempt whose ranks were started is in the journal, and there are no more than there may be.
void World::check_adoptions(Lines& broken) const {
  if (!scenario_.has_journal) return;
  std::set<int> started;
  for (const std::string& line : disk_.entries) {
    const auto entry = decode_entry(line);
    if (const auto* go = std::get_if<journal_record::RanksStarted>(&entry->record))
      if (!started.insert(go->go.of.attempt).second)
        broken.push_back("ranks were started twice in one attempt");
  }
  if (static_cast<int>(started.size()) > scenario_.max_restarts + 1)
    broken.push_back("ranks were started in more attempts than there may be");
  for (const FakeHost& host : hosts_)
    for (const auto& [id, process] : host.processes())
      if (!started.contains(id.of.attempt))
        broken.push_back("a rank was started that no journal has" + of_rank(id.rank));
}

// There are never two that act: one that was replaced finds it out and leaves.
void World::check_displaced(Lines& broken) const {
  for (const Supervisor& each : supervisors_) {
    if (each.process.has_acted_after_leaving())
      broken.push_back("a launcher goes on that knows of another one");
    const bool is_old = each.thawed_at && &each != &now();
    if (is_old && (!each.left_at || *each.left_at > *each.thawed_at + registry_watch))
      broken.push_back("a launcher that was replaced stays");
  }
}

// Ranks that run do not notice that one launcher has followed another.
void World::check_survival(Lines& broken) const {
  const bool must_succeed = scenario_.is_undisturbed(Scenario::Deaths::allowed) &&
                            scenario_.failing_ranks().empty() && are_deaths_soft_ &&
                            scenario_.fence() >= 20s;
  if (must_succeed && !outcome().succeeded)
    broken.push_back("no success, but nothing went wrong other than that launchers died");
}

// At most as many attempts as there may be; a success is one of the last of them.
void World::check_restarts(Lines& broken) const {
  const RunOutcome& o = outcome();
  if (o.succeeded + o.stop_signal.has_value() + o.cause.has_value() != 1)
    broken.push_back("the verdict is not exactly one of success, interrupt and cause");
  if (attempts() > most_attempts()) broken.push_back("more attempts than there may be");
  for (int rank = 0; rank < trial().world_size; ++rank) {
    const FakeProcess* p = process(rank);
    const bool is_well = p != nullptr && p->ended_by_itself && p->code == 0;
    if (o.succeeded && !is_well) broken.push_back("a success, but not every rank exited with 0");
  }
  if (!scenario_.is_undisturbed() || o.succeeded) return;
  // Nothing but its ranks ends this task, and it ends when there is no attempt left.
  const bool is_last = attempts() == scenario_.max_restarts + 1;
  const bool never_started = end_of(o).any_started == false && attempts() == 1;
  const bool is_hopeless = end_of(o).left_processes || end_of(o).exit_code == 80;
  if (!is_last && !never_started && !is_hopeless && !scenario_.kills_hang())
    broken.push_back("a task ended with attempts left");
}

void World::check_verdict(Lines& broken) const {
  const RunOutcome& o = outcome();
  if (o.succeeded + o.stop_signal.has_value() + o.cause.has_value() != 1)
    broken.push_back("the verdict is not exactly one of success, interrupt and cause");
  bool all_well = true;
  for (int rank = 0; rank < trial().world_size; ++rank) {
    const FakeProcess* p = process(rank);
    all_well &= p != nullptr && p->ended_by_itself && p->code == 0;
  }
  if (o.succeeded && !all_well) broken.push_back("a success, but not every rank exited with 0");
  const bool must_succeed = scenario_.is_undisturbed() && scenario_.failing_ranks().empty();
  if (must_succeed && !o.succeeded) broken.push_back("no success, but nothing went wrong");
  if (o.stop_signal && o.stop_signal != runtime_over && scenario_.interrupts.empty())
    broken.push_back("an interrupt that nobody asked for");
}

void World::check_cause(Lines& broken) const {
  const RunOutcome& o = outcome();
  std::vector<Failure> all = o.others;
  if (o.cause) all.push_back(*o.cause);
  for (const Failure& failure : all) {
    if (!failure.rank && failure.host < 0) {
      const bool is_writable = scenario_.journal_room == SIZE_MAX;
      if (is_writable && (!scenario_.has_context || scenario_.context_packed))
        broken.push_back("the run failed, but no host and no rank");
      continue;
    }
    if (!failure.rank) {
      const bool was_attended = supervisors() == 1;
      if (was_attended && !is_suspect(scenario_.hosts[static_cast<std::size_t>(failure.host)]))
        broken.push_back("a host failed that nothing was done to" + of_host(failure.host));
      continue;
    }
    const FakeProcess* p = process(*failure.rank);
    const bool failed =
        p != nullptr && p->script->fails() && (p->ended_by_itself || !p->script->can_start);
    if (!failed) broken.push_back("a rank failed that did not" + of_rank(*failure.rank));
  }
  const auto failing = scenario_.failing_ranks();
  if (!scenario_.is_undisturbed() || failing.size() != 1) return;
  // A host that was out of reach meanwhile may have been lost before.
  const bool may_be_host = o.cause && !o.cause->rank && o.cause->host >= 0 &&
                           scenario_.hosts[static_cast<std::size_t>(o.cause->host)].has_outages();
  if (may_be_host && std::any_of(o.others.begin(), o.others.end(),
                                 [&](const Failure& other) { return other.rank == failing[0]; }))
    return;
  if (!o.cause || o.cause->rank != failing[0])
    broken.push_back("the one rank that failed is not the cause" + of_rank(failing[0]));
}

// A rank's failure is the cause only if no other rank has certainly failed before.
void World::check_order(Lines& broken) const {
  const RunOutcome& o = outcome();
  if (!o.cause || !o.cause->rank) return;
  const FakeProcess* first = process(*o.cause->rank);
  if (first == nullptr || !first->script->can_start) return;
  for (const Failure& other : o.others) {
    const FakeProcess* p = other.rank ? process(*other.rank) : nullptr;
    if (p == nullptr || !p->script->can_start) continue;
    const nanoseconds drift = drift_of(*o.cause->rank) + drift_of(*other.rank);
    if (p->died + o.cause->at.bound + other.at.bound + drift + 2ns < first->died)
      broken.push_back("another rank failed before the cause" + of_rank(*other.rank));
  }
}

// The bound of an instant is that of the round trip: since then the clocks may have gone apart.
nanoseconds World::drift_of(int rank) const {
  const int host = host_of(rank);
  return std::chrono::abs(
      scenario_.hosts[static_cast<std::size_t>(host)].drift(over_at_.value_or(time_.now())));
}

void World::check_ranks(Lines& broken) const {
  for (int rank = 0; rank < trial().world_size; ++rank) {
    const RankOutcome& told = outcome().ranks[static_cast<std::size_t>(rank)];
    const FakeProcess* p = process(rank);
    if (!told.code && !told.signal) continue;
    if (p == nullptr || p->code != told.code || p->signal != told.signal) {
      broken.push_back("a rank's end is not what was told" + of_rank(rank));
      continue;
    }
    if (told.usage != usage_after(rank, p->died - p->began))
      broken.push_back("what a rank has used is not what was told" + of_rank(rank));
    const nanoseconds wrong = std::chrono::abs(told.at->at + now().booted - p->died);
    if (wrong > told.at->bound + drift_of(rank) + 1ns)
      broken.push_back("a rank's end is not when it was told, within the bound" + of_rank(rank));
    if (told.state == RankOutcome::State::failed && !p->ended_by_itself)
      broken.push_back("a stopped rank counts as failed" + of_rank(rank));
    const auto heard = hosts_[static_cast<std::size_t>(host_of(rank))].stop_heard_at();
    const bool was_stopped = heard && p->died >= *heard;
    if (told.state == RankOutcome::State::stopped && !was_stopped)
      broken.push_back("a rank that ended by itself counts as stopped" + of_rank(rank));
    const bool is_named = outcome().cause && outcome().cause->rank == rank;
    if (is_named && told.state == RankOutcome::State::stopped)
      broken.push_back("a stopped rank is the cause" + of_rank(rank));
  }
}

// Some time after the end nothing lives on any host that still runs.
void World::check_leftovers(Lines& broken) const {
  const Instant end = last_attended();
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    const FakeHost& fake = hosts_[static_cast<std::size_t>(host)];
    const HostScript& script = scenario_.hosts[static_cast<std::size_t>(host)];
    if (fake.dead() || !fake.was_connected()) continue;
    if (script.kill_hangs) continue;  // what lives is told as a leftover
    // Without a fence they wait for somebody to attach, perhaps because nobody reads what they
    // print; so do those of a host that was out of reach when the user ended the task.
    const auto& attempts = fake.agent().attempts();
    const bool waits = std::any_of(attempts.begin(), attempts.end(),
                                   [](const auto& each) { return each.second.has_processes(); });
    const auto& given_up = outcome().leftovers;
    const bool is_known =
        is_unattended() ||
        std::any_of(given_up.begin(), given_up.end(), [this, host](const Leftover& left) {
          return driver().hosts().of_task(left.host) == host;
        });
    if (is_known && scenario_.waits_for_ever() && waits && !fake.gone_at()) continue;
    if (fake.alive() > 0) broken.push_back("processes are left behind" + of_host(host));
    if (!fake.gone_at()) {
      broken.push_back("an agent stays for ever" + of_host(host));
      continue;
    }
    const Instant thaw = script.fault_for ? script.fault_at + *script.fault_for : Instant(0);
    nanoseconds patience =
        std::max(nanoseconds(Agent::silence_limit),
                 scenario_.waits_for_ever() ? nanoseconds(Agent::idle_limit) : scenario_.fence());
    patience += std::chrono::abs(script.drift(patience));
    Instant since = std::max(end, thaw);
    if (scenario_.waits_for_ever()) {
      since += scenario_.longest_lifetime() + scenario_.line_time();
      // Ranks that had to wait with what they print lived longer.
      for (const auto& [id, process] : fake.processes()) since = std::max(since, process.died);
    }
    for (const Cut& cut : script.cuts) since = std::max(since, cut.end() + cut.stall);
    if (*fake.gone_at() > since + patience + scenario_.notice + scenario_.grace + 15s)
      broken.push_back("an agent stays too long" + of_host(host));
  }
}

// Of hosts that were not lost everything arrives; that it arrives once and in order, and nothing
// else does, is seen on arrival.
void World::check_output(Lines& broken, int attempt, const RunOutcome& outcome) const {
  std::vector<bool> lost(hosts_.size(), false);
  // What takes longer to come than the limit is not waited for.
  const bool is_well = scenario_.is_undisturbed() && scenario_.failing_ranks().empty() &&
                       output_time() < Run::Timing().drain_limit;
  for (const Leftover& leftover : outcome.leftovers) {
    const auto host = static_cast<std::size_t>(driver().hosts().of_task(leftover.host));
    if (leftover.survivors.empty() || !leftover.why.empty()) lost[host] = true;
    if (lost[host] && is_well && !scenario_.hosts[host].kill_hangs)
      broken.push_back("a host was given up that nothing was done to" +
                       of_host(static_cast<int>(host)));
  }
  for (int rank = 0; rank < trial().world_size; ++rank) {
    const int host = host_of(rank);
    const RankOfAttempt id{{trial().trial, attempt}, rank};
    const FakeProcess* p = hosts_[static_cast<std::size_t>(host)].process(id);
    if (p == nullptr || lost[static_cast<std::size_t>(host)]) continue;
    // Of what one launcher has lost, another one that has adopted the task hears no more.
    if (supervisors() > 1 && logs_.lost.contains(id)) continue;
    for (const std::size_t stream : {0u, 1u})
      if (now().output.received(id, stream) != p->printed[stream])
        broken.push_back("output is missing" + of_rank(rank));
    const RankOfAttempt metrics{id.of, rank, true};
    if (supervisors() > 1 && logs_.lost.contains(metrics)) continue;
    if (now().output.received(metrics, 0) != p->appended)
      broken.push_back("metrics are missing" + of_rank(rank));
  }
  check_reports(broken, attempt);
}

// All that has arrived is counted, and what was not ended is known as such.
void World::check_reports(Lines& broken, int attempt) const {
  std::uint64_t torn = 0;
  for (int rank = 0; rank < trial().world_size; ++rank) {
    const RankOfAttempt id{{trial().trial, attempt}, rank, true};
    if (logs_.lost.contains(id)) return;
    const std::uint64_t bytes = now().output.received(id, 0);
    const auto told = now().reports.find(rank);
    if ((told == now().reports.end() ? 0 : told->second) != bytes / report_size)
      broken.push_back("reports are lost, or told twice" + of_rank(rank));
    torn += bytes % report_size == 0 ? 0 : 1;
  }
  if (now().ignored_lines != torn) broken.push_back("lines are ignored that are reports");
}

}  // namespace train::simulation
