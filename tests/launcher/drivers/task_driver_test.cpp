// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/task_driver.hpp"

#include "launcher/frames/frame.hpp"
#include "launcher/talks/sweep_report.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/drivers/driver_bench.hpp"
#include "tests/launcher/run/trial_of.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

// One timer at a time is enough for a driver without a context. What is due comes when the test
// says so, as on a loop that has other things to do first.
class SlowTimers final : public Timers {
 public:
  Instant now() const override { return time; }
  void post(std::function<void()> callback) override { callback(); }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    ++armed;
    due = time + delay;
    const auto owned = std::make_shared<std::function<void()>>(std::move(callback));
    pending = owned;
    return std::make_unique<Owner>(owned);
  }

  Instant time = 1'000s;
  Instant due{0};
  int armed = 0;
  std::weak_ptr<std::function<void()>> pending;  ///< gone when its owner is

 private:
  struct Owner final : Subscription {
    explicit Owner(std::shared_ptr<std::function<void()>> owned) : callback(std::move(owned)) {}
    std::shared_ptr<std::function<void()>> callback;
  };
};

struct SentBytes final : HostLink {
  explicit SentBytes(int& sent_messages) : messages(sent_messages) {}
  void send(std::string) override { ++messages; }
  std::size_t unsent_bytes() const override { return 0; }
  int& messages;
};

struct OneHost final : Transport {
  std::unique_ptr<HostLink> open(const Host&, const AgentCall&, LinkEvents link_events) override {
    events = std::move(link_events);
    return std::make_unique<SentBytes>(sent);
  }
  LinkEvents events;
  int sent = 0;
};

struct NoOutput final : OutputSink {
  std::uint64_t take(OutputChunk, nanoseconds) override { return 0; }
  std::uint64_t written() const override { return 0; }
  std::uint64_t synced() const override { return 0; }
  void expect_end() override {}
  void expect_another(AttemptId) override {}
};

}  // namespace

TEST_CASE("a host that talks all the time does not put off what is due") {
  Plan plan;
  plan.trial = trial_of({1});
  SlowTimers timers;
  OneHost transport;
  NoOutput output;
  TaskDriver driver({timers, transport, output},
                    {plan, "t", {}, "/", [](int, int) { return std::vector<EnvironmentEntry>(); }},
                    {});
  driver.start();
  transport.events.on_open({"10.0.0.1", "ssh"});
  const std::string talk = frame_of(message::Blocked{"x", 1s});
  for (int i = 0; i < 20; ++i) transport.events.on_bytes(talk);
  CHECK(timers.armed == 1);

  // The loop sees that it is due, and comes to it after what was there before.
  timers.time = timers.due;
  const auto seen = timers.pending;
  const int sent = transport.sent;
  for (int i = 0; i < 20; ++i) transport.events.on_bytes(talk);
  const auto callback = seen.lock();
  REQUIRE(callback);
  (*callback)();
  CHECK(transport.sent == sent + 1);  // the ping
  CHECK(timers.due > timers.time);
}

namespace {

// One host with one rank, which runs.
struct RunningHost {
  explicit RunningHost(milliseconds window = 60s) {
    plan.trial = trial_of({1});
    plan.experiment.entrypoint.shell = "true";
    plan.experiment.reconnect_window = window;
    driver.emplace(
        TaskDriver::Ports{timers, transport, output},
        TaskDriver::Work{
            plan, "t", {}, "/", [](int, int) { return std::vector<EnvironmentEntry>(); }},
        TaskDriver::Hooks());
    driver->start();
    link(0).events.on_open({"10.0.0.1", "ssh"});
    hello(0);
    link(0).say(message::Ready{{1'000}, "/run"});
    link(0).say(message::RankStarted{0, 100});
  }
  ManyLinks::Made& link(std::size_t number) { return transport.links.at(number); }
  void hello(std::size_t number) {
    message::Hello hello{wire_version, "h", "boot", 1};
    if (number > 0) hello.attempts.push_back({{}, true});
    link(number).say(hello);
  }
  void break_off(std::size_t number) {
    link(number).events.on_closed(make_error(ErrorClass::host, "connection reset"));
  }
  void reopen(std::size_t number) {
    link(number).events.on_open({"10.0.0.1", "ssh"});
    hello(number);
  }
  message::Attach attach_of(std::size_t number) {
    REQUIRE_FALSE(link(number).sent.empty());
    REQUIRE(std::holds_alternative<message::Attach>(link(number).sent.front()));
    return std::get<message::Attach>(link(number).sent.front());
  }

  Plan plan;
  HandTimers timers;
  ManyLinks transport;
  KeptOutput output;
  std::optional<TaskDriver> driver;
};

}  // namespace

TEST_CASE("the first message on every connection is an Attach with the next number") {
  RunningHost host;
  CHECK(host.attach_of(0).connection == 1);
  CHECK(host.attach_of(0).positions.empty());
  CHECK(host.attach_of(0).credit == most_output_window);
  host.link(0).print(1, 0, "hello ");
  host.break_off(0);
  REQUIRE(host.transport.links.size() == 2);
  CHECK(host.link(1).call.verb == AgentCall::Verb::reattach);
  CHECK(host.link(1).sent.empty());
  host.reopen(1);
  CHECK(host.attach_of(1).connection == 2);
  CHECK(host.attach_of(1).positions == std::vector<message::OutputPosition>{{0, 6}});
  host.link(1).print(1, 6, "world");
  CHECK(host.output.text == "hello world");
}

TEST_CASE("output that leaves a gap or comes again is not taken") {
  const std::uint64_t begin = GENERATE(0, 5, 7);
  RunningHost host;
  host.link(0).print(1, 0, "hello ");
  host.break_off(0);
  host.reopen(1);
  host.link(1).print(1, begin, "world");
  CHECK(host.output.text == "hello ");
  CHECK(host.driver->over());
}

TEST_CASE("what comes late on a connection that was replaced is not heard") {
  RunningHost host;
  host.timers.pass(2s);
  host.timers.pass(3s);  // of silence
  REQUIRE(host.transport.links.size() == 2);
  CHECK_FALSE(host.link(0).is_closed);
  host.reopen(1);
  host.link(0).print(1, 0, "late");
  host.break_off(0);
  CHECK(host.output.text.empty());
  CHECK(host.transport.links.size() == 2);
  host.link(1).print(1, 0, "again");
  CHECK(host.output.text == "again");
  host.timers.pass(0s);
  CHECK(host.link(0).is_closed);
}

TEST_CASE("a try that asks somebody is not given up for another that would ask again") {
  RunningHost host;
  host.break_off(0);
  REQUIRE(host.transport.links.size() == 2);
  host.transport.links[1].is_asking = true;
  host.timers.pass(10s);
  host.timers.pass(10s);
  CHECK(host.transport.links.size() == 2);
  CHECK_FALSE(host.link(1).is_closed);
  SECTION("the answer comes") {
    host.reopen(1);
    CHECK(host.attach_of(1).connection == 2);
  }
  SECTION("nobody is asked any more") {
    host.transport.links[1].is_asking = false;
    host.timers.pass(10s);
    CHECK(host.transport.links.size() == 3);
    CHECK(host.link(2).call.verb == AgentCall::Verb::reattach);
  }
}

TEST_CASE("a connection that is not wanted any more is closed, and what it says is not heard") {
  RunningHost host;
  host.timers.pass(2s);
  host.timers.pass(3s);
  REQUIRE(host.transport.links.size() == 2);
  host.link(0).print(1, 0, "alive");
  host.timers.pass(0s);
  CHECK(host.link(1).is_closed);
  CHECK_FALSE(host.link(0).is_closed);
  host.link(1).events.on_open({"10.0.0.1", "ssh"});
  CHECK(host.link(1).sent.empty());
  host.link(0).print(2, 5, " still");
  CHECK(host.output.text == "alive still");
}

TEST_CASE("over all connections no more is on its way than the window") {
  RunningHost host;
  host.link(0).print(1, 0, std::string(60'000, 'x'));
  const std::size_t first = host.output.cost;
  host.break_off(0);
  host.reopen(1);
  CHECK(host.attach_of(1).credit == most_output_window - first);
  host.link(1).print(1, 60'000, std::string(40'000, 'x'));
  const std::size_t second = host.output.cost - first;
  // What came on the first connection is kept: there is no chunk of this one to name.
  host.output.is_kept = 1;
  host.driver->acknowledge_output();
  CHECK(host.link(1).all<message::Acknowledge>() ==
        std::vector<message::Acknowledge>{{0, most_output_window}});
  host.output.is_kept = 2;
  host.driver->acknowledge_output();
  CHECK(host.link(1).all<message::Acknowledge>().back() ==
        message::Acknowledge{1, most_output_window + second, 1});
}

TEST_CASE("a host whose connection is back is not swept for it") {
  RunningHost host;
  host.break_off(0);
  CHECK(host.driver->broken_hosts() == std::vector{0});
  host.reopen(1);
  CHECK(host.driver->broken_hosts().empty());
  host.break_off(1);
  CHECK(host.driver->broken_hosts() == std::vector{0});
}

TEST_CASE("a host without its agent is not swept") {
  RunningHost host;
  host.break_off(0);
  host.link(1).events.on_open({"10.0.0.1", "ssh"});
  host.link(1).say(message::NoAgent{"boot"});
  CHECK(host.driver->over());
  CHECK(host.driver->broken_hosts().empty());
}

TEST_CASE("a connection that opens after the run has given it up is left alone") {
  Plan plan;
  plan.trial = trial_of({1});
  HandTimers timers;
  OneHost transport;
  NoOutput output;
  TaskDriver driver({timers, transport, output},
                    {plan, "t", {}, "/", [](int, int) { return std::vector<EnvironmentEntry>(); }},
                    {});
  driver.start();
  driver.stop(2);
  REQUIRE(driver.over());
  transport.events.on_open({"10.0.0.1", "ssh"});
  CHECK(transport.sent == 0);
}

TEST_CASE("without a window nobody is reached twice") {
  RunningHost host(0ms);
  host.break_off(0);
  CHECK(host.transport.links.size() == 1);
  CHECK(host.driver->over());
  CHECK(host.driver->broken_hosts() == std::vector{0});
}

namespace {

// Hosts with one rank each, that run and may be started again.
struct RestartedHosts {
  explicit RestartedHosts(int hosts, int max_restarts = 1, milliseconds delay = 1s,
                          std::vector<LogPolicy> policies = {}, bool is_leased = false) {
    plan.experiment.log_policies = std::move(policies);
    plan.trial = trial_of(std::vector<int>(static_cast<std::size_t>(hosts), 1));
    plan.experiment.entrypoint.shell = "true";
    plan.experiment.max_restarts = max_restarts;
    if (is_leased) plan.experiment.needs.custom["licence"] = Quantity::of(1);
    for (PlannedHost& host : plan.trial.hosts) {
      host.worker_count = 1;
      host.host.custom["licence"] = Quantity::of(1);
    }
    plan.experiment.restart_delay = delay;
    TaskDriver::Hooks hooks;
    hooks.on_restart = [this](const task_action::AnnounceRestart& restart) {
      delays.push_back(restart.delay);
    };
    hooks.on_match = [this](const LogPolicy&, const PolicyMatch& match) {
      matches.push_back(match);
    };
    driver.emplace(
        TaskDriver::Ports{timers, transport, output},
        TaskDriver::Work{
            plan,
            "t",
            {},
            "/",
            [](int, int attempt) {
              return std::vector<EnvironmentEntry>{{"COUNT", std::to_string(attempt), {}}};
            }},
        std::move(hooks));
    driver->start();
    for (int host = 0; host < hosts; ++host) open(static_cast<std::size_t>(host));
  }
  ManyLinks::Made& link(std::size_t number) { return transport.links.at(number); }
  void open(std::size_t number) {
    link(number).events.on_open({"10.0.0.1", "ssh"});
    link(number).say(message::Hello{wire_version, "h", "boot", 1, {}});
  }
  void say(std::size_t host, const Message& message, int attempt = 0) {
    link(host).say(about(message, {0, attempt}));
  }
  // Host 0 holds the port where the ranks meet.
  void ready(std::size_t host, int attempt = 0) {
    say(host, message::Ready{host == 0 ? std::vector{1'000} : std::vector<int>(), "/run"}, attempt);
  }
  void run(int attempt = 0) {
    const std::size_t hosts = plan.trial.hosts.size();
    for (std::size_t host = 0; host < hosts; ++host) {
      ready(host, attempt);
      if (!plan.experiment.needs.custom.empty()) say(host, message::Leases{}, attempt);
    }
    for (std::size_t host = 0; host < hosts; ++host)
      say(host, message::RankStarted{static_cast<int>(host), 100}, attempt);
  }
  // Rank 0 fails, the others are stopped.
  void fail(int attempt = 0) {
    const int hosts = static_cast<int>(plan.trial.hosts.size());
    for (int host = 0; host < hosts; ++host)
      say(static_cast<std::size_t>(host),
          message::RankEnded{host, host == 0 ? 3 : 143, {}, false, host > 0, timers.time, {}},
          attempt);
    for (int host = 0; host < hosts; ++host)
      say(static_cast<std::size_t>(host), message::Finished{}, attempt);
  }
  template <class M>
  std::vector<int> attempts_told(std::size_t host) {
    std::vector<int> found;
    for (const M& message : link(host).all<M>()) found.push_back(message.of.attempt);
    return found;
  }

  Plan plan;
  HandTimers timers;
  ManyLinks transport;
  KeptOutput output;
  std::vector<nanoseconds> delays;
  std::vector<PolicyMatch> matches;
  std::optional<TaskDriver> driver;
};

// What rank 0 prints on its host, of an attempt.
std::string output_frame(const std::string& bytes, std::uint64_t number = 1, int attempt = 0) {
  OutputChunk chunk;
  chunk.number = number;
  chunk.bytes = bytes;
  chunk.of.attempt = attempt;
  return encode_frame(FrameKind::output, encode_output(chunk));
}

LogPolicy policy(const char* pattern, bool cancels_retries) {
  LogPolicy made;
  made.pattern = pattern;
  made.cancels_retries = cancels_retries;
  return made;
}

}  // namespace

TEST_CASE("another attempt is a message over the connection that is there") {
  RestartedHosts hosts(2);
  hosts.run();
  hosts.fail();
  CHECK_FALSE(hosts.driver->over());
  REQUIRE(hosts.delays == std::vector<nanoseconds>{1s});
  CHECK(hosts.attempts_told<message::Prepare>(0) == std::vector{0});
  hosts.timers.pass(1s);
  for (const std::size_t host : {0u, 1u}) {
    CHECK(hosts.attempts_told<message::Forget>(host) == std::vector{0});
    CHECK(hosts.attempts_told<message::Prepare>(host) == std::vector{0, 1});
    CHECK(hosts.link(host).all<message::Prepare>()[1].ranks[0].environment[0].text == "1");
    CHECK(hosts.link(host).all<message::Bye>().empty());
  }
  CHECK(hosts.transport.links.size() == 2);
  hosts.run(1);
  CHECK(hosts.attempts_told<message::Go>(1) == std::vector{0, 1});
  hosts.fail(1);
  CHECK(hosts.driver->over());
  CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  REQUIRE(hosts.driver->outcome().cause);
  CHECK(hosts.driver->outcome().cause->rank == 0);
}

TEST_CASE("what a task has held it gets again before all who wait") {
  RestartedHosts hosts(2, 1, 1s, {}, true);
  hosts.run();
  hosts.fail();
  hosts.timers.pass(1s);
  for (const std::size_t host : {0u, 1u}) {
    const auto told = hosts.link(host).all<message::Prepare>();
    REQUIRE(told.size() == 2);
    CHECK(told[0].leases.wants.size() == 1);
    CHECK_FALSE(told[0].leases.order);
    CHECK(told[1].leases.order == TicketOrder{0, 0, "t"});
  }
}

TEST_CASE("a failure after a line that a policy calls hopeless is not followed by a restart") {
  RestartedHosts hosts(2, 3, 1s, {policy("memory", true)});
  hosts.run();
  SECTION("a line") { hosts.link(0).events.on_bytes(output_frame("out of memory\n")); }
  SECTION("a line without its end") { hosts.link(0).events.on_bytes(output_frame("memory")); }
  hosts.fail();
  REQUIRE(hosts.matches.size() == 1);
  CHECK(hosts.matches[0].rank == 0);
  CHECK(hosts.driver->over());
  CHECK(hosts.delays.empty());
}

TEST_CASE("other policies only tell, and each attempt is looked at anew") {
  RestartedHosts hosts(2, 1, 0ms, {policy("memory", false), policy("never", true)});
  hosts.run();
  hosts.link(0).events.on_bytes(output_frame("out of memory\nmemory\n"));
  hosts.fail();
  CHECK(hosts.matches == std::vector<PolicyMatch>{{0, 0, "out of memory"}});
  CHECK_FALSE(hosts.driver->over());
  hosts.timers.pass(1ms);
  hosts.run(1);
  hosts.link(0).events.on_bytes(output_frame("memory\n", 2, 1));
  hosts.fail(1);
  CHECK(hosts.matches.size() == 2);
  CHECK(hosts.driver->over());
}

TEST_CASE("nothing of a new attempt begins before every host has finished the old one") {
  RestartedHosts hosts(2, 1, 0ms);
  hosts.run();
  hosts.say(0, message::RankEnded{0, 3, {}, false, false, hosts.timers.time, {}});
  hosts.say(0, message::Finished{});
  hosts.timers.pass(5s);
  CHECK(hosts.attempts_told<message::Prepare>(0) == std::vector{0});
  hosts.say(1, message::RankEnded{1, 143, {}, false, true, hosts.timers.time, {}});
  CHECK(hosts.attempts_told<message::Prepare>(0) == std::vector{0});
  hosts.say(1, message::Finished{});
  CHECK(hosts.attempts_told<message::Prepare>(0) == std::vector{0, 1});
}

TEST_CASE("a kept host that goes on about an attempt that it has finished is given up") {
  RestartedHosts hosts(2, 1, 60s);
  hosts.run();
  hosts.fail();
  for (int i = 0; i < 1'000 && !hosts.link(1).is_closed; ++i) hosts.say(1, message::Finished{});
  hosts.timers.pass(1'100ms);  // an agent that has finished has a second to leave
  CHECK(hosts.link(1).is_closed);
  CHECK_FALSE(hosts.link(0).is_closed);
}

TEST_CASE("a stop during the delay says goodbye to all hosts at once") {
  RestartedHosts hosts(2);
  hosts.run();
  hosts.fail();
  hosts.driver->stop(2);
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().stop_signal == 2);
  REQUIRE(hosts.driver->outcome().others.size() == 1);
  CHECK(hosts.driver->outcome().others[0].rank == 0);
  for (const std::size_t host : {0u, 1u}) CHECK(hosts.link(host).all<message::Bye>().size() == 1);
}

TEST_CASE("an agent that may go on without its launcher has time to hear goodbye") {
  RestartedHosts hosts(2, 1, 0s);
  hosts.run();
  hosts.fail();
  // Of the next attempt nothing starts.
  hosts.ready(0, 1);
  hosts.say(1, message::Refused{{{{}, {}, "no such program", {}}}, ErrorClass::missing}, 1);
  CHECK(hosts.driver->over());
  hosts.timers.pass(0s);
  for (const std::size_t host : {0u, 1u}) {
    REQUIRE(hosts.link(host).all<message::Bye>().size() == 1);
    CHECK_FALSE(hosts.link(host).is_closed);
  }
  hosts.link(0).events.on_closed(make_error(ErrorClass::host, "the agent exited with status 0"));
  hosts.timers.pass(1s);
  for (const std::size_t host : {0u, 1u}) CHECK(hosts.link(host).is_closed);
}

TEST_CASE("a task whose first attempt starts nothing is not started again") {
  RestartedHosts hosts(2, 5);
  hosts.say(0, message::Refused{{{{}, {}, "no such program", {}}}, ErrorClass::missing});
  hosts.ready(1);
  CHECK(hosts.driver->over());
  CHECK(hosts.delays.empty());
}

TEST_CASE("a host that was lost is swept and reached anew for the next attempt") {
  RestartedHosts hosts(2);
  hosts.run();
  // Its agent answers to nobody: the host was started anew.
  hosts.link(1).events.on_closed(make_error(ErrorClass::host, "connection reset"));
  REQUIRE(hosts.transport.links.size() == 3);
  hosts.link(2).events.on_open({"10.0.0.2", "ssh"});
  hosts.link(2).say(message::NoAgent{"other boot"});
  hosts.say(0, message::RankEnded{0, 143, {}, false, true, hosts.timers.time, {}});
  hosts.say(0, message::Finished{});
  REQUIRE(hosts.transport.links.size() == 4);
  CHECK(hosts.link(3).call.verb == AgentCall::Verb::sweep);
  hosts.link(3).events.on_open({"10.0.0.2", "ssh"});
  hosts.link(3).events.on_bytes(encode_sweep_report({}) + "\n");
  REQUIRE(hosts.transport.links.size() == 5);
  CHECK(hosts.link(4).call.verb == AgentCall::Verb::attach);
  hosts.timers.pass(1s);
  CHECK(hosts.attempts_told<message::Prepare>(0) == std::vector{0, 1});
  hosts.link(4).events.on_open({"10.0.0.2", "ssh"});
  CHECK(hosts.attempts_told<message::Prepare>(4) == std::vector{1});
}

TEST_CASE("nothing goes over a link that is being opened, not even what was synced meanwhile") {
  RestartedHosts hosts(2, 1, 0s);
  hosts.run();
  hosts.link(0).print(1, 0, "last words");
  hosts.link(0).events.on_closed(make_error(ErrorClass::host, "connection reset"));
  hosts.link(2).events.on_open({"10.0.0.2", "ssh"});
  hosts.link(2).say(message::NoAgent{"other boot"});
  hosts.say(1, message::RankEnded{1, 143, {}, false, true, hosts.timers.time, {}});
  hosts.say(1, message::Finished{});
  hosts.link(3).events.on_open({"10.0.0.2", "ssh"});
  hosts.link(3).events.on_bytes(encode_sweep_report({}) + "\n");
  hosts.timers.pass(0s);
  REQUIRE(hosts.transport.links.size() == 5);
  hosts.output.is_kept = 1;
  hosts.driver->acknowledge_output();
  CHECK(hosts.link(4).sent.empty());
  hosts.link(4).events.on_open({"10.0.0.2", "ssh"});
  REQUIRE_FALSE(hosts.link(4).sent.empty());
  CHECK(std::holds_alternative<message::Attach>(hosts.link(4).sent.front()));
}

TEST_CASE("a host that speaks of an attempt that nobody has begun is none of ours") {
  RestartedHosts hosts(1);
  hosts.run();
  hosts.say(0, message::Finished{}, 1);
  CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  hosts.timers.pass(1s);
  CHECK(hosts.link(0).is_closed);
}

TEST_CASE("what a host says once more of an attempt that is over changes nothing, within bounds") {
  RestartedHosts hosts(1, 1, 0ms);
  hosts.run();
  hosts.fail();
  REQUIRE(hosts.attempts_told<message::Prepare>(0) == std::vector{0, 1});
  for (int i = 0; i < 20; ++i) hosts.say(0, message::Finished{}, 0);
  CHECK(hosts.link(0).all<message::Bye>().empty());
  for (int i = 0; i < 1'000; ++i) hosts.say(0, message::Finished{}, 0);
  CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  hosts.timers.pass(1s);
  CHECK(hosts.link(0).is_closed);
}
