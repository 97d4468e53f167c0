// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/simulation/scenario.hpp"

#include <algorithm>

#include "launcher/context/context.hpp"
#include "tests/launcher/run/trial_of.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

// What may go wrong in a scenario.
struct Mix {
  bool rank_failure = false;
  bool many_rank_failures = false;
  bool host_fault = false;
  bool bad_start = false;
  bool interrupt = false;
  bool supervisor_death = false;
  bool short_outages = false;
  bool outages = false;
};

Mix random_mix(Chance& chance) {
  switch (chance.below(11)) {
    case 0:
      return {};
    case 7:
      return {.rank_failure = chance.one_in(4), .short_outages = true};
    case 8:
      return {.rank_failure = chance.one_in(4), .outages = true};
    case 9:
      return {.host_fault = chance.one_in(2),
              .interrupt = chance.one_in(2),
              .supervisor_death = chance.one_in(4),
              .outages = true};
    case 1:
      return {.rank_failure = true};
    case 2:
      return {.many_rank_failures = true};
    case 3:
      return {.host_fault = true};
    case 4:
      return {.bad_start = true, .interrupt = chance.one_in(4)};
    case 5:
      return {.rank_failure = chance.one_in(2), .interrupt = true};
    case 6:
      return {.rank_failure = chance.one_in(2), .supervisor_death = true};
    default:
      break;
  }
  return {.rank_failure = false,
          .many_rank_failures = chance.one_in(2),
          .host_fault = chance.one_in(2),
          .bad_start = chance.one_in(6),
          .interrupt = chance.one_in(3),
          .supervisor_death = chance.one_in(6)};
}

RankScript random_rank(Chance& chance) {
  RankScript rank;
  if (!chance.one_in(5)) rank.lifetime = chance.up_to(8s);
  rank.ignores_term = chance.one_in(5);
  rank.survives_kill = chance.one_in(30);
  rank.ends_well_on_term = chance.one_in(6);
  rank.term_delay = chance.up_to(chance.one_in(4) ? nanoseconds(3s) : nanoseconds(5ms));
  if (chance.one_in(2)) {
    rank.prints = static_cast<int>(chance.below(chance.one_in(6) ? 60 : 6));
    rank.print_bytes = static_cast<int>(chance.below(chance.one_in(6) ? 30'000 : 200));
  }
  rank.leaves_orphan = chance.one_in(6);
  return rank;
}

void make_fail(RankScript& rank, Chance& chance) {
  switch (chance.below(4)) {
    case 0:
      rank.signal = chance.one_in(2) ? 9 : 11;
      break;
    case 1:
      rank.can_start = !chance.one_in(2);
      [[fallthrough]];
    default:
      rank.code = 1 + static_cast<int>(chance.below(255));
      break;
  }
}

HostScript random_host(Chance& chance) {
  HostScript host;
  host.clock_ahead = chance.up_to(1'000'000s);
  host.latency = chance.up_to(chance.one_in(5) ? nanoseconds(300ms) : nanoseconds(2ms));
  host.jitter = chance.up_to(chance.one_in(5) ? nanoseconds(500ms) : nanoseconds(2ms));
  host.connect_delay = chance.up_to(chance.one_in(4) ? nanoseconds(4s) : nanoseconds(50ms));
  host.check_delay = chance.up_to(chance.one_in(4) ? nanoseconds(4s) : nanoseconds(20ms));
  host.start_delay = chance.up_to(chance.one_in(4) ? nanoseconds(2s) : nanoseconds(5ms));
  host.kill_hangs = chance.one_in(30);
  const std::uint64_t ranks = 1 + chance.below(3);
  for (std::uint64_t i = 0; i < ranks; ++i) host.ranks.push_back(random_rank(chance));
  return host;
}

void make_faulty(HostScript& host, Chance& chance) {
  static constexpr HostFault kinds[] = {HostFault::crash,          HostFault::freeze,
                                        HostFault::partition,      HostFault::link_break,
                                        HostFault::agent_failure,  HostFault::agent_killed,
                                        HostFault::agent_dismissed};
  static constexpr nanoseconds lengths[] = {1s, 5s, 12s, 20s, 50s, 90s};
  host.fault = kinds[chance.below(std::size(kinds))];
  host.fault_at = chance.up_to(10s);
  host.fault_for.reset();
  if (chance.one_in(6)) host.port_taken_at = chance.up_to(10s);
  const bool ends = host.fault == HostFault::freeze || host.fault == HostFault::partition ||
                    host.fault == HostFault::crash;
  if (ends && !chance.one_in(4)) host.fault_for = lengths[chance.below(6)];
}

void make_bad_start(HostScript& host, Chance& chance) {
  switch (chance.below(5)) {
    case 0:
      host.unreachable = true;
      break;
    case 1:
      host.check_delay = 30s + chance.up_to(60s);
      break;
    case 2:
      host.miscounts_ports = true;
      break;
    default:
      host.refuses = true;
      break;
  }
}

// Ranks that run long enough to see the network come back, and print all the while.
void run_long(RankScript& rank, nanoseconds at_least, Chance& chance) {
  rank.lifetime = at_least + chance.up_to(60s);
  rank.prints = 20 + static_cast<int>(chance.below(80));
  rank.print_bytes = static_cast<int>(chance.below(chance.one_in(6) ? 30'000 : 200));
}

void add_outages(HostScript& host, Chance& chance) {
  static constexpr nanoseconds lengths[] = {500ms, 3s, 7s, 12s, 16s, 25s, 45s, 62s, 90s};
  if (!chance.one_in(5)) host.login_time = chance.up_to(600ms);
  for (std::uint64_t left = 1 + chance.below(4); left > 0; --left) {
    const Instant at = chance.up_to(chance.one_in(4) ? 4s : 60s);
    if (chance.one_in(3)) host.breaks.push_back({at, !chance.one_in(3), !chance.one_in(3)});
    if (chance.one_in(3)) continue;
    Cut cut{at + chance.up_to(chance.one_in(2) ? 0s : 6s), lengths[chance.below(9)]};
    cut.to_host = !chance.one_in(4);
    cut.to_supervisor = !cut.to_host || !chance.one_in(4);
    if (chance.one_in(2)) cut.stall = chance.up_to(10s);
    host.cuts.push_back(cut);
  }
}

// The newest answer that an agent knows to have come may be two heartbeats old when the network
// goes, and its ranks are told to end some time before the window is over.
nanoseconds longest_short_cut(const Scenario& scenario) {
  const nanoseconds last_call = std::min(scenario.notice + scenario.grace, scenario.window / 4);
  return scenario.window - last_call - 4s - 2s;
}

// Hosts of which nothing is known but that the network goes and comes back in time.
void add_short_outages(Scenario& scenario, HostScript& host, Chance& chance) {
  Instant at = 4s;
  for (std::uint64_t left = 1 + chance.below(3); left > 0; --left) {
    at += chance.up_to(5s);
    if (chance.one_in(3)) {
      const bool supervisor_hears = !chance.one_in(3);
      host.breaks.push_back({at, supervisor_hears && chance.one_in(2), supervisor_hears});
      at += 12s;
      continue;
    }
    Cut cut{at, chance.up_to(longest_short_cut(scenario))};
    cut.to_host = !chance.one_in(4);
    cut.to_supervisor = !cut.to_host || !chance.one_in(4);
    cut.stall = chance.up_to(std::min(cut.length, nanoseconds(8s)));
    // A launcher that hears its host does not look for another connection.
    if (!cut.to_supervisor)
      cut.stall = std::min(cut.stall, longest_short_cut(scenario) - cut.length);
    host.cuts.push_back(cut);
    at = cut.end() + cut.stall + 8s;
  }
}

void make_short_outages(Scenario& scenario, Chance& chance) {
  scenario.outages_are_short = true;
  scenario.window = chance.one_in(2) ? 20s : 60s;
  for (HostScript& host : scenario.hosts) {
    host.latency = std::min(host.latency, nanoseconds(20ms));
    host.jitter = std::min(host.jitter, nanoseconds(20ms));
    host.connect_delay = host.check_delay = 20ms;
    host.start_delay = 5ms;
    if (!chance.one_in(3)) add_short_outages(scenario, host, chance);
  }
}

void give_context(Scenario& scenario, bool may_fail, Chance& chance) {
  scenario.has_context = true;
  // A few are larger than what may be on its way, some are a few pieces, most are hardly one.
  scenario.context_size = chance.below(chance.one_in(150)  ? 8u << 20
                                       : chance.one_in(10) ? 700u << 10
                                                           : 5'000);
  if (chance.one_in(4)) scenario.context_size -= scenario.context_size % context_piece_size;
  if (!may_fail || !chance.one_in(3))
    scenario.context_packed = chance.up_to(chance.one_in(6) ? nanoseconds(70s) : nanoseconds(2s));
  for (HostScript& host : scenario.hosts) {
    host.lacks_context = !chance.one_in(3);
    host.context_fails = may_fail && chance.one_in(6);
  }
}

// How long ranks go on without a launcher. Where that is for ever, and a host may be so for ever,
// the user ends the task at last.
void give_launcher_wait(Scenario& scenario, Chance& chance) {
  static constexpr milliseconds waits[] = {brief_launcher_wait, 30s, 120s, for_ever};
  scenario.launcher_wait = waits[chance.below(4)];
  if (scenario.launcher_wait > brief_launcher_wait)
    for (SupervisorDeath& death : scenario.deaths)
      if (chance.one_in(3)) death.unattended = chance.up_to(150s);
  if (!scenario.waits_for_ever()) return;
  if (!scenario.is_undisturbed(Scenario::Deaths::allowed))
    for (const Instant late : {900s, 1'100s, 1'300s}) scenario.interrupts.push_back(late);
}

// Where it is for ever, ranks may wait for it, and the user ends the task at last.
void hang_logs(Scenario& scenario, Chance& chance) {
  static constexpr nanoseconds lengths[] = {3s, 8s, 40s, 130s};
  LogsHang hang{chance.up_to(20s), {}};
  if (!chance.one_in(3)) hang.length = lengths[chance.below(4)];
  if (!hang.length)
    for (const Instant late : {300s, 400s, 500s}) scenario.interrupts.push_back(late);
  scenario.logs_hang = hang;
}

// Of chances of its own, so that all else of a scenario is as it would be without.
void give_clocks_and_deaths(Scenario& scenario) {
  constexpr int most = 1'000;
  Chance chance(scenario.seed * 7 + 6);
  if (chance.one_in(3)) return;
  for (HostScript& host : scenario.hosts) {
    if (chance.one_in(3)) host.death_time = chance.up_to(1'500ms);
    const int slow_to_fast = static_cast<int>(chance.below(2 * most + 1)) - most;
    host.clock_ppm = chance.one_in(3) ? (slow_to_fast < 0 ? -most : most) : slow_to_fast;
  }
}

void give_wall_jumps(Scenario& scenario) {
  static constexpr nanoseconds jumps[] = {1ms, 3s, 3600s, 24h, 240h, 50'000h};
  Chance chance(scenario.seed * 11 + 9);
  if (!chance.one_in(3)) return;
  for (std::uint64_t left = 1 + chance.below(3); left > 0; --left) {
    const nanoseconds by = jumps[chance.below(6)];
    scenario.wall_jumps.push_back({chance.up_to(60s), chance.one_in(2) ? by : -by});
  }
}

// As well.
void give_ending(Scenario& scenario) {
  Chance chance(scenario.seed * 5 + 4);
  static constexpr milliseconds notices[] = {300ms, 3s, 9s};
  if (chance.one_in(4)) scenario.notice = notices[chance.below(3)];
  if (chance.one_in(8))
    scenario.max_runtime = 1ms + std::chrono::floor<milliseconds>(chance.up_to(20s));
}

}  // namespace

Trial Scenario::trial() const {
  std::vector<int> used(hosts.size() - spares);
  std::iota(used.begin(), used.end(), 0);
  return trial_on(used);
}

Trial Scenario::trial_on(const std::vector<int>& used) const {
  std::vector<int> ranks;
  for (const int host : used)
    ranks.push_back(static_cast<int>(hosts[static_cast<std::size_t>(host)].ranks.size()));
  Trial trial = trial_of(ranks);
  for (std::size_t node = 0; node < used.size(); ++node)
    trial.hosts[node].host.name = "h" + std::to_string(used[node]);
  return trial;
}

bool Scenario::is_undisturbed(Deaths deaths_are) const {
  const bool hosts_are_well = std::all_of(hosts.begin(), hosts.end(), [](const HostScript& host) {
    return host.fault == HostFault::none && !host.port_taken_at && !host.unreachable &&
           !host.refuses && !host.miscounts_ports && !host.context_fails && host.check_delay < 50s;
  });
  const bool has_outages = std::any_of(hosts.begin(), hosts.end(),
                                       [](const HostScript& host) { return host.has_outages(); });
  if (has_outages && (!outages_are_short || !deaths.empty())) return false;
  if (!deaths.empty() && deaths_are == Deaths::forbidden) return false;
  return hosts_are_well && (!has_context || context_packed) && interrupts.empty() && !max_runtime &&
         !supervisor_dies && journal_room == SIZE_MAX;
}

bool Scenario::kills_hang() const {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const HostScript& host) { return host.kill_hangs; });
}

std::optional<Instant> HostScript::cut_until(Way way, Instant now) const {
  if (has_fault(HostFault::partition, now)) return fault_for ? fault_at + *fault_for : never;
  for (const Cut& cut : cuts)
    if (cut.is_of(way) && now >= cut.at && now < cut.end()) return cut.end() + cut.stall;
  return std::nullopt;
}

// Agents know of an answer that came when it is two heartbeats old; who adopts the task logs in
// anew.
nanoseconds Scenario::soft_loss() const {
  if (waits_for_ever()) return Instant::max();
  const nanoseconds last_call = std::min(notice + grace, fence() / 4);
  return std::min(nanoseconds(launcher_wait) - 2s, nanoseconds(fence()) - last_call - 8s);
}

nanoseconds Scenario::outage_time() const {
  nanoseconds time{0};
  for (const HostScript& host : hosts) {
    for (const Cut& cut : host.cuts) time += cut.length + cut.stall + 10s;
    time += 10s * host.breaks.size();
  }
  return time;
}

Instant Scenario::logs_answer(Instant asked) const {
  if (!logs_hang || asked < logs_hang->at) return asked;
  if (!logs_hang->length) return HostScript::never;
  return std::max(asked, logs_hang->at + *logs_hang->length);
}

std::vector<int> Scenario::failing_ranks() const {
  std::vector<int> failing;
  int rank = 0;
  for (const HostScript& host : hosts)
    for (const RankScript& script : host.ranks) {
      if (script.fails()) failing.push_back(rank);
      ++rank;
    }
  return failing;
}

nanoseconds Scenario::longest_lifetime() const {
  nanoseconds longest{0};
  for (const HostScript& host : hosts)
    for (const RankScript& rank : host.ranks) longest = std::max(longest, rank.lifetime);
  return longest;
}

nanoseconds Scenario::wall_shift(Instant now) const {
  nanoseconds shift{0};
  for (const WallJump& jump : wall_jumps)
    if (now >= jump.at) shift += jump.by;
  return shift;
}

nanoseconds Scenario::line_time() const {
  nanoseconds longest{0};
  for (const HostScript& host : hosts) {
    std::int64_t bytes = 0;
    constexpr int most_appended = 64;  // to its metrics, with each print
    for (const RankScript& rank : host.ranks)
      bytes += std::int64_t{rank.prints} * (rank.print_bytes + (has_metrics ? most_appended : 0));
    if (host.bytes_per_second > 0)
      longest = std::max(longest, nanoseconds(bytes * 2'000'000'000 /
                                              static_cast<std::int64_t>(host.bytes_per_second)));
  }
  return longest;
}

Scenario scenario_of(std::uint64_t seed) {
  Chance chance(seed);
  Scenario scenario;
  scenario.seed = seed;
  const std::uint64_t hosts = 1 + chance.below(5);
  for (std::uint64_t i = 0; i < hosts; ++i) scenario.hosts.push_back(random_host(chance));
  const auto any_host = [&]() -> HostScript& { return scenario.hosts[chance.below(hosts)]; };
  const auto any_rank = [&]() -> RankScript& {
    auto& ranks = any_host().ranks;
    return ranks[chance.below(ranks.size())];
  };
  const Mix mix = random_mix(chance);
  if (mix.rank_failure) make_fail(any_rank(), chance);
  for (std::uint64_t i = 0; mix.many_rank_failures && i < 4; ++i) make_fail(any_rank(), chance);
  for (std::uint64_t i = 0; mix.host_fault && i < 2; ++i)
    if (i == 0 || chance.one_in(3)) make_faulty(any_host(), chance);
  for (std::uint64_t i = 0; mix.bad_start && i < 3; ++i)
    if (i == 0 || chance.one_in(2)) make_bad_start(any_host(), chance);
  if (mix.interrupt) {
    scenario.interrupts.push_back(chance.up_to(10s));
    while (scenario.interrupts.size() < 3 && chance.one_in(2))
      scenario.interrupts.push_back(scenario.interrupts.back() + chance.up_to(6s));
  }
  if (mix.supervisor_death) {
    scenario.supervisor_dies = chance.up_to(10s);
    scenario.supervisor_dies_silently = chance.one_in(2);
  }
  scenario.grace = milliseconds(chance.below(4) * 2'500);
  give_ending(scenario);
  give_clocks_and_deaths(scenario);
  scenario.write_delay = chance.up_to(chance.one_in(4) ? nanoseconds(200ms) : nanoseconds(1ms));
  if (chance.one_in(2)) scenario.output_capacity = 100'000;
  scenario.ports = {.rendezvous = chance.one_in(2),
                    .megascale_host = chance.one_in(3) ? static_cast<int>(chance.below(hosts)) : -1,
                    .workers = chance.one_in(2)};
  static constexpr milliseconds windows[] = {0s, 12s, 20s, 60s};
  scenario.window = windows[chance.below(4)];
  if (mix.short_outages) make_short_outages(scenario, chance);
  for (HostScript& host : scenario.hosts) {
    if (mix.outages && !chance.one_in(3)) add_outages(host, chance);
    if (!mix.outages && !mix.short_outages) continue;
    for (RankScript& rank : host.ranks)
      if (!chance.one_in(6)) run_long(rank, 5s, chance);
  }
  if (!mix.short_outages && chance.one_in(3)) give_context(scenario, mix.bad_start, chance);
  if (chance.one_in(20)) scenario.write_time = chance.up_to(3s);
  static constexpr std::uint64_t rooms[] = {0, 60'000, 400'000, 1u << 30};
  scenario.spool_room = rooms[chance.below(4)];
  scenario.spool_time = chance.up_to(chance.one_in(4) ? nanoseconds(100ms) : nanoseconds(1ms));
  if (chance.one_in(20)) hang_logs(scenario, chance);
  scenario.has_metrics = chance.one_in(2);
  return scenario;
}

Scenario restarts_of(std::uint64_t seed) {
  Chance chance(seed * 2 + 1);
  Scenario scenario = scenario_of(seed);
  scenario.max_restarts = 1 + static_cast<int>(chance.below(4));
  static constexpr milliseconds delays[] = {0ms, 10ms, 1s};
  scenario.restart_delay = delays[chance.below(3)];
  // The output of all attempts is written before an hour has passed.
  scenario.write_time = std::min(scenario.write_time, nanoseconds(300ms));
  if (chance.one_in(2)) make_fail(scenario.hosts.front().ranks.front(), chance);
  for (HostScript& host : scenario.hosts) {
    if (!chance.one_in(4)) host.kill_hangs = host.unreachable = false;
    for (RankScript& rank : host.ranks) {
      if (!chance.one_in(4)) rank.survives_kill = false;
      rank.fails_until = static_cast<int>(chance.below(6));
    }
  }
  return scenario;
}

Scenario moves_of(std::uint64_t seed) {
  Chance chance(seed * 7 + 6);
  Scenario scenario = restarts_of(seed);
  while (scenario.hosts.size() < 4) scenario.hosts.push_back(scenario.hosts.front());
  scenario.spares = 1 + chance.below(scenario.hosts.size() - 1);
  scenario.ports.megascale_host = -1;
  if (scenario.waits_for_ever()) scenario.launcher_wait = brief_launcher_wait;
  std::size_t host_number = 0;
  for (HostScript& host : scenario.hosts) {
    host.ranks.resize(scenario.hosts.front().ranks.size(), host.ranks.front());
    host.kill_hangs = false;
    host.unreachable = host_number++ > 0 && chance.one_in(5);
    if (host.fault != HostFault::none || chance.one_in(3)) continue;
    static constexpr HostFault faults[] = {HostFault::crash, HostFault::freeze,
                                           HostFault::partition, HostFault::agent_killed};
    host.fault = faults[chance.below(4)];
    host.fault_at = chance.up_to(20s);
    if (chance.one_in(2)) host.fault_for = chance.up_to(100s);
  }
  for (HostScript& host : scenario.hosts)
    for (RankScript& rank : host.ranks)
      if (chance.one_in(2)) run_long(rank, 2s, chance);
  // Without a window the agent of a machine that has stood still does not know for how long, and
  // leaves its ranks all of their grace.
  for (HostScript& host : scenario.hosts)
    if (scenario.window == 0ms && host.fault == HostFault::freeze) host.fault_for.reset();
  scenario.shrinks = chance.one_in(2);
  return scenario;
}

Scenario adoptions_of(std::uint64_t seed) {
  Chance chance(seed * 3 + 2);
  Scenario scenario = chance.one_in(3)   ? moves_of(seed)
                      : chance.one_in(2) ? restarts_of(seed)
                                         : scenario_of(seed);
  scenario.supervisor_dies.reset();
  scenario.has_journal = true;
  if (chance.one_in(3)) scenario.restart_delay = 3s;
  if (scenario.window == milliseconds(0)) scenario.window = 20s;
  if (chance.one_in(8)) scenario.journal_room = chance.below(9);
  scenario.journal_time = chance.up_to(chance.one_in(5) ? nanoseconds(3s) : nanoseconds(20ms));
  scenario.write_time = std::min(scenario.write_time, nanoseconds(300ms));
  for (HostScript& host : scenario.hosts) {
    if (!chance.one_in(4)) host.kill_hangs = host.unreachable = false;
    for (RankScript& rank : host.ranks)
      if (chance.one_in(2)) run_long(rank, 2s, chance);
  }
  static constexpr nanoseconds longest[] = {500ms, 3s, 3s, 3s, 8s, 100s};
  for (std::uint64_t left = 1 + chance.below(3); left > 0; --left) {
    SupervisorDeath death;
    if (chance.one_in(2))
      death.at = chance.up_to(chance.one_in(3) ? 60s : 12s);
    else
      death.at_action = 1 + chance.below(chance.one_in(3) ? 2'000 : 100);
    death.silently = chance.one_in(4);
    death.freezes = death.at && !death.silently && chance.one_in(5);
    death.unattended = chance.up_to(longest[chance.below(6)]);
    scenario.deaths.push_back(death);
  }
  give_launcher_wait(scenario, chance);
  give_wall_jumps(scenario);
  return scenario;
}

}  // namespace train::simulation
