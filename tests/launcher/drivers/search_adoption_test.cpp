// SPDX-License-Identifier: Apache-2.0
// A search whose launcher is killed anywhere, and which another one goes on with.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/drivers/search_driver.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/rendezvous/port_needs.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/talks/sweep_report.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/drivers/driver_bench.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;

namespace {

// What the trials of a script do: reports, a line each, and how the last of them is followed.
struct Script {
  int steps = 9;
  std::function<double(int trial, int step)> metric;
  std::function<int(AttemptId of)> exit_code = [](AttemptId) { return 0; };
};

// An agent as launchers see it. It outlives them.
struct FakeAgent {
  struct Attempt {
    std::vector<int> ranks;
    bool has_started = false;
    bool is_finished = false;
    std::map<int, std::pair<int, bool>> ended;  ///< exit code, and whether after a stop
    std::string printed;                        ///< by its first rank, into its metrics file
    int steps = 0;
  };
  bool is_there = false;
  std::map<AttemptId, Attempt> attempts;
  std::set<int> holding;
};

// A launcher, its links and its files; all but the files goes with it.
struct Launcher {
  HandTimers timers;
  ManyLinks transport;
  HandJournal journal;
  std::vector<std::size_t> answered;  ///< messages, by link
  std::map<std::size_t, std::uint64_t> chunks;
  std::optional<SearchRecord> left;
  struct Output final : OutputSink {
    std::uint64_t take(OutputChunk chunk, nanoseconds) override {
      if (chunk.stream == OutputStream::metrics) pending.push_back(std::move(chunk));
      return ++taken;
    }
    std::uint64_t written() const override { return taken; }
    std::uint64_t synced() const override { return taken; }
    void expect_end() override {}
    void expect_another(AttemptId) override {}
    std::vector<OutputChunk> pending;  ///< not in the logs yet
    std::uint64_t taken = 0;
  } output;
  std::unique_ptr<SearchDriver> search;
  std::optional<TaskDriver> driver;
};

template <class Value>
Value of(Result<Value> result) {
  if (!result) FAIL(in_one_line(result.error()));
  return std::move(*result);
}

// What is searched, and where.
struct Setting {
  Setting(const std::string& yaml, const std::string& hosts)
      : experiment(
            of(parse_experiment({"x.yaml", "leases: none\n" + yaml}, {}, ReadFor::planning))),
        inventory(of(parse_hosts({"hosts.yaml", hosts}))),
        plan(make_plan(experiment, inventory).value()) {}

  ExperimentConfig experiment;
  HostInventory inventory;
  Plan plan;
};

class World {
 public:
  World(const Setting& setting, Script script)
      : script_(std::move(script)),
        experiment_(setting.experiment),
        inventory_(setting.inventory),
        plan_(setting.plan) {
    addresses_ = task_hosts(inventory_, plan_);
    agents_.resize(addresses_.size());
  }

  // From now on the hosts are taken away with each launcher that is killed.
  void take_hosts_away() { are_hosts_taken_ = true; }
  // To the end, with a launcher killed after each of so many things that have happened.
  void run(std::set<int> kills) {
    kills_ = std::move(kills);
    begin();
    for (int rounds = 0; !is_over() && rounds < 10'000; ++rounds) {
      settle();
      if (!is_over() && !step_trial()) pass_time();
    }
    REQUIRE(is_over());
  }

  bool is_over() const { return launcher_->driver && launcher_->driver->over(); }
  int happened() const { return happened_; }
  int launchers() const { return launchers_; }
  int most_running() const { return most_running_; }
  const Search& search() const { return launcher_->search->search(); }
  RunOutcome outcome() const { return launcher_->search->outcome(); }
  const std::vector<JournalEntry>& journal() const { return launcher_->journal.entries; }
  const std::map<AttemptId, int>& starts() const { return starts_; }
  const std::vector<std::string>& damage() const { return damage_; }
  std::string decisions() const {
    std::string text;
    for (const SearchDecision& each : search().decisions()) text += describe(each) + "\n";
    return text;
  }
  std::string states() const {
    std::string text;
    for (std::int64_t trial = 0; trial < search().trials(); ++trial)
      text += fmt::format("{}:{} ", trial, trial_states().row(search().state(trial)).name);
    return text;
  }
  void stop_after(int what) { stop_after_ = what; }
  void pass_after(int what, nanoseconds time) {
    pass_after_ = what;
    pass_ = time;
  }

 private:
  void begin() {
    launcher_ = std::make_unique<Launcher>();
    ++launchers_;
    make(std::nullopt);
  }

  // Another one finds the journal and the logs.
  void adopt() {
    auto next = std::make_unique<Launcher>();
    next->timers.time = launcher_->timers.time;
    next->journal.entries = launcher_->journal.entries;
    launcher_ = std::move(next);
    ++launchers_;
    auto& entries = launcher_->journal.entries;
    if (entries.empty() || of(replayed(entries)).first().attempt < 0) return begin_from_nothing();
    const std::uint64_t epoch = of(replayed(entries)).epoch + 1;
    if (are_hosts_taken_) {
      agents_.assign(agents_.size(), {});
      for (const auto& [trial, end] : ends_without_hosts(of(replayed(entries))))
        entries.push_back({end, launcher_->timers.time, "boot", std::nullopt, trial});
    }
    entries.push_back({record::Supervised{epoch}, launcher_->timers.time, "boot"});
    TaskResumption resume{of(replayed(entries)), epoch, {}};
    for (const auto& [trial, replay] : resume.replay.trials)
      if (replay.attempt >= 0 && !replay.task.over())
        resume.left[trial].positions = {0, logs_[{trial, replay.attempt}].size()};
    resume.is_moved = are_hosts_taken_;
    if (are_hosts_taken_)
      for (auto& [trial, replay] : resume.replay.trials) replay.place.reset();
    launcher_->left = of(search_record(*experiment_.search_config, entries, false));
    add_reports(*launcher_->left, [this](const TrialRecord& trial) { return kept(trial); });
    make(std::move(resume));
  }

  // Nothing was written: whoever launched it launches it again.
  void begin_from_nothing() {
    agents_.assign(agents_.size(), {});
    logs_.clear();
    launcher_->journal.entries.clear();
    make(std::nullopt);
  }

  Result<Replay> replayed(const std::vector<JournalEntry>& entries) const {
    return replay(entries, Task::rules_of(plan_.experiment, true), launcher_->timers.time, "boot");
  }

  std::vector<std::string> kept(const TrialRecord& trial) {
    std::vector<std::string> lines;
    for (const TrialAttempt& attempt : trial.attempts) {
      std::string text = logs_[{static_cast<int>(trial.trial), attempt.number}];
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        lines.push_back(text.substr(0, end));
        text.erase(0, end + 1);
      }
    }
    return lines;
  }

  void make(std::optional<TaskResumption> resume) {
    Launcher& l = *launcher_;
    std::optional<SearchLeft> left;
    if (resume) left.emplace(SearchLeft{resume->replay, *l.left});
    auto made = SearchDriver::make({experiment_, inventory_, addresses_, plan_}, l.timers, {},
                                   left ? &*left : nullptr);
    if (!made) FAIL(in_one_line(made.error()));
    l.search = std::move(*made);
    TaskDriver::Work work{
        plan_,
        "t",
        port_needs(plan_),
        "/",
        [this](int rank, int attempt) { return environment_of(plan_, rank, attempt); },
        "boot"};
    work.hosts = addresses_;
    work.is_search = true;
    work.resume = std::move(resume);
    l.driver.emplace(TaskDriver::Ports{l.timers, l.transport, l.output, {}, &l.journal},
                     std::move(work), l.search->hooks_of_task({}));
    l.search->start(*l.driver);
  }

  // Something has happened: perhaps the launcher is killed behind it.
  bool is_killed() {
    ++happened_;
    if (happened_ == stop_after_) launcher_->search->stop(15);
    if (happened_ == pass_after_) launcher_->timers.pass(pass_);
    const auto& entries = launcher_->journal.entries;
    const bool is_end_written =
        !entries.empty() && std::holds_alternative<record::TaskOver>(entries.back().record);
    if (kills_.erase(happened_) == 0 || is_end_written) return false;
    // What was taken of output is in the logs, or not.
    if (happened_ % 2 == 0) write_logs();
    adopt();
    return true;
  }

  void write_logs() {
    for (const OutputChunk& chunk : std::exchange(launcher_->output.pending, {})) {
      std::string& log = logs_[chunk.of];
      if (chunk.begin != log.size()) damage_.push_back("a gap in the logs");
      log += chunk.bytes;
    }
  }

  // What was sent is answered, and what is to be written is, one by one.
  void settle() {
    while (!is_over()) {
      launcher_->timers.pass(0ns);
      if (answer_next()) {
        if (is_killed()) continue;
      } else if (!launcher_->journal.waiting.empty()) {
        write_entry();
        if (is_killed()) continue;
      } else if (!launcher_->output.pending.empty()) {
        write_logs();
        launcher_->driver->acknowledge_output();
        if (is_killed()) continue;
      } else {
        return;
      }
    }
  }

  void write_entry() {
    HandJournal& journal = launcher_->journal;
    HandJournal::Waiting next = std::move(journal.waiting.front());
    journal.waiting.pop_front();
    journal.entries.push_back(*decode_entry(next.entry));
    next.on_written({});
  }

  bool answer_next() {
    Launcher& l = *launcher_;
    for (std::size_t i = 0; i < l.transport.links.size(); ++i) {
      auto& link = l.transport.links[i];
      if (l.answered.size() <= i) {
        l.answered.push_back(0);
        open(i);
        return true;
      }
      if (link.is_closed || l.answered[i] >= link.sent.size()) continue;
      const Message message = link.sent[l.answered[i]++];
      std::visit([&](const auto& m) { answer(i, m); }, message);
      return true;
    }
    return false;
  }

  int host_of(std::size_t link) const {
    for (std::size_t host = 0; host < addresses_.size(); ++host)
      if (launcher_->transport.links[link].call.key == agent_key("t", static_cast<int>(host)))
        return static_cast<int>(host);
    return -1;
  }
  FakeAgent& agent_of(std::size_t link) { return agents_[static_cast<std::size_t>(host_of(link))]; }

  void open(std::size_t i) {
    auto& link = launcher_->transport.links[i];
    if (link.call.verb == AgentCall::Verb::sweep) {
      agent_of(i) = {};
      return link.events.on_bytes(encode_sweep_report({}) + "\n");
    }
    const bool is_there = agent_of(i).is_there;
    if (link.call.verb != AgentCall::Verb::reattach) agent_of(i).is_there = true;
    link.events.on_open({"10.0.0.1", "ssh"});
    if (link.call.verb == AgentCall::Verb::reattach && !is_there)
      link.say(message::NoAgent{"boot"});
  }

  void say(std::size_t link, const Message& message, AttemptId of) {
    launcher_->transport.links[link].say(about(message, of));
  }

  void answer(std::size_t i, const message::Attach& m) {
    FakeAgent& agent = agent_of(i);
    if (!agent.is_there) return;
    message::Hello hello{wire_version, "h", "boot", 1, {}};
    for (const auto& [of, attempt] : agent.attempts)
      hello.attempts.push_back({of, attempt.has_started});
    hello.holding.assign(agent.holding.begin(), agent.holding.end());
    launcher_->transport.links[i].say(hello);
    launcher_->chunks[i] = 0;
    for (const auto& [of, attempt] : agent.attempts) {
      std::uint64_t at = 0;
      for (const auto& each : m.positions)
        if (each.of == of && each.is_of_metrics) at = each.position;
      say_again(i, of, attempt);
      if (at < attempt.printed.size()) print(i, of, at);
    }
  }
  void say_again(std::size_t i, AttemptId of, const FakeAgent::Attempt& attempt) {
    if (!attempt.has_started && !attempt.is_finished) return say(i, ready(), of);
    for (const int rank : attempt.ranks)
      if (attempt.has_started) say(i, message::RankStarted{rank, 9}, of);
    for (const auto& [rank, end] : attempt.ended)
      say(i, message::RankEnded{rank, end.first, {}, false, end.second, now(), {}}, of);
    if (attempt.is_finished) say(i, message::Finished{}, of);
  }
  void print(std::size_t i, AttemptId of, std::uint64_t from) {
    const OutputChunk chunk{++launcher_->chunks[i],
                            0,
                            OutputStream::metrics,
                            agent_of(i).attempts.at(of).printed.substr(from),
                            now(),
                            from,
                            of};
    launcher_->transport.links[i].events.on_bytes(
        encode_frame(FrameKind::output, encode_output(chunk, OutputPacking::none)));
  }
  Instant now() const { return launcher_->timers.time; }
  static message::Ready ready() { return {{1'000, 1'001, 1'002, 1'003}, "/run"}; }

  void answer(std::size_t i, const message::Prepare& m) {
    FakeAgent& agent = agent_of(i);
    auto [made, is_new] = agent.attempts.try_emplace(m.of);
    if (is_new)
      for (const RankCommand& each : m.ranks) made->second.ranks.push_back(each.rank);
    agent.holding.insert(m.of.trial);
    std::vector<int> ports;
    for (int port = 0; port < m.hold_ports; ++port) ports.push_back(1'000 + port);
    if (!made->second.is_finished) say(i, message::Ready{std::move(ports), "/run"}, m.of);
  }
  void answer(std::size_t i, const message::Go& m) {
    auto& attempt = agent_of(i).attempts.at(m.of);
    if (attempt.is_finished || std::exchange(attempt.has_started, true)) return;
    if (host_of(i) >= 0 && attempt.ranks.front() == 0) ++starts_[m.of];
    for (const int rank : attempt.ranks) say(i, message::RankStarted{rank, 9}, m.of);
    most_running_ = std::max(most_running_, running());
  }
  void answer(std::size_t i, const message::Stop& m) {
    const auto found = agent_of(i).attempts.find(m.of);
    if (found == agent_of(i).attempts.end()) return;
    end(found->second, 143, true);
    if (launcher_->transport.links[i].is_closed) return;
    say_end(i, m.of, found->second);
  }
  void answer(std::size_t i, const message::DropLeases& m) {
    agent_of(i).holding.erase(m.of.trial);
  }
  void answer(std::size_t i, const message::Forget& m) { agent_of(i).attempts.erase(m.of); }
  void answer(std::size_t i, const message::Bye&) {
    agent_of(i) = {};
    launcher_->transport.links[i].events.on_closed(make_error(ErrorClass::host, "it has left"));
  }
  void answer(std::size_t i, const message::Ping& m) {
    launcher_->transport.links[i].say(message::Pong{m.sent, now()});
  }
  template <class Other>
  void answer(std::size_t, const Other&) {}

  static void end(FakeAgent::Attempt& attempt, int code, bool after_stop) {
    if (attempt.is_finished) return;
    attempt.is_finished = true;
    for (const int rank : attempt.ranks)
      if (attempt.has_started) attempt.ended[rank] = {code, after_stop};
  }
  void say_end(std::size_t i, AttemptId of, const FakeAgent::Attempt& attempt) {
    for (const auto& [rank, how] : attempt.ended)
      say(i, message::RankEnded{rank, how.first, {}, false, how.second, now(), {}}, of);
    say(i, message::Finished{}, of);
  }

  int running() const {
    std::set<int> trials;
    for (const FakeAgent& agent : agents_)
      for (const auto& [of, attempt] : agent.attempts)
        if (attempt.has_started && !attempt.is_finished) trials.insert(of.trial);
    return static_cast<int>(trials.size());
  }

  // The link over which the launcher hears this agent.
  std::optional<std::size_t> link_of(int host) const {
    const auto& links = launcher_->transport.links;
    for (std::size_t i = links.size(); i-- > 0;)
      if (!links[i].is_closed && host_of(i) == host && links[i].call.verb != AgentCall::Verb::sweep)
        return i;
    return std::nullopt;
  }

  // One trial of those that run goes on by a step: which one depends on nothing but on what they
  // have done.
  bool step_trial() {
    std::optional<std::pair<std::size_t, AttemptId>> chosen;
    std::uint64_t lowest = UINT64_MAX;
    for (std::size_t host = 0; host < agents_.size(); ++host)
      for (const auto& [of, attempt] : agents_[host].attempts) {
        if (!attempt.has_started || attempt.is_finished || attempt.ranks.front() != 0) continue;
        std::uint64_t order = static_cast<std::uint64_t>(of.trial) * 1'000'003 +
                              static_cast<std::uint64_t>(of.attempt * 31 + attempt.steps) * 7'919;
        order = (order ^ (order >> 7)) * 0x9E3779B97F4A7C15u;
        if (order < lowest) chosen.emplace(host, of);
        lowest = std::min(lowest, order);
      }
    if (!chosen) return false;
    const auto [host, of] = *chosen;
    FakeAgent::Attempt& attempt = agents_[host].attempts.at(of);
    const auto link = link_of(static_cast<int>(host));
    if (attempt.steps == script_.steps || (script_.exit_code(of) != 0 && attempt.steps == 2)) {
      end(attempt, script_.exit_code(of), false);
      end_others(of);
      if (link) say_end(*link, of, attempt);
      return true;
    }
    const std::uint64_t from = attempt.printed.size();
    ++attempt.steps;
    attempt.printed += fmt::format("{{\"loss\": {}, \"batches\": {}}}\n",
                                   script_.metric(of.trial, attempt.steps), attempt.steps);
    if (link) print(*link, of, from);
    return true;
  }
  // Its other ranks end with the first.
  void end_others(AttemptId of) {
    for (std::size_t host = 0; host < agents_.size(); ++host) {
      const auto found = agents_[host].attempts.find(of);
      if (found == agents_[host].attempts.end() || found->second.is_finished) continue;
      end(found->second, script_.exit_code(of), false);
      if (const auto link = link_of(static_cast<int>(host))) say_end(*link, of, found->second);
    }
  }

  void pass_time() { launcher_->timers.pass(1s); }

  Script script_;
  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  const Plan& plan_;
  std::vector<Host> addresses_;
  std::vector<FakeAgent> agents_;
  std::map<AttemptId, std::string> logs_;  ///< of metrics
  std::unique_ptr<Launcher> launcher_;
  std::set<int> kills_;
  std::map<AttemptId, int> starts_;
  std::vector<std::string> damage_;
  int happened_ = 0;
  int launchers_ = 0;
  int most_running_ = 0;
  bool are_hosts_taken_ = false;
  int stop_after_ = -1;
  int pass_after_ = -1;
  nanoseconds pass_{0};
};

const char* const three_hosts =
    "hosts: [{name: h0, slots: 2}, {name: h1, slots: 2}, {name: h2, slots: 1}]\n";
const char* const adopted_halving =
    "entrypoint: 'true'\nmax_restarts: 1\nrestart_delay: 1s\n"
    "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
    "searcher: {name: adaptive_asha, metric: loss, time_metric: batches, max_time: 9,\n"
    "           divisor: 3, max_trials: 14, max_concurrent_trials: 4}\n";

// Some trials are better than others, some fail, once or for good, and some make no sense.
Script lively() {
  Script script;
  script.metric = [](int trial, int step) {
    return static_cast<double>((trial * 37 + 11) % 23) / (1 + 0.1 * step);
  };
  script.exit_code = [](AttemptId of) {
    if (of.trial % 5 == 3) return of.attempt == 0 ? 1 : 0;
    if (of.trial % 7 == 4) return 3;
    return of.trial == 6 ? invalid_hyperparameters_code : 0;
  };
  return script;
}

// After what its launchers are killed, in a world that is like this one without it.
std::set<int> random_kills(std::mt19937& random, int count, const World& undisturbed) {
  std::set<int> kills;
  for (int i = 0; i < count; ++i)
    kills.insert(1 + static_cast<int>(random() % static_cast<unsigned>(undisturbed.happened())));
  return kills;
}

}  // namespace

TEST_CASE("a search decides the same wherever its launcher is killed") {
  const Setting setting(adopted_halving, three_hosts);
  World undisturbed(setting, lively());
  undisturbed.run({});
  const std::string decisions = undisturbed.decisions();
  const std::string states = undisturbed.states();
  CHECK(undisturbed.search().trials() > 14);  // one was replaced
  CHECK(undisturbed.outcome().succeeded);
  CHECK(undisturbed.launchers() == 1);
  const int points = undisturbed.happened();
  CHECK(points > 300);
  for (int point = 1; point <= points; ++point) {
    CAPTURE(point);
    World world(setting, lively());
    world.run({point});
    REQUIRE(world.decisions() == decisions);
    REQUIRE(world.states() == states);
    REQUIRE(world.damage().empty());
    REQUIRE(world.outcome().succeeded);
    REQUIRE(world.most_running() <= 4);
    for (const auto& [of, count] : world.starts()) REQUIRE(count == 1);
  }
}

TEST_CASE("a search decides the same however often its launchers are killed") {
  const Setting setting(adopted_halving, three_hosts);
  World undisturbed(setting, lively());
  undisturbed.run({});
  std::mt19937 random(20261125);
  for (int round = 0; round < 40; ++round) {
    const std::set<int> kills = random_kills(random, 8, undisturbed);
    CAPTURE(round, kills);
    World world(setting, lively());
    world.run(kills);
    REQUIRE(world.decisions() == undisturbed.decisions());
    REQUIRE(world.states() == undisturbed.states());
    REQUIRE(world.damage().empty());
    REQUIRE(world.most_running() <= 4);
    for (const auto& [of, count] : world.starts()) REQUIRE(count == 1);
  }
}

TEST_CASE("trials of several hosts, and of Tune's words, are gone on with likewise") {
  const char* const distributed =
      "entrypoint: 'true'\nmax_restarts: 1\nrestart_delay: 1s\n"
      "resources_per_trial: {strategy: SPREAD, bundles: [{cpu: 1}, {cpu: 2}, {cpu: 2}]}\n"
      "param_space: {x: {uniform: [0, 1]}}\nnum_samples: 9\nmetric: loss\nmode: min\n"
      "scheduler: {type: asha, time_attr: batches, max_t: 9, reduction_factor: 3}\n";
  const char* const hosts =
      "hosts: [{name: h0, resources: {CPU: 5}}, {name: h1, resources: {CPU: 5}},\n"
      "        {name: h2, resources: {CPU: 5}}]\n";
  const Setting setting(distributed, hosts);
  World undisturbed(setting, lively());
  undisturbed.run({});
  UNSCOPED_INFO(
      (undisturbed.outcome().cause ? in_one_line(undisturbed.outcome().cause->error) : ""));
  REQUIRE(undisturbed.outcome().succeeded);
  CHECK(undisturbed.most_running() > 1);
  CHECK(undisturbed.search().trials() == 9);
  for (int point = 1; point <= undisturbed.happened(); point += 5) {
    CAPTURE(point);
    World world(setting, lively());
    world.run({point});
    REQUIRE(world.decisions() == undisturbed.decisions());
    REQUIRE(world.states() == undisturbed.states());
    REQUIRE(world.most_running() <= undisturbed.most_running());
  }
}

TEST_CASE("a search whose hosts are taken away goes on with the trials that had not ended") {
  const Setting setting(adopted_halving, three_hosts);
  World undisturbed(setting, lively());
  undisturbed.run({});
  std::mt19937 random(20261130);
  for (int round = 0; round < 120; ++round) {
    const std::set<int> kills = random_kills(random, 1 + round % 4, undisturbed);
    CAPTURE(round, kills);
    World world(setting, lively());
    world.take_hosts_away();
    world.run(kills);
    REQUIRE(world.damage().empty());
    REQUIRE(world.outcome().succeeded);
    REQUIRE(world.most_running() <= 4);
    std::set<int> ended;
    for (const JournalEntry& each : world.journal())
      if (std::holds_alternative<record::TrialOver>(each.record))
        REQUIRE(ended.insert(each.trial).second);
    for (const auto& [of, count] : world.starts()) REQUIRE(count == 1);
    REQUIRE(of(replay(world.journal(), Task::rules_of(setting.plan.experiment, true), 0s, "boot"))
                .over);
  }
}

TEST_CASE("a stop that a launcher has begun is gone on with") {
  const Setting setting(adopted_halving, three_hosts);
  World undisturbed(setting, lively());
  undisturbed.stop_after(200);
  undisturbed.run({});
  CHECK(undisturbed.outcome().stop_signal == 15);
  for (int point = 201; point <= undisturbed.happened(); ++point) {
    CAPTURE(point);
    World world(setting, lively());
    world.stop_after(200);
    world.run({point});
    for (std::int64_t trial = 0; trial < world.search().trials(); ++trial)
      REQUIRE(trial_states().row(world.search().state(trial)).next.empty());
  }
}

TEST_CASE("trials that were ended since the time of their search was over have not failed") {
  const Setting setting(
      "entrypoint: 'true'\nparam_space: {x: {uniform: [0, 1]}}\n"
      "num_samples: 12\nmetric: loss\nmode: min\ntime_budget_s: 1000\n",
      three_hosts);
  Script script = lively();
  script.exit_code = [](AttemptId) { return 0; };
  World undisturbed(setting, script);
  undisturbed.pass_after(90, 1'000s);
  undisturbed.run({});
  REQUIRE(undisturbed.outcome().succeeded);
  REQUIRE(undisturbed.search().count(TrialState::succeeded) > 0);
  REQUIRE(undisturbed.search().count(TrialState::stopped) > 2);
  for (int point = 91; point <= undisturbed.happened(); ++point) {
    CAPTURE(point);
    World world(setting, script);
    world.pass_after(90, 1'000s);
    world.run({point});
    REQUIRE(world.outcome().succeeded);
    REQUIRE(world.decisions() == undisturbed.decisions());
    REQUIRE(world.states() == undisturbed.states());
  }
}

TEST_CASE("the first to fail is known to whoever goes on with a search") {
  Script script = lively();
  script.exit_code = [](AttemptId of) { return 3 + of.trial; };
  const Setting setting(
      "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 4, max_concurrent_trials: 2}\n",
      three_hosts);
  World undisturbed(setting, script);
  undisturbed.run({});
  const RunOutcome expected = undisturbed.outcome();
  REQUIRE(expected.cause);
  for (int point = 1; point <= undisturbed.happened(); ++point) {
    CAPTURE(point);
    World world(setting, script);
    world.run({point});
    REQUIRE(world.outcome().cause);
    REQUIRE(world.outcome().cause->exit_code == expected.cause->exit_code);
    REQUIRE(in_one_line(world.outcome().cause->error) == in_one_line(expected.cause->error));
  }
}
