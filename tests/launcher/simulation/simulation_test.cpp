// SPDX-License-Identifier: Apache-2.0
// The real state machines against seeded trouble. TRAIN_SEED=n plays one scenario, TRAIN_SEEDS=n
// plays so many.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/launcher/simulation/world.hpp"

using namespace train;
using namespace train::simulation;
using namespace std::chrono_literals;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t usual_seeds = 10'000;  // of each kind
#else
constexpr std::uint64_t usual_seeds = 1'000;
#endif

std::optional<std::uint64_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

struct Seeds {
  std::optional<std::uint64_t> only;  ///< this one, to look at it
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};

Seeds wanted_seeds() {
  const auto only = number_from_environment("TRAIN_SEED");
  if (only) return {only, *only, 1};
  return {only, 1, number_from_environment("TRAIN_SEEDS").value_or(usual_seeds)};
}

std::string verdict_of(const World& world) {
  const RunOutcome& outcome = world.outcome();
  if (outcome.succeeded) return "succeeded";
  if (outcome.stop_signal == runtime_over) return "timeout";
  if (outcome.stop_signal) return "interrupted";
  if (!outcome.cause) return "launcher died";
  return outcome.cause->rank ? "rank failed" : "host failed";
}

// The changes of machines of one kind that have happened.
template <class State>
class Seen {
 public:
  explicit Seen(const StateTable<State>& table) : table_(table) {}
  void add(const TrackedState<State>& state) {
    const auto& path = state.path();
    for (std::size_t i = 1; i < path.size(); ++i) changes_.insert({path[i - 1], path[i]});
  }
  /// Those that the table allows and that never happened, a word each.
  std::string never() const {
    std::string words;
    for (const auto& row : table_.rows())
      for (const State next : row.next)
        if (!changes_.contains({row.state, next}))
          words += fmt::format(" {}->{}", row.name, table_.row(next).name);
    return words;
  }

 private:
  const StateTable<State>& table_;
  std::set<std::pair<State, State>> changes_;
};

struct SeenChanges {
  void add(const World& world) {
    if (!world.has_run()) return;
    run.add(world.run().phase());
    for (std::size_t i = 0; i < world.hosts().size(); ++i) {
      host.add(world.run().host_state(static_cast<int>(i)));
      agent.add(world.hosts()[i].agent().state());
      for (const auto& [of, each] : world.hosts()[i].agent().attempts()) attempt.add(each.state());
    }
  }
  Seen<RunPhase> run{run_phases()};
  Seen<HostState> host{host_states()};
  Seen<AgentState> agent{agent_states()};
  Seen<AgentAttemptState> attempt{agent_attempt_states()};
};

}  // namespace

TEST_CASE("every promise holds in thousands of troubled runs") {
  const auto [only, first, count] = wanted_seeds();
  std::map<std::string, int> verdicts;
  SeenChanges seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(scenario_of(seed));
    world.play();
    ++verdicts[verdict_of(world)];
    seen.add(world);
    for (const std::string& promise : world.broken_promises())
      FAIL_CHECK("TRAIN_SEED=" << seed << ": " << promise);
  }
  if (only) {
    SUCCEED("TRAIN_SEED=" << first << " was played: " << verdicts.begin()->first);
    return;
  }
  // A table allows what happens, or the machine throws, and nothing that never does.
  CHECK(seen.run.never() == "");
  CHECK(seen.host.never() == " preparing->running");  // between attempts, as below
  CHECK(seen.agent.never() == "");
  CHECK(seen.attempt.never() == " checking->killing");  // between attempts too
  // Scenarios that all ended alike would prove little.
  for (const char* verdict :
       {"succeeded", "interrupted", "launcher died", "rank failed", "host failed"}) {
    INFO(verdict);
    CHECK(verdicts[verdict] * 40 > static_cast<int>(count));
  }
}

TEST_CASE("every promise holds over the attempts of troubled tasks") {
  const auto [only, first, count] = wanted_seeds();
  std::map<int, int> attempts;
  int restarted_without_logs = 0;
  std::map<std::string, int> verdicts;
  Seen<AttemptState> seen(attempt_states());
  SeenChanges changes;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(restarts_of(seed));
    world.play();
    ++attempts[world.attempts()];
    restarted_without_logs += world.lost_in_attempt() + 1 < world.attempts();
    ++verdicts[verdict_of(world)];
    for (const auto& attempt : world.task().attempts()) seen.add(attempt);
    changes.add(world);
    for (const std::string& promise : world.broken_promises())
      FAIL_CHECK("TRAIN_SEED=" << seed << ": " << promise);
  }
  if (only) return;
  CHECK(seen.never() == "");
  CHECK(changes.host.never().find("preparing->running") == std::string::npos);
  CHECK(changes.attempt.never().find("checking->killing") == std::string::npos);
  for (const int number : {1, 2, 3, 4, 5}) {
    INFO(number << " attempts");
    CHECK(attempts[number] * 40 > static_cast<int>(count));
  }
  CHECK(restarted_without_logs * 800 > static_cast<int>(count));
  CHECK(verdicts["succeeded"] * 10 > static_cast<int>(count));
}

TEST_CASE("every promise holds when others take the place of hosts that fail") {
  const auto [only, first, count] = wanted_seeds();
  std::map<int, int> moves;
  int shrunk = 0;
  int grown = 0;
  std::map<std::string, int> verdicts;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(moves_of(seed));
    world.play();
    ++moves[std::min(world.moves(), 2)];
    shrunk += world.shrunk() > 0 ? 1 : 0;
    grown += world.grown() > 0 ? 1 : 0;
    ++verdicts[verdict_of(world)];
    for (const std::string& promise : world.broken_promises())
      FAIL_CHECK("TRAIN_SEED=" << seed << ": " << promise);
  }
  if (only) return;
  for (const int number : {0, 1, 2}) {
    INFO(number << " moves");
    CHECK(moves[number] * 20 > static_cast<int>(count));
  }
  CHECK(shrunk * 40 > static_cast<int>(count));
  CHECK(grown * 400 > static_cast<int>(count));
  for (const char* verdict : {"succeeded", "rank failed", "host failed"}) {
    INFO(verdict);
    CHECK(verdicts[verdict] * 40 > static_cast<int>(count));
  }
}

TEST_CASE("every promise holds when launchers die and others adopt their task") {
  const auto [only, first, count] = wanted_seeds();
  std::map<std::size_t, int> supervisors;
  std::map<std::string, int> adopted;
  int told_by_hosts = 0;
  int adopted_over_hangs = 0;
  std::map<std::string, int> verdicts;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(adoptions_of(seed));
    world.play();
    ++supervisors[world.supervisors()];
    for (const std::string& attempt : world.adopted()) ++adopted[attempt];
    told_by_hosts += world.told_by_hosts();
    adopted_over_hangs += world.do_logs_hang() && world.supervisors() > 1;
    ++verdicts[verdict_of(world)];
    for (const std::string& promise : world.broken_promises())
      FAIL_CHECK("TRAIN_SEED=" << seed << ": " << promise);
  }
  if (only) return;
  for (const char* attempt : {"running", "failing", "prepared", "waiting"}) {
    INFO("an attempt that was " << attempt);
    CHECK(adopted[attempt] * 2000 > static_cast<int>(count));
  }
  CHECK(told_by_hosts * 100 > static_cast<int>(count));
  CHECK(adopted_over_hangs * 200 > static_cast<int>(count));
  for (const std::size_t number : {1, 2, 3}) {
    INFO(number << " supervisors");
    CHECK(supervisors[number] * 20 > static_cast<int>(count));
  }
  for (const char* verdict : {"succeeded", "timeout", "rank failed", "host failed"}) {
    INFO(verdict);
    CHECK(verdicts[verdict] * 40 > static_cast<int>(count));
  }
}

namespace {

// A rank that prints three megabytes in a second, on a host to which nothing else happens.
Scenario printing_much() {
  Scenario scenario;
  scenario.seed = 1;
  scenario.grace = 1s;
  HostScript& host = scenario.hosts.emplace_back();
  host.latency = 1ms;
  RankScript& rank = host.ranks.emplace_back();
  rank.lifetime = 1s;
  rank.prints = 100;
  rank.print_bytes = 30'000;
  return scenario;
}

}  // namespace

TEST_CASE("a host whose output is written very slowly is waited for while some of it comes") {
  Scenario scenario = printing_much();
  scenario.write_time = 5s;  // of a chunk: all of them take longer than `finish_limit`
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  CHECK(world.outcome().succeeded);
}

TEST_CASE("a disk of the logs that hangs holds up a restart for 5 s, and the end no more") {
  const bool for_ever = GENERATE(true, false);
  Scenario scenario = printing_much();
  scenario.max_restarts = 1;
  scenario.restart_delay = 10ms;
  scenario.hosts[0].ranks[0].code = 3;
  scenario.hosts[0].ranks[0].fails_until = 1;
  scenario.hosts[0].ranks[0].print_bytes = 3'000;  // all of it may be on its way
  scenario.logs_hang = LogsHang{100ms, {}};
  if (!for_ever) scenario.logs_hang->length = 10min;
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  CHECK(world.outcome().succeeded);
  CHECK(world.attempts() == 2);
  REQUIRE(world.over_at());
  CHECK(*world.over_at() > 6s);
  CHECK(*world.over_at() < 8s);
}

TEST_CASE("a disk of the logs that hangs and comes back loses nothing of ranks that run") {
  Scenario scenario = printing_much();
  scenario.hosts[0].ranks[0].lifetime = 60s;
  scenario.output_capacity = 1'000'000;
  scenario.logs_hang = LogsHang{5s, 40s};
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  CHECK(world.outcome().succeeded);
  CHECK(world.logs().lost.empty());
  CHECK(bytes_of(world.logs().synced, {{}, 0}) == 3'000'000);
}

TEST_CASE("a host that prints for ever is given up, whatever becomes of its ranks") {
  const int code = GENERATE(0, 3);
  Scenario scenario = printing_much();
  scenario.hosts[0].kill_hangs = scenario.hosts[0].floods = true;
  scenario.hosts[0].ranks[0].prints = 1;
  scenario.hosts[0].ranks[0].code = code;
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  CHECK(world.outcome().succeeded == (code == 0));
  CHECK(world.outcome().leftovers.size() == 1);
}

// Its old connection carries on, so that no new one tells of it; the rank has no end to tell of.
TEST_CASE("a host that has stopped its ranks in an outage ends the run, also if they cannot die") {
  Scenario scenario = printing_much();
  scenario.window = 20s;
  HostScript& host = scenario.hosts[0];
  host.kill_hangs = true;
  host.cuts.push_back({5s, 21s});
  host.ranks[0].lifetime = 60s;
  host.ranks[0].ignores_term = host.ranks[0].survives_kill = true;
  World world(std::move(scenario));
  world.play();
  REQUIRE(world.broken_promises() == std::vector<std::string>());
  REQUIRE(world.outcome().cause);
  CHECK(world.outcome().cause->error.diagnostics.front().message ==
        "host 'h0': its agent stopped its ranks: it had not heard from this launcher for too long");
}

namespace {

// A host that is cut off for good, with a clock that goes slowly, and ranks that would go on.
Scenario cut_off(nanoseconds window, int clock_ppm, Instant at) {
  Scenario scenario = printing_much();
  scenario.window = std::chrono::duration_cast<milliseconds>(window);
  HostScript& host = scenario.hosts[0];
  host.clock_ppm = clock_ppm;
  host.latency = 300ms;
  host.death_time = 1'900ms;
  host.fault = HostFault::partition;
  host.fault_at = at;
  host.ranks[0].lifetime = 2 * window;
  host.ranks[0].ignores_term = true;
  return scenario;
}

}  // namespace

// What a launcher waits for beyond the window is 2 s, for a kill, and a thousandth of the window.
TEST_CASE("a lost host has killed its ranks, however its clock goes, and whatever the window is") {
  const nanoseconds window = GENERATE(as<nanoseconds>{}, 12s, 60s, 6'000s);
  const int clock_ppm = GENERATE(-1'000, 0, 1'000);
  // Also while a ping has arrived that tells of the last answer, and its own has not.
  const Instant at = 5s + 250ms * GENERATE(range(0, 8));
  CAPTURE(window.count(), clock_ppm, at.count());
  World world(cut_off(window, clock_ppm, at));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  REQUIRE(world.outcome().cause);
  CHECK(world.outcome().cause->error.diagnostics.front().message.starts_with(
      "host 'h0': out of reach for "));
}

TEST_CASE("a host is alive while its output comes, although its pongs are stuck behind it") {
  Scenario scenario = printing_much();
  scenario.hosts[0].bytes_per_second = 1'000;  // packed, a window of output takes most of a minute
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  CHECK(world.outcome().succeeded);
}

namespace {

// Hosts whose network goes and comes back in time, again and again, with logins of 300 ms.
Scenario steady_with_cuts(std::uint64_t seed) {
  Chance chance(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.grace = 10s;
  scenario.window = 60s;
  scenario.outages_are_short = scenario.prints_steadily = true;
  for (int i = 0; i < 3; ++i) {
    HostScript& host = scenario.hosts.emplace_back();
    host.latency = chance.up_to(20ms);
    host.jitter = chance.up_to(20ms);
    RankScript& rank = host.ranks.emplace_back();
    rank.lifetime = 120s;
    rank.prints = 300;
    rank.print_bytes = 1 + static_cast<int>(chance.below(1'000));
    for (Instant at = 3s + chance.up_to(20s); i < 2 && at < 110s;) {
      Cut cut{at, chance.up_to(chance.one_in(2) ? 44s : 8s)};
      cut.to_host = !chance.one_in(4);
      cut.to_supervisor = !cut.to_host || !chance.one_in(4);
      // A connection that is silent for less than five seconds is left to TCP.
      const nanoseconds longest_stall =
          cut.length < 4s ? 1s : std::min(cut.length, nanoseconds(10s));
      if (cut.to_supervisor) cut.stall = chance.up_to(longest_stall);
      host.cuts.push_back(cut);
      at = cut.end() + cut.stall + 8s + chance.up_to(10s);
    }
  }
  return scenario;
}

}  // namespace

TEST_CASE("output flows again two seconds after the network is back, and none is lost") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    World world(steady_with_cuts(seed));
    world.play();
    CHECK(world.broken_promises() == std::vector<std::string>());
    CHECK(world.outcome().succeeded);
  }
}

TEST_CASE("two thousand hosts of eight ranks start, run and end") {
  Scenario scenario;
  scenario.seed = 1;
  scenario.grace = 1s;
  Chance chance(2);
  for (int host = 0; host < 2'000; ++host) {
    HostScript& script = scenario.hosts.emplace_back();
    script.clock_ahead = chance.up_to(1'000s);
    script.latency = chance.up_to(1ms);
    script.connect_delay = chance.up_to(3s);
    RankScript rank;
    rank.lifetime = 1s + chance.up_to(3s);
    rank.prints = 1;
    rank.print_bytes = 10;
    script.ranks.assign(8, rank);
  }
  const bool fails = GENERATE(false, true);
  if (fails) {
    scenario.hosts[1'234].ranks[5].lifetime = 500ms;
    scenario.hosts[1'234].ranks[5].code = 3;
  }
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises().empty());
  CHECK(world.outcome().succeeded == !fails);
}

TEST_CASE("four thousand hosts start again after a failing rank and a crashed host") {
  Scenario scenario;
  scenario.seed = 1;
  scenario.grace = 1s;
  scenario.window = 60s;
  scenario.max_restarts = 3;
  Chance chance(3);
  for (int host = 0; host < 4'096; ++host) {
    HostScript& script = scenario.hosts.emplace_back();
    script.clock_ahead = chance.up_to(1'000s);
    script.latency = chance.up_to(1ms);
    script.connect_delay = chance.up_to(3s);
    RankScript rank;
    rank.lifetime = 10s + chance.up_to(2s);
    rank.prints = 2;
    rank.print_bytes = 10;
    script.ranks.assign(2, rank);
  }
  RankScript& failing = scenario.hosts[1'234].ranks[1];
  failing.lifetime = 500ms;
  failing.code = 3;
  failing.fails_until = 1;
  HostScript& crashing = scenario.hosts[3'210];
  crashing.fault = HostFault::crash;
  crashing.fault_at = 12s;  // in the second attempt
  crashing.fault_for = 5s;
  World world(std::move(scenario));
  world.play();
  CHECK(world.broken_promises() == std::vector<std::string>());
  CHECK(world.outcome().succeeded);
  CHECK(world.attempts() == 3);
}
