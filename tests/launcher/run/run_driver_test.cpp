// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run_driver.hpp"

#include <deque>

#include "launcher/wire/frame.hpp"
#include "tests/catch.hpp"
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
  std::uint64_t kept() const override { return 0; }
  bool has_room() const override { return true; }
  void expect_end() override {}
};

}  // namespace

TEST_CASE("a host that talks all the time does not put off what is due") {
  Plan plan;
  plan.trial = trial_of({1});
  SlowTimers timers;
  OneHost transport;
  NoOutput output;
  RunDriver driver({timers, transport, output},
                   {plan, "t", {}, "/", [](int) { return std::vector<EnvironmentEntry>(); }},
                   {[] {}, [](const std::string&) {}, [](const std::string&) {}, {}, {}, [] {}});
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

// Links in the order in which they were opened; what is sent over them is kept as messages.
struct ManyLinks final : Transport {
  struct Made {
    LinkEvents events;
    AgentCall call;
    std::vector<Message> sent;
    bool is_closed = false;

    template <class M>
    std::vector<M> all() const {
      std::vector<M> found;
      for (const Message& message : sent)
        if (const auto* m = std::get_if<M>(&message)) found.push_back(*m);
      return found;
    }
    void say(const Message& message) const { events.on_bytes(frame_of(message)); }
    void print(std::uint64_t number, std::uint64_t begin, const std::string& bytes) const {
      const OutputChunk chunk{number, 0, OutputStream::out, bytes, 1'000s, begin};
      events.on_bytes(encode_frame(FrameKind::output, encode_output(chunk, OutputPacking::none)));
    }
  };
  struct Link final : HostLink {
    explicit Link(Made& of) : made(of) {}
    ~Link() override { made.is_closed = true; }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    void send(std::string bytes) override {
      FrameDecoder decoder(FrameSender::launcher);
      decoder.feed(bytes);
      const auto frame = decoder.next();
      const auto message = decode_message((**frame).payload);
      REQUIRE(message);
      made.sent.push_back(*message);
    }
    std::size_t unsent_bytes() const override { return 0; }
    Made& made;
  };

  std::unique_ptr<HostLink> open(const Host&, const AgentCall& call, LinkEvents events) override {
    return std::make_unique<Link>(links.emplace_back(Made{std::move(events), call, {}, false}));
  }
  std::deque<Made> links;
};

struct KeptOutput final : OutputSink {
  std::uint64_t take(OutputChunk chunk, nanoseconds) override {
    text += chunk.bytes;
    cost += cost_of(chunk);
    return ++taken;
  }
  std::uint64_t kept() const override { return is_kept; }
  bool has_room() const override { return true; }
  void expect_end() override {}
  std::string text;
  std::size_t cost = 0;
  std::uint64_t taken = 0;
  std::uint64_t is_kept = 0;
};

// Timers that a test lets come when it wants.
struct HandTimers final : Timers {
  struct Timer final : Subscription {
    std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  };
  struct Due {
    Instant at;
    std::weak_ptr<bool> wanted;
    std::function<void()> callback;
  };
  Instant now() const override { return time; }
  void post(std::function<void()> callback) override { callback(); }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    auto timer = std::make_unique<Timer>();
    due.push_back({time + delay, timer->wanted, std::move(callback)});
    return timer;
  }
  void pass(nanoseconds delay) {
    time += delay;
    for (std::size_t i = 0; i < due.size(); ++i) {
      if (due[i].at > time || !due[i].callback) continue;
      const auto callback = std::exchange(due[i].callback, nullptr);
      if (!due[i].wanted.expired()) callback();
    }
  }
  Instant time = 1'000s;
  std::deque<Due> due;
};

// One host with one rank, which runs.
struct RunningHost {
  explicit RunningHost(milliseconds window = 60s) {
    plan.trial = trial_of({1});
    plan.experiment.entrypoint.shell = "true";
    plan.experiment.reconnect_window = window;
    driver.emplace(
        RunDriver::Ports{timers, transport, output},
        RunDriver::Attempt{plan, "t", {}, "/", [](int) { return std::vector<EnvironmentEntry>(); }},
        RunDriver::Hooks{
            [] {}, [](const std::string&) {}, [](const std::string&) {}, {}, {}, [] {}});
    driver->start();
    link(0).events.on_open({"10.0.0.1", "ssh"});
    hello(0);
    link(0).say(message::Ready{{1'000}, "/run"});
    link(0).say(message::RankStarted{0, 100});
  }
  ManyLinks::Made& link(std::size_t number) { return transport.links.at(number); }
  void hello(std::size_t number) {
    link(number).say(message::Hello{wire_version, "h", "boot", 1, number > 0});
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
  std::optional<RunDriver> driver;
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
        message::Acknowledge{1, most_output_window + second});
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
  RunDriver driver({timers, transport, output},
                   {plan, "t", {}, "/", [](int) { return std::vector<EnvironmentEntry>(); }},
                   {[] {}, [](const std::string&) {}, [](const std::string&) {}, {}, {}, [] {}});
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
