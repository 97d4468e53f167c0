// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run_driver.hpp"

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
