// SPDX-License-Identifier: Apache-2.0
// bench_search [TRIALS [AT_ONCE]]: a whole search without hosts (default 100,000 trials, 8 at
// once): placing each trial, driving it over a host that does at once what it is told, taking its
// report, deciding, and going on. Prints seconds, without what that host takes to read and write
// messages, microseconds per trial, and the most memory that the process came to have above what it
// had before, in MiB. Nothing here passes or fails: times depend on the machine.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>

#include "launcher/drivers/search_driver.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "tests/bench/stopwatch.hpp"

using namespace train;

namespace {

using SteadyClock = std::chrono::steady_clock;

// Time passes when nothing else is to be done.
struct Later final : Timers {
  struct Timer final : Subscription {
    std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  };
  struct Due {
    std::weak_ptr<bool> wanted;
    std::function<void()> callback;
  };
  Instant now() const override { return time; }
  void post(std::function<void()> callback) override { posted.push_back(std::move(callback)); }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    auto timer = std::make_unique<Timer>();
    due.emplace(time + delay, Due{timer->wanted, std::move(callback)});
    return timer;
  }
  // Does what is due now; false when there was nothing.
  bool run() {
    bool has_run = false;
    while (!posted.empty()) {
      const auto callback = std::move(posted.front());
      posted.pop_front();
      callback();
      has_run = true;
    }
    while (!due.empty() && due.begin()->first <= time) {
      const Due next = std::move(due.begin()->second);
      due.erase(due.begin());
      if (next.wanted.expired()) continue;
      next.callback();
      has_run = true;
    }
    return has_run;
  }
  Instant time = std::chrono::seconds(1'000);
  std::deque<std::function<void()>> posted;
  std::multimap<Instant, Due> due;
};

struct Kept final : OutputSink {
  std::uint64_t take(OutputChunk, nanoseconds) override { return ++taken; }
  std::uint64_t written() const override { return taken; }
  std::uint64_t synced() const override { return taken; }
  void expect_end() override {}
  void expect_another(AttemptId) override {}
  std::uint64_t taken = 0;
};

// One host: each trial reports once, a loss of its own, and ends when it is told, or by itself.
struct OneHost final : Transport {
  struct Link final : HostLink {
    explicit Link(OneHost& of) : host(of) {}
    void send(std::string bytes) override { host.heard.feed(bytes); }
    std::size_t unsent_bytes() const override { return 0; }
    OneHost& host;
  };
  std::unique_ptr<HostLink> open(const Host&, const AgentCall&, LinkEvents of) override {
    events = std::move(of);
    return std::make_unique<Link>(*this);
  }
  void say(const Message& message) {
    const auto begin = SteadyClock::now();
    const std::string frame = frame_of(message);
    own_time += SteadyClock::now() - begin;
    events.on_bytes(frame);
  }

  // Answers what it was told next; false when that is nothing.
  bool run() {
    const auto begin = SteadyClock::now();
    const auto frame = heard.next();
    require(frame.has_value(), "reading what the launcher sends");
    if (!*frame) return false;
    const auto message = decode_message((**frame).payload);
    require(message.has_value(), "reading a message");
    own_time += SteadyClock::now() - begin;
    std::visit([this](const auto& m) { answer(m); }, *message);
    return true;
  }
  void answer(const message::Prepare& m) {
    std::vector<int> ports;
    for (int port = 0; port < m.hold_ports; ++port) ports.push_back(1'000 + port);
    say(about(message::Ready{std::move(ports), "/run"}, m.of));
  }
  // A trial takes a millisecond: hosts that say much at once are taken for hostile.
  void answer(const message::Go& m) {
    timers.time += std::chrono::milliseconds(1);
    say(about(message::RankStarted{0, 9}, m.of));
    const std::string line =
        fmt::format("{{\"loss\": 0.{:05}, \"batches\": 3}}\n", m.of.trial * 7'919 % 100'000);
    const OutputChunk chunk{++chunks, 0, OutputStream::metrics, line, timers.time, 0, m.of};
    events.on_bytes(encode_frame(FrameKind::output, encode_output(chunk, OutputPacking::none)));
    end(m.of, false);
  }
  void answer(const message::Stop& m) { end(m.of, true); }
  void answer(const message::Ping& m) { say(message::Pong{m.sent, timers.time}); }
  template <class Other>
  void answer(const Other&) {}
  void end(AttemptId of, bool after_stop) {
    if (!is_first_end(of.trial)) return;
    say(about(message::RankEnded{0, 0, {}, false, after_stop, timers.time, {}}, of));
    say(about(message::Finished{}, of));
  }
  bool is_first_end(int trial) {
    if (trial < static_cast<int>(ended.size()) && ended[static_cast<std::size_t>(trial)])
      return false;
    ended.resize(std::max(ended.size(), static_cast<std::size_t>(trial) + 1));
    ended[static_cast<std::size_t>(trial)] = true;
    return true;
  }

  explicit OneHost(Later& of) : timers(of) {}
  Later& timers;
  LinkEvents events;
  FrameDecoder heard{FrameSender::launcher};
  std::uint64_t chunks = 0;
  std::chrono::duration<double> own_time{0};  ///< for reading and writing messages
  std::vector<bool> ended;
};

double megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1'024;
}

}  // namespace

int main(int argc, char** argv) {
  const long trials = argc > 1 ? std::atol(argv[1]) : 100'000;
  const long at_once = argc > 2 ? std::atol(argv[2]) : 8;
  require(trials > 0 && at_once > 0, "reading the arguments");
  const auto experiment = parse_experiment(
      {"x.yaml",
       fmt::format("entrypoint: 'true'\nleases: none\nmax_restarts: 0\n"
                   "hyperparameters: {{lr: {{type: log, base: 10, minval: -5, maxval: -1}}}}\n"
                   "searcher: {{name: async_halving, metric: loss, max_length: {{batches: 9}},\n"
                   "  num_rungs: 2, divisor: 3, max_trials: {}, max_concurrent_trials: {}}}\n",
                   trials, at_once)},
      {}, ReadFor::planning);
  require(experiment.has_value(), "reading the experiment");
  const auto inventory =
      parse_hosts({"hosts.yaml", fmt::format("hosts: [{{name: h0, slots: {}}}]\n", at_once)});
  const auto plan = make_plan(*experiment, *inventory);
  require(plan.has_value(), "placing the first trial");
  const double before = megabytes();
  const auto begin = SteadyClock::now();
  Later timers;
  OneHost host(timers);
  Kept output;
  auto made = SearchDriver::make({*experiment, *inventory, inventory->hosts, *plan}, timers, {});
  require(made.has_value(), "making the search");
  SearchDriver& search = **made;
  bool is_over = false;
  TaskHooks hooks;
  hooks.on_over = [&] { is_over = true; };
  hooks.on_note = [](const std::string&) { require(false, "keeping the host"); };
  TaskDriver::Work work{*plan,
                        "t",
                        port_needs(*plan),
                        "/",
                        [&](int rank, int attempt) { return environment_of(*plan, rank, attempt); },
                        "boot"};
  work.hosts = inventory->hosts;
  work.is_search = true;
  TaskDriver driver({timers, host, output}, std::move(work),
                    search.hooks_of_task(std::move(hooks)));
  search.start(driver);
  host.events.on_open({"127.0.0.1", "local"});
  host.say(message::Hello{wire_version, "h", "boot", 1, {}});
  while (!is_over) {
    const bool has_run = host.run();
    driver.acknowledge_output();  // it counts as written at once
    if (!timers.run() && !has_run) {
      require(!timers.due.empty(), "going on");
      timers.time = timers.due.begin()->first;
    }
  }
  const std::chrono::duration<double> took = SteadyClock::now() - begin - host.own_time;
  require(search.search().trials() == trials, "running all trials");
  require(search.search().count(TrialState::failed) == 0, "ending all trials well");
  fmt::print("{} trials, {} at once: {:.2f} s, {:.1f} us each, {:.1f} MiB\n", trials, at_once,
             took.count(), took.count() * 1e6 / static_cast<double>(trials), megabytes() - before);
  return 0;
}
