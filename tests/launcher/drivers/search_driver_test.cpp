// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/search_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
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

const char* const two_hosts = "hosts: [{name: h0, slots: 2}, {name: h1, slots: 2}]\n";
const char* const halving =
    "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
    "searcher: {name: async_halving, metric: loss, max_length: {batches: 9}, num_rungs: 3,\n"
    "           divisor: 3, max_trials: 6, max_concurrent_trials: 3}\n";

// A search on hosts that do at once what they are told, but for ranks, which end when the test says
// so, or when they are stopped.
struct SearchBench {
  explicit SearchBench(const std::string& yaml, const std::string& hosts = two_hosts,
                       std::vector<LeaseHolder> holders = {}, const std::set<std::string>& bad = {},
                       bool is_strict = false)
      : blockers(std::move(holders)),
        is_leased(!blockers.empty()),
        held_on(bad),
        unreachable(is_leased ? std::set<std::string>() : bad),
        experiment(parse_experiment({"x.yaml", (is_leased ? "" : "leases: none\n") + yaml}, {},
                                    ReadFor::planning)
                       .value()),
        inventory(parse_inventory(hosts)),
        plan(make_plan(experiment, inventory).value()) {
    addresses = task_hosts(inventory, plan);
    SearchDriver::Hooks hooks;
    hooks.on_made = [this](const search_action::Make& made) {
      hyperparameters.push_back(made.hyperparameters_json);
    };
    hooks.hooks_of = [this](const Plan& of) {
      begun.push_back(of.trial.trial);
      return TaskHooks();
    };
    hooks.on_trial_over = [this](int trial, const RunOutcome&) { over.push_back(trial); };
    hooks.on_left_out = [this](const std::string& host, const Error&, milliseconds) {
      left_out.push_back(host);
    };
    hooks.on_held = [this](int trial, const Error&) { held.push_back(trial); };
    hooks.on_report_without_step = [this](int trial) { without_step.push_back(trial); };
    search = std::move(SearchDriver::make({experiment, inventory, addresses, plan, {}, is_strict},
                                          timers, hooks))
                 .value();
    TaskHooks of_task;
    of_task.on_over = [this] { ++overs; };
    TaskDriver::Work work{
        plan,
        "t",
        port_needs(plan),
        "/",
        [this](int rank, int attempt) { return environment_of(plan, rank, attempt); },
        "boot"};
    work.hosts = addresses;
    work.is_search = true;
    driver.emplace(TaskDriver::Ports{timers, transport, output, {}, &journal}, std::move(work),
                   search->hooks_of_task(std::move(of_task)));
    search->start(*driver);
    begun.insert(begun.begin(), 0);
    settle();
  }

  static HostInventory parse_inventory(const std::string& yaml) {
    return parse_hosts({"hosts.yaml", yaml}).value();
  }

  // What was sent to hosts is answered, and what is to be written is, until nothing comes of it.
  void settle() {
    bool is_new = true;
    while (std::exchange(is_new, false)) {
      for (std::size_t i = 0; i < transport.links.size(); ++i) {
        auto& link = transport.links[i];
        if (answered.size() <= i) {
          answered.push_back(0);
          is_new = true;
          if (unreachable.contains(host_of(i))) {
            link.events.on_closed(make_error(ErrorClass::host, "no route to host"));
            continue;
          }
          if (link.call.verb == AgentCall::Verb::sweep) {
            link.events.on_bytes(encode_sweep_report({}) + "\n");
            continue;
          }
          link.events.on_open({"10.0.0.1", "ssh"});
          link.say(message::Hello{wire_version, "h", "boot", 1, {}});
        }
        while (answered[i] < link.sent.size()) {
          is_new = true;
          const Message message = link.sent[answered[i]++];
          std::visit([&](const auto& m) { answer(i, m); }, message);
        }
      }
      if (!journal.waiting.empty() && !is_disk_slow) {
        is_new = true;
        journal.write();
      }
      timers.pass(0ns);
    }
  }
  void answer(std::size_t link, const message::Prepare& m) {
    std::vector<int>& ranks = places[m.of.trial][link];
    for (const RankCommand& each : m.ranks) ranks.push_back(each.rank);
    std::vector<int> ports;
    for (int port = 0; port < m.hold_ports; ++port) ports.push_back(1'000 + port);
    prepared.push_back({m.of, host_of(link)});
    say(link, message::Ready{std::move(ports), "/run"}, m.of);
    if (!is_leased) return;
    const bool is_held = held_on.empty() || held_on.contains(host_of(link));
    say(link, message::Leases{is_held ? blockers : std::vector<LeaseHolder>()}, m.of);
  }
  void answer(std::size_t link, const message::Go& m) {
    for (const int rank : places[m.of.trial][link]) say(link, message::RankStarted{rank, 9}, m.of);
    started.insert({link, m.of});
    most_running = std::max(most_running, ++now_running);
  }
  void answer(std::size_t link, const message::Stop& m) {
    stopped.push_back(m.of.trial);
    if (!ignores_stop) end_on(link, m.of, 143, true);
  }
  void answer(std::size_t link, const message::Ping& m) {
    transport.links[link].say(message::Pong{m.sent, timers.time});
  }
  template <class Other>
  void answer(std::size_t, const Other&) {}
  std::string host_of(std::size_t link) const {
    for (std::size_t host = 0; host < addresses.size(); ++host)
      if (transport.links[link].call.key == agent_key("t", static_cast<int>(host)))
        return addresses[host].name;
    return {};
  }
  // A host is gone, and is not reached again.
  void lose(const std::string& host) {
    unreachable.insert(host);
    for (std::size_t i = 0; i < answered.size(); ++i)
      if (host_of(i) == host && !transport.links[i].is_closed) {
        now_running -= static_cast<int>(
            std::erase_if(started, [i](const auto& each) { return each.first == i; }));
        transport.links[i].events.on_closed(make_error(ErrorClass::host, "it is gone"));
      }
    settle();
  }
  // With what comes of it meanwhile.
  void pass(std::chrono::seconds delay) {
    for (; delay > 0s; delay -= 1s) {
      timers.pass(1s);
      settle();
    }
  }
  std::vector<std::string> places_of(int trial) const {
    std::vector<std::string> all;
    for (const auto& [of, host] : prepared)
      if (of.trial == trial) all.push_back(fmt::format("{} on {}", of.attempt, host));
    return all;
  }

  void say(std::size_t link, const Message& message, AttemptId of) {
    transport.links[link].say(about(message, of));
  }
  void end_on(std::size_t link, AttemptId of, int code, bool after_stop) {
    auto ranks = places[of.trial].extract(link);
    if (ranks.empty()) return;
    const bool has_started = started.erase({link, of}) > 0;
    if (has_started) --now_running;
    for (const int rank : ranks.mapped())
      if (has_started)
        say(link, message::RankEnded{rank, code, {}, false, after_stop, timers.time, {}}, of);
    say(link, message::Finished{}, of);
  }
  // A trial ends by itself.
  void end(int trial, int code = 0) { end_attempt({trial, 0}, code); }
  void end_attempt(AttemptId of, int code = 0) {
    for (const auto& [link, ranks] : std::map(places[of.trial])) end_on(link, of, code, false);
    settle();
  }
  void report(int trial, double step, const std::string& metric, int rank = 0, int attempt = 0) {
    print(trial, fmt::format("{{\"loss\": {}, \"step\": {}}}\n", metric, step), rank,
          OutputStream::metrics, attempt);
  }
  void print(int trial, const std::string& line, int rank, OutputStream stream, int attempt = 0) {
    const auto& on_links = places.at(trial);
    const auto place = std::find_if(on_links.begin(), on_links.end(), [rank](const auto& each) {
      return std::count(each.second.begin(), each.second.end(), rank) > 0;
    });
    const std::size_t link = place->first;
    std::uint64_t& at = positions[{stream, trial, rank}];
    const OutputChunk chunk{++chunks[link], rank, stream, line, timers.time, at, {trial, attempt}};
    at += line.size();
    transport.links[link].events.on_bytes(
        encode_frame(FrameKind::output, encode_output(chunk, OutputPacking::none)));
    settle();
  }
  TrialState state(int trial) const { return search->search().state(trial); }
  std::vector<SearchDecision> journaled() const {
    std::vector<SearchDecision> all;
    for (const JournalEntry& entry : journal.entries)
      if (const auto* decided = std::get_if<record::SearchDecided>(&entry.record))
        all.insert(all.end(), decided->decisions.begin(), decided->decisions.end());
    return all;
  }
  std::vector<LeaseHolder> blockers;  ///< of every trial there
  bool is_leased = false;
  std::set<std::string> held_on;      ///< hosts; none: all
  std::set<std::string> unreachable;  ///< hosts
  ExperimentConfig experiment;
  HostInventory inventory;
  Plan plan;
  std::vector<Host> addresses;
  HandTimers timers;
  ManyLinks transport;
  KeptOutput output;
  HandJournal journal;
  std::vector<std::size_t> answered;                              ///< by link
  std::map<int, std::map<std::size_t, std::vector<int>>> places;  ///< ranks, by trial and link
  std::map<std::tuple<OutputStream, int, int>, std::uint64_t> positions;  ///< of trial and rank
  std::map<std::size_t, std::uint64_t> chunks;
  std::vector<std::string> hyperparameters;
  std::vector<int> begun;
  std::vector<std::pair<AttemptId, std::string>> prepared;  ///< and the host
  std::set<std::pair<std::size_t, AttemptId>> started;      ///< by link, that have not ended
  std::vector<std::string> left_out;
  std::vector<int> held;
  std::vector<int> without_step;
  std::vector<int> stopped;
  std::vector<int> over;
  int now_running = 0;
  int most_running = 0;
  int overs = 0;
  bool ignores_stop = false;
  bool is_disk_slow = false;
  std::unique_ptr<SearchDriver> search;
  std::optional<TaskDriver> driver;
};

using States = std::vector<TrialState>;
using Places = std::vector<std::string>;

std::string random_trials(int count) {
  return fmt::format(
      "entrypoint: 'true'\nreconnect_window: 0\n"
      "hyperparameters: {{x: {{type: double, minval: 0, maxval: 1}}}}\n"
      "searcher: {{name: random, metric: loss, max_trials: {}, max_concurrent_trials: 0}}\n",
      count);
}

}  // namespace

TEST_CASE("trials of a search run on what is free, and each that ends makes room for the next") {
  SearchBench bench(
      "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 7, max_concurrent_trials: 0}\n");
  CHECK(bench.begun == std::vector{0, 1, 2, 3});  // four slots
  CHECK(bench.transport.links.size() == 2);
  bench.end(2);
  CHECK(bench.begun.back() == 4);
  bench.end(0, 3);
  bench.end(1);
  CHECK(bench.begun == std::vector{0, 1, 2, 3, 4, 5, 6});
  CHECK(bench.most_running == 4);
  CHECK(bench.overs == 0);
  for (const int trial : {3, 4, 5, 6}) bench.end(trial);
  CHECK(bench.overs == 1);
  CHECK(bench.search->outcome().succeeded);
  CHECK(bench.search->search().count(TrialState::failed) == 1);
  CHECK(bench.search->running() == 0);
  CHECK(std::set(bench.hyperparameters.begin(), bench.hyperparameters.end()).size() == 7);
  const auto known = replay(bench.journal.entries, Task::rules_of(bench.plan.experiment),
                            bench.timers.time, "boot");
  REQUIRE(known);
  CHECK(known->trials.size() == 7);
  CHECK(known->decisions == bench.search->search().decisions());
  CHECK(known->over->why == Sequel::succeeded);
}

TEST_CASE("a trial of which the search wants no more is told so once that is written down") {
  SearchBench bench(halving);
  CHECK(bench.begun == std::vector{0, 1, 2});
  bench.report(0, 1, "0.5");
  bench.report(1, 1, "0.4");
  bench.is_disk_slow = true;
  bench.report(2, 1, "0.6");
  CHECK(bench.stopped.empty());
  CHECK(bench.state(2) == TrialState::stopping);
  bench.is_disk_slow = false;
  bench.settle();
  CHECK(bench.stopped == std::vector{2});
  CHECK(bench.over == std::vector{2});
  CHECK(bench.state(2) == TrialState::stopped);
  CHECK(bench.begun.back() == 3);
  // Vector 12 of the specification, whose trials go on.
  bench.report(3, 1, "0.45");
  CHECK(bench.state(3) == TrialState::stopped);
  bench.report(4, 1, "0.3");
  bench.report(0, 3, "0.35");
  bench.report(1, 9, "0.2");
  bench.report(5, 1, "0.41");
  CHECK(bench.state(1) == TrialState::succeeded);
  CHECK(bench.state(5) == TrialState::stopped);
  bench.end(0);
  bench.end(4);
  CHECK(bench.overs == 1);
  CHECK(bench.journaled() == bench.search->search().decisions());
  CHECK(bench.search->search().trials() == 6);
}

TEST_CASE("the next trial begins when the last process of the stopped one is gone") {
  SearchBench bench(halving, "hosts: [{name: h0, slots: 8}]\n");
  bench.ignores_stop = true;
  bench.report(0, 1, "0.5");
  bench.report(1, 1, "0.6");
  CHECK(bench.stopped == std::vector{1});
  CHECK(bench.search->search().trials() == 4);  // it is made
  CHECK(bench.begun == std::vector{0, 1, 2});   // and does not run, although there are slots
  bench.end(1, 143);
  CHECK(bench.begun == std::vector{0, 1, 2, 3});
  CHECK(bench.state(1) == TrialState::stopped);
}

TEST_CASE("hyperparameters that make no sense are replaced") {
  SearchBench bench(halving);
  bench.end(0, 80);
  CHECK(bench.state(0) == TrialState::invalid);
  CHECK(bench.begun.back() == 3);
}

TEST_CASE("trials may be distributed, and wait for all that they take") {
  SearchBench bench(
      "entrypoint: 'true'\nresources: {slots_per_trial: 4}\n"
      "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 3, max_concurrent_trials: 0}\n");
  CHECK(bench.begun == std::vector{0});
  bench.end(0);
  CHECK(bench.begun == std::vector{0, 1});
  bench.end(1);
  bench.end(2);
  CHECK(bench.overs == 1);
}

TEST_CASE("reports of rank 0 count alone, but where those of all ranks are to") {
  const std::string in_pairs = std::string(halving) + "resources: {slots_per_trial: 2}\n";
  SearchBench bench(in_pairs);
  bench.report(0, 1, "0.5", 1);
  CHECK(bench.journaled().empty());
  bench.report(0, 1, "0.6");
  CHECK(bench.journaled() == std::vector{SearchDecision{0, SearchVerdict::go_on, 0, 1, 0.6}});

  // Of each step the first report counts, whichever rank's it is.
  SearchBench of_all(in_pairs + "metrics: {ranks: all}\n");
  of_all.report(0, 1, "0.5", 1);
  of_all.report(0, 1, "0.9");
  of_all.report(1, 1, "0.4");
  of_all.report(0, 3, "0.3");
  CHECK(of_all.journaled() == std::vector{SearchDecision{0, SearchVerdict::go_on, 0, 1, 0.5},
                                          SearchDecision{1, SearchVerdict::go_on, 0, 1, 0.4},
                                          SearchDecision{0, SearchVerdict::go_on, 1, 3, 0.3}});
}

TEST_CASE("what a pattern finds in the output of a trial decides as a report does") {
  SearchBench bench(std::string(halving) +
                    "metrics: {pattern: 'step (?P<step>[0-9]+): (?P<loss>[0-9.]+)'}\n");
  bench.print(0, "step 1: 0.5\nstep 2: 0.4\n", 0, OutputStream::out);
  bench.print(1, "step 1: 0.6\n", 0, OutputStream::err);
  CHECK(bench.journaled() == std::vector{SearchDecision{0, SearchVerdict::go_on, 0, 1, 0.5},
                                         SearchDecision{1, SearchVerdict::stop, 0, 1, 0.6}});
}

TEST_CASE("max_slots bounds what all trials have at once") {
  SearchBench bench(
      "entrypoint: 'true'\nresources: {max_slots: 3}\n"
      "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 5, max_concurrent_trials: 0}\n");
  CHECK(bench.begun == std::vector{0, 1, 2});
  bench.end(1);
  CHECK(bench.begun == std::vector{0, 1, 2, 3});
}

TEST_CASE("a trial that the user ends is replaced, and the search goes on") {
  SearchBench bench(halving);
  CHECK(bench.search->kill_trial(1));
  bench.settle();
  CHECK(bench.stopped == std::vector{1});
  CHECK(bench.state(1) == TrialState::killed);
  CHECK(bench.begun.back() == 3);
  CHECK_FALSE(bench.search->kill_trial(1));
  CHECK_FALSE(bench.search->kill_trial(99));
  CHECK(bench.overs == 0);
}

TEST_CASE("one that waits for slots and is ended does not begin") {
  SearchBench bench(
      "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 6, max_concurrent_trials: 0}\n");
  CHECK(bench.begun.size() == 4);
  CHECK(bench.search->kill_trial(4));
  bench.settle();
  bench.end(0);
  CHECK(bench.begun.back() == 5);
  for (const int trial : {1, 2, 3, 5}) bench.end(trial);
  CHECK(bench.overs == 1);
}

TEST_CASE("the user's stop ends the search") {
  SearchBench bench(halving);
  bench.search->stop(2);
  bench.settle();
  CHECK(bench.stopped.size() == 3);
  CHECK(bench.overs == 1);
  CHECK(bench.begun.size() == 3);
  CHECK(bench.over == std::vector{0, 1, 2});
  CHECK(bench.search->search().count(TrialState::stopped) == 3);
  CHECK(bench.search->running() == 0);
  CHECK(bench.search->outcome().stop_signal == 2);
}

TEST_CASE("a search that has had its time ends what runs as stopped") {
  SearchBench bench(
      "entrypoint: 'true'\n"
      "tune_config: {num_samples: 9, metric: loss, mode: min, time_budget_s: 60}\n"
      "param_space: {x: {uniform: [0, 1]}}\n");
  CHECK(bench.begun.size() == 4);
  bench.timers.pass(59s);
  bench.settle();
  CHECK(bench.stopped.empty());
  bench.timers.pass(1s);
  bench.settle();
  CHECK(bench.stopped.size() == 4);
  CHECK(bench.overs == 1);
  CHECK(bench.search->search().count(TrialState::stopped) == bench.search->search().trials());
  CHECK(bench.driver->outcome().stop_signal == trial_stop);
  const RunOutcome outcome = bench.search->outcome();
  REQUIRE(outcome.cause);
  CHECK(outcome.cause->error.diagnostics.front().message ==
        "no trial has reported 'loss' in the time of the search, 60 s (time_budget_s)");
}

TEST_CASE("one report is enough for a search that has had its time to end well") {
  SearchBench bench(
      "entrypoint: 'true'\n"
      "tune_config: {num_samples: 9, metric: loss, mode: min, time_budget_s: 60}\n"
      "param_space: {x: {uniform: [0, 1]}}\n");
  bench.report(2, 1, "0.5");
  bench.timers.pass(60s);
  bench.settle();
  CHECK(bench.overs == 1);
  CHECK(bench.search->outcome().succeeded);
}

TEST_CASE("reports that do not say after how much training they came decide nothing, as is told") {
  SearchBench bench(halving);
  bench.print(0, "{\"loss\": 0.5}\n", 0, OutputStream::metrics);
  bench.print(1, "{\"loss\": 0.5}\n", 0, OutputStream::metrics);
  bench.print(1, "{\"other\": 1, \"batches\": 1}\n", 0, OutputStream::metrics);
  CHECK(bench.without_step == std::vector{0});
  CHECK_FALSE(bench.search->search().best());
  CHECK(bench.journaled().empty());
  bench.report(1, 1, "0.5");
  CHECK(bench.search->search().best());
}

TEST_CASE("a search of which every trial has failed has failed") {
  SearchBench bench(
      "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 2, max_concurrent_trials: 0}\n");
  bench.end(0, 3);
  bench.end(1, 4);
  CHECK(bench.overs == 1);
  const RunOutcome outcome = bench.search->outcome();
  REQUIRE(outcome.cause);
  CHECK(outcome.cause->exit_code == 3);
  CHECK(outcome.cause->error.diagnostics.front().message ==
        "all 2 trials have failed; the first to: rank 0 on 'h0' exited with code 3");
  CHECK(std::get<record::TaskOver>(bench.journal.entries.back().record).why ==
        Sequel::no_restarts_left);
}

TEST_CASE("a strict search of which a trial has failed has failed, with the code of the first") {
  for (const bool is_strict : {false, true}) {
    SearchBench bench(random_trials(4), two_hosts, {}, {}, is_strict);
    bench.end(0);
    bench.end(1, 80);  // its hyperparameters make no sense
    bench.end(2, 7);
    bench.end(3, 5);
    bench.end(4);
    CHECK(bench.overs == 1);
    const RunOutcome outcome = bench.search->outcome();
    CHECK(outcome.succeeded == !is_strict);
    if (!is_strict) continue;
    REQUIRE(outcome.cause);
    CHECK(outcome.cause->exit_code == 7);
    CHECK(outcome.cause->error.diagnostics.front().message.starts_with(
        "2 of 5 trials have failed; the first to: "));
    const auto& last = bench.journal.entries.back().record;
    REQUIRE(std::holds_alternative<record::TaskOver>(last));
    CHECK(std::get<record::TaskOver>(last).why == Sequel::no_restarts_left);
  }
}

TEST_CASE("in a strict search what the user or the search has ended is no failure") {
  SearchBench bench(random_trials(4), two_hosts, {}, {}, true);
  CHECK(bench.search->kill_trial(1));
  bench.settle();
  bench.end(0);
  bench.end(2);
  bench.end(3);
  CHECK(bench.overs == 1);
  CHECK(bench.search->outcome().succeeded);
}

TEST_CASE("a search whose first trial finds its slots held is refused, and tries no other one") {
  LeaseHolder other{.task = "abcdefgh", .name = "digits", .is_running = true};
  SearchBench bench(
      "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
      "searcher: {name: random, metric: loss, max_trials: 9, max_concurrent_trials: 2}\n",
      two_hosts, {other});
  CHECK(bench.begun == std::vector{0, 1});
  CHECK(bench.now_running == 0);
  CHECK(bench.overs == 1);
  CHECK(bench.search->is_refused());
  const RunOutcome outcome = bench.search->outcome();
  CHECK_FALSE(outcome.succeeded);
  REQUIRE(outcome.cause);
  CHECK(outcome.cause->error.error_class == ErrorClass::busy);
  CHECK(outcome.cause->error.diagnostics.front().message.find("task abcdefgh") !=
        std::string::npos);
  CHECK(std::get<record::TaskOver>(bench.journal.entries.back().record).why ==
        Sequel::no_restarts_left);
}

TEST_CASE("a host that is lost is left out, and only the trials that ran there have failed") {
  SearchBench bench(random_trials(9));
  CHECK(bench.begun == std::vector{0, 1, 2, 3});
  bench.lose("h1");
  CHECK(bench.left_out == std::vector<std::string>{"h1"});
  CHECK(bench.state(2) == TrialState::failed);
  CHECK(bench.state(3) == TrialState::failed);
  CHECK(bench.begun.size() == 4);  // others wait for h0
  for (const int trial : {0, 1, 4, 5, 6, 7, 8}) bench.end(trial);
  CHECK(bench.places_of(8) == Places{"0 on h0"});
  CHECK(bench.overs == 1);
  CHECK(bench.search->outcome().succeeded);
  CHECK(bench.search->search().count(TrialState::succeeded) == 7);
}

TEST_CASE("a host that is left out is tried again after one minute, then after two") {
  SearchBench bench(random_trials(9), "hosts: [{name: h0, slots: 1}, {name: h1, slots: 1}]\n");
  bench.lose("h1");
  CHECK(bench.state(1) == TrialState::failed);
  bench.pass(61s);
  CHECK(bench.begun.back() == 2);
  bench.pass(15s);  // it is not reached
  CHECK(bench.left_out.size() == 2);
  CHECK(bench.over == std::vector{1});
  bench.pass(60s);
  CHECK(bench.begun == std::vector{0, 1, 2});
  bench.unreachable.clear();
  bench.pass(61s);
  CHECK(bench.begun == std::vector{0, 1, 2, 2});
  CHECK(bench.places_of(2) == Places{"1 on h1"});
  CHECK(bench.now_running == 2);
  bench.end_attempt({2, 1});
  CHECK(bench.state(2) == TrialState::succeeded);
  CHECK(bench.left_out.size() == 2);
}

TEST_CASE("a trial whose host is not reached is begun again elsewhere, as its next attempt") {
  SearchBench bench(random_trials(4), two_hosts, {}, {"h0"});
  CHECK(bench.left_out == std::vector<std::string>{"h0"});
  CHECK(bench.over.empty());
  CHECK(bench.places_of(2) == Places{"0 on h1"});
  CHECK(bench.places_of(3) == Places{"0 on h1"});
  bench.end(2);
  bench.end(3);
  bench.pass(11s);  // one was about to begin there when the host failed
  CHECK(bench.places_of(0) == Places{"1 on h1"});
  CHECK(bench.places_of(1) == Places{"1 on h1"});
  bench.report(1, 1, "0.5", 0, 1);
  CHECK(bench.search->search().best(1) == BestReport{1, 1, 0.5});
  bench.end_attempt({0, 1});
  bench.end_attempt({1, 1});
  CHECK(bench.overs == 1);
  CHECK(bench.search->search().count(TrialState::succeeded) == 4);
  const auto known = replay(bench.journal.entries, Task::rules_of(bench.plan.experiment),
                            bench.timers.time, "boot");
  REQUIRE(known);
  CHECK(known->trials.at(0).attempt == 1);
  CHECK(known->decisions == bench.search->search().decisions());
}

TEST_CASE("a search of which no host is left ends, and says which was the last") {
  SearchBench bench(random_trials(9));
  bench.end(0);
  bench.lose("h0");
  bench.lose("h1");
  bench.pass(60s);
  CHECK(bench.overs == 1);
  const RunOutcome outcome = bench.search->outcome();
  CHECK_FALSE(outcome.succeeded);
  REQUIRE(outcome.cause);
  CHECK(outcome.cause->error.error_class == ErrorClass::host);
  CHECK(outcome.cause->error.diagnostics.front().message.starts_with(
      "no host is left that can hold another trial: host 'h"));
  CHECK(bench.search->search().count(TrialState::succeeded) == 1);
  CHECK(std::get<record::TaskOver>(bench.journal.entries.back().record).why ==
        Sequel::no_restarts_left);
}

TEST_CASE("a stop while no trial runs, since others hold all slots, ends the search") {
  LeaseHolder other{.task = "abcdefgh", .name = "digits", .is_running = true};
  SearchBench bench(random_trials(9), two_hosts, {other}, {"none yet"});
  bench.held_on = {"h0", "h1"};
  for (const int trial : {0, 1, 2, 3}) bench.end(trial);
  CHECK(bench.search->running() == 0);
  CHECK(bench.overs == 0);
  bench.search->stop(15);
  bench.settle();
  CHECK(bench.overs == 1);
  CHECK(bench.search->outcome().stop_signal == 15);
  CHECK(bench.search->search().count(TrialState::stopped) == 5);
}

TEST_CASE("a trial whose slots others have taken waits for slots, and is begun again") {
  LeaseHolder other{.task = "abcdefgh", .name = "digits", .is_running = true};
  SearchBench bench(random_trials(7), two_hosts, {other}, {"none yet"});
  CHECK(bench.now_running == 4);
  bench.held_on = {"h1"};
  bench.end(2);
  bench.end(3);
  CHECK(bench.held == std::vector{4, 4});  // it has tried both slots
  CHECK(bench.over == std::vector{2, 3});
  bench.end(0);  // it makes room for the first that waits
  CHECK(bench.places_of(4) == Places{"0 on h1", "1 on h1", "2 on h0"});
  bench.pass(11s);
  CHECK(bench.places_of(5) == Places{"0 on h1"});
  CHECK(bench.places_of(6) == Places{"0 on h1"});
  CHECK(bench.now_running == 2);
  bench.held_on = {"none any more"};
  bench.pass(21s);
  CHECK(bench.now_running == 4);
  CHECK(bench.places_of(5) == Places{"0 on h1", "1 on h1"});
  CHECK(bench.places_of(6) == Places{"0 on h1", "1 on h1"});
  for (const auto& [link, of] : std::set(bench.started)) bench.end_attempt(of);
  CHECK(bench.overs == 1);
  CHECK(bench.search->search().count(TrialState::succeeded) == 7);
  const std::set<std::pair<AttemptId, std::string>> once(bench.prepared.begin(),
                                                         bench.prepared.end());
  CHECK(once.size() == bench.prepared.size());
}
