// SPDX-License-Identifier: Apache-2.0
// The agent and its launcher: connections that come and go, the fence, and the launcher's death.
#include "launcher/agent/agent.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds window = 60s;
// The ranks of a bench have 7 s to end, which is less than a quarter of the window.
constexpr milliseconds grace = 7s;

Bench running(const std::vector<int>& ranks, milliseconds reconnect_window = window) {
  Bench b;
  b.window = reconnect_window;
  b.start(ranks);
  return b;
}

// The network breaks: the end of the stream comes long after the last word.
void cut(Bench& b) {
  b.now += Agent::sign_of_life + 1s;
  b.lose_link();
}

std::vector<std::string> names(const std::vector<AgentAction>& actions) {
  std::vector<std::string> found;
  for (const AgentAction& action : actions) {
    if (const auto* send = std::get_if<agent_action::SendMessage>(&action)) {
      const std::string text = encode_message(send->message);
      const std::size_t at = text.find("\"type\":\"") + 8;
      found.push_back(text.substr(at, text.find('"', at) - at));
    }
    if (std::holds_alternative<agent_action::SendOutput>(action)) found.emplace_back("output");
  }
  return found;
}

// Goes on in time from deadline to deadline; false when an agent wants to be called for ever at one
// instant.
bool run_until_gone(Bench& b, Instant limit) {
  for (int steps = 0; steps < 100; ++steps) {
    const auto deadline = b.agent.next_deadline();
    if (b.agent.gone() || !deadline || *deadline > limit) return true;
    b.tick(std::max(b.now, *deadline));
    if (has<agent_action::KillTree>(b.last)) b.on(agent_event::TreeKilled{});
  }
  return false;
}

}  // namespace

TEST_CASE("nothing is heard on a link before Attach, and the link is closed") {
  Bench b;
  b.link = 3;
  SECTION("a message") { b.say(message::Ping{1s}); }
  SECTION("a piece of a context") { b.on(agent_event::ContextReceived{3, "piece"}); }
  CHECK(b.last.size() == 1);
  CHECK(closed(b.last) == std::vector{3});
  CHECK_FALSE(b.agent.gone());
}

TEST_CASE("an agent whose maker goes before Attach leaves, and only then") {
  Bench b;
  CHECK(has<agent_action::Leave>(b.on(agent_event::LinkDown{1})));
  Bench nobody;
  nobody.say(message::Attach{wire_version, 0, 1, {}, 0});  // epochs count from 1
  CHECK(closed(nobody.last) == std::vector{nobody.link});
  Bench claimed;
  claimed.connect();
  CHECK(claimed.on(agent_event::LinkDown{claimed.link + 1}).empty());
}

TEST_CASE(
    "of two connections the one with the higher epoch counts, then that with the higher number") {
  struct Case {
    std::uint64_t epoch, connection;
    bool is_newer;
  };
  for (const Case& c : std::vector<Case>{{2, 5, true},
                                         {3, 1, true},
                                         {2, 4, false},
                                         {2, 3, false},
                                         {1, 9, false},
                                         {0, 0, false}}) {
    CAPTURE(c.epoch, c.connection);
    Bench b;
    b.link = 1;
    b.say(message::Attach{wire_version, 2, 4, {}, 100});
    REQUIRE(said<message::Hello>(b.last));
    b.link = 2;
    b.say(message::Attach{wire_version, c.epoch, c.connection, {}, 100});
    CHECK(closed(b.last) == std::vector{c.is_newer ? 1 : 2});
    CHECK(said<message::Hello>(b.last).has_value() == c.is_newer);
    // The end of the old link, which may still be told, is nobody's business.
    CHECK(b.on(agent_event::LinkDown{c.is_newer ? 1 : 2}).empty());
    b.link = c.is_newer ? 2 : 1;
    CHECK(said<message::Pong>(b.say(message::Ping{1s})));
  }
}

namespace {

// What is said on this link before it is closed.
template <class M>
std::optional<M> last_word(const std::vector<AgentAction>& actions, LinkId link) {
  for (const auto& close : all<agent_action::CloseLink>(actions))
    if (close.link == link && close.last_word)
      if (const auto* m = std::get_if<M>(&*close.last_word)) return *m;
  return std::nullopt;
}

}  // namespace

TEST_CASE("a launcher that another one has replaced hears so, and by whom, on every connection") {
  Bench b = running({0}, 60s);
  const LinkId of_the_first = b.link;
  const message::Attach second{wire_version, 2, 1, {{0, 0}}, 100, "process 7 on 'b'"};
  const message::Displaced displaced{2, "process 7 on 'b'"};
  b.link = of_the_first + 1;
  b.say(second);
  CHECK(last_word<message::Displaced>(b.last, of_the_first) == displaced);
  REQUIRE(said<message::Hello>(b.last));
  b.link = of_the_first + 2;
  CHECK(b.say(message::Attach{wire_version, 1, 9, {}, 100, "process 6 on 'a'"}).size() == 1);
  CHECK(last_word<message::Displaced>(b.last, b.link) == displaced);
  // Whatever it says behind that is nothing.
  CHECK(terminated(b.say(message::Stop{0ms})).empty());
  SECTION("also once the agent waits for nobody") {
    b.link = of_the_first + 1;
    b.say(message::Bye{});
    b.link = of_the_first + 3;
    b.say(message::Attach{wire_version, 1, 10, {}, 100});
    CHECK(last_word<message::Displaced>(b.last, b.link) == displaced);
  }
}

TEST_CASE("whoever comes to an agent that cannot end what it has started hears what is left") {
  const bool is_another = GENERATE(true, false);
  Bench b = running({0, 1}, 60s);
  b.say(message::Stop{1s});
  b.end(1, 0);
  const auto come = [&] {
    ++b.link;
    b.say(message::Attach{wire_version, is_another ? 2u : 1u, ++b.connection, {}, 100});
    CHECK(b.last.size() == 1);
    CHECK(closed(b.last) == std::vector{b.link});
    return last_word<message::LeftBehind>(b.last, b.link);
  };
  const Instant told = b.now;
  b.say(message::Bye{});
  CHECK(b.agent.state() == AgentState::abandoned);
  CHECK_FALSE(come());  // its ranks have time to end
  b.tick(told + 1s);
  REQUIRE(has<agent_action::KillTree>(b.last));
  b.now = told + 1s + Agent::kill_patience - 1ms;
  CHECK_FALSE(come());
  b.now += 1ms;
  auto left = come();
  REQUIRE(left);
  CHECK(*left == message::LeftBehind{{{100, 1'000, "true"}}});
  // What its last rank has left has no name here.
  b.on(agent_event::RankEnded{0, std::nullopt, 9, false, b.now, {}});
  left = come();
  REQUIRE(left);
  CHECK(left->survivors.empty());
  b.on(agent_event::TreeKilled{});
  CHECK(b.agent.gone());
}

TEST_CASE("a connection that is late, of the same launcher, is closed without a word") {
  Bench b = running({0}, 60s);
  const LinkId first = b.link;
  b.connect();
  CHECK(closed(b.last) == std::vector{first});
  CHECK_FALSE(all<agent_action::CloseLink>(b.last).front().last_word);
  ++b.link;
  b.say(message::Attach{wire_version, 1, b.connection, {}, 100});
  CHECK(closed(b.last) == std::vector{b.link});
  CHECK_FALSE(all<agent_action::CloseLink>(b.last).front().last_word);
}

TEST_CASE("a launcher of another version hears which one the agent speaks, and no more") {
  Bench b = running({0}, 60s);
  ++b.link;
  b.say(message::Attach{wire_version + 1, 1, 1, {}, 100});
  CHECK(b.last.size() == 1);
  const auto hello = last_word<message::Hello>(b.last, b.link);
  REQUIRE(hello);
  CHECK(hello->version == wire_version);
  CHECK(hello->attempts.empty());
}

TEST_CASE("without a window a launcher that is lost takes its ranks along, as ever") {
  Bench b = running({0}, 0ms);
  CHECK_FALSE(has<agent_action::SetFence>(b.last));
  CHECK(b.agent.next_deadline() == b.now + Agent::silence_limit);
  cut(b);
  CHECK(terminated(b.last) == std::vector{0});
  CHECK(b.agent.next_deadline() == b.now + grace);
  b.connect();  // it has been given up
  CHECK(closed(b.last) == std::vector{b.link});
  b.tick(b.now + grace);
  CHECK(has<agent_action::Leave>(b.on(agent_event::TreeKilled{})));
}

TEST_CASE("before the ranks were told to start, the agent leaves with its launcher") {
  Bench b;
  b.window = window;
  b.make_ready({0});
  CHECK(b.agent.next_deadline() == b.now + Agent::silence_limit);
  SECTION("a broken connection") { cut(b); }
  SECTION("silence") { b.tick(b.now + Agent::silence_limit); }
  CHECK(has<agent_action::Leave>(b.last));
}

TEST_CASE("ranks go on while the network is away, and nothing of what happened is lost") {
  Bench b = running({0, 1, 2});
  b.print(0, "taken ");
  b.print(0, "sent ");
  b.say(message::Acknowledge{1, b.credit});
  cut(b);
  CHECK(b.last.empty());
  CHECK(b.print(0, "waiting").empty());
  b.now += 2s;
  CHECK(b.end(1, 3).empty());
  b.on(agent_event::RankNotStarted{2, "gone"});
  b.on(agent_event::PortTaken{29'500, 7});
  CHECK(b.last.empty());
  b.now += 10s;
  b.connect({{0, 6}});
  CHECK(names(b.last) == std::vector<std::string>{"hello", "ready", "started", "started", "started",
                                                  "ended", "not_started", "port_taken", "output",
                                                  "output"});
  CHECK(said<message::Hello>(b.last) ==
        message::Hello{wire_version, "node1", "boot", 42, {{{}, true, message::OwnStop::none}}});
  CHECK(said<message::RankEnded>(b.last)->at == b.now - 10s);
  CHECK(output(b.last) == "sent waiting");
  const auto first = all<agent_action::SendOutput>(b.last).front().chunk;
  CHECK(first->number == 1);
  CHECK(first->begin == 6);
  b.end(0, 0);
  b.on(agent_event::TreeKilled{});
  CHECK(said<message::Finished>(b.say(message::Acknowledge{2, b.credit})));
  CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
}

TEST_CASE("what is repeated is bounded and comes once") {
  Bench b = running({0, 1});
  for (int i = 0; i < 100; ++i) {
    b.on(agent_event::PortTaken{29'500, i});
    CHECK(said<message::PortTaken>(b.last));
  }
  b.end_all({0, 1});
  for (int i = 0; i < 100; ++i) CHECK(said<message::Finished>(b.say(message::Stop{1s})));
  b.connect();
  CHECK(names(b.last) == std::vector<std::string>{"hello", "ready", "started", "started",
                                                  "port_taken", "ended", "ended", "finished"});
}

TEST_CASE("error files that are kept to be repeated are bounded, and the first ones count") {
  std::vector<int> ranks;
  for (int rank = 0; rank < 200; ++rank) ranks.push_back(rank);
  Bench b = running(ranks);
  const std::string text(60'000, 'x');
  for (const int rank : ranks) {
    b.on(agent_event::RankEnded{rank, 1, std::nullopt, false, b.now, text});
    CHECK(said<message::RankEnded>(b.last)->error_file == text);  // the first time it is whole
  }
  b.connect();
  std::size_t kept = 0;
  int ended = 0;
  for (const auto& send : all<agent_action::SendMessage>(b.last))
    if (const auto* end = std::get_if<message::RankEnded>(&send.message)) {
      if (end->rank == 0) CHECK(end->error_file == text);
      kept += end->error_file.size();
      ++ended;
    }
  CHECK(ended == 200);
  CHECK(kept <= 4u << 20);
  CHECK(kept > 3u << 20);
}

TEST_CASE("the fence is a window after what the launcher has proven to have heard") {
  Bench b = running({0});
  const Instant ready = b.now;
  CHECK(b.agent.next_deadline() == ready + window - grace);
  b.now += 20s;
  b.ping(Instant(0));  // it has had no answer yet
  CHECK(b.agent.next_deadline() == ready + window - grace);
  CHECK_FALSE(has<agent_action::SetFence>(b.last));
  b.ping(ready + 18s);
  REQUIRE(has<agent_action::SetFence>(b.last));
  CHECK(all<agent_action::SetFence>(b.last).front().at == ready + 18s + window);
  CHECK(b.agent.next_deadline() == ready + 18s + window - grace);
  b.ping(ready + 5s);   // never back
  b.ping(ready + 20s);  // a step that is too small for the guard
  CHECK_FALSE(has<agent_action::SetFence>(b.last));
  CHECK(b.agent.next_deadline() == ready + 20s + window - grace);
  b.ping(ready + 1h);  // nobody has heard what we did not say yet
  CHECK(b.agent.next_deadline() == b.now + window - grace);
}

TEST_CASE("output waits while no answer to a ping gets through, and goes on with the first") {
  Bench b = running({0});
  const Instant start = b.now;
  const auto printed = [&](Instant at) {
    b.now = at;
    return has<agent_action::SendOutput>(b.print(0, "line\n"));
  };
  CHECK(printed(start + 14s));
  CHECK_FALSE(printed(start + 15s));
  CHECK_FALSE(printed(start + 20s));
  // A ping that knows of no newer answer changes nothing; one that does lets all go that waits.
  CHECK_FALSE(has<agent_action::SendOutput>(b.say(message::Ping{1s, start})));
  CHECK(has<agent_action::SendOutput>(b.say(message::Ping{2s, start + 10s})));
  CHECK(printed(start + 24s));
  // A new connection is a sign of life as well.
  cut(b);
  b.now = start + 40s;
  b.connect();
  CHECK(has<agent_action::SendOutput>(b.print(0, "line\n")));
  // Without a window nothing depends on it.
  Bench unfenced = running({0}, 0s);
  unfenced.now += 30s;
  CHECK(has<agent_action::SendOutput>(unfenced.print(0, "line\n")));
}

TEST_CASE("at the fence every rank is dead, and before it they are told to end") {
  const bool is_link_up = GENERATE(false, true);  // silence is silence
  Bench b = running({0, 1});
  const Instant fence = b.now + window;
  if (!is_link_up) cut(b);
  CHECK(b.tick(fence - grace - 1ns).empty());
  CHECK(terminated(b.tick(fence - grace)) == std::vector{0, 1});
  // Whoever may hear again on this connection is told; on another one Hello does.
  CHECK(said<message::StopsRanks>(b.last).has_value() == is_link_up);
  if (is_link_up)
    CHECK(said<message::StopsRanks>(b.last) ==
          message::StopsRanks{message::OwnStop::silence, fence - grace});
  CHECK(b.agent.next_deadline() == fence);
  CHECK_FALSE(has<agent_action::KillTree>(b.tick(fence - 1ns)));
  b.tick(fence);
  CHECK(has<agent_action::KillTree>(b.last));
  CHECK_FALSE(said<message::StopsRanks>(b.last));  // once
  CHECK(all<agent_action::SetFence>(b.last).at(0).at == std::nullopt);
  b.on(agent_event::TreeKilled{});
  CHECK(run_until_gone(b, fence + 1s));
  CHECK(b.agent.gone());
}

// It was on its way for that long: the launcher may have started them elsewhere since.
TEST_CASE("ranks that are told to start behind the fence are not started") {
  Bench b;
  b.window = window;
  b.make_ready({0, 1});
  const Instant ready = b.now;
  b.now = ready + window;
  b.say(message::Go{"10.0.0.1", 29'500});
  CHECK_FALSE(has<agent_action::StartRank>(b.last));
  CHECK(said<message::StopsRanks>(b.last) ==
        message::StopsRanks{message::OwnStop::silence, ready + window});
  const auto told = said<message::RankNotStarted>(b.last);
  REQUIRE(told);
  CHECK(told->error_class == ErrorClass::host);
  CHECK(has<agent_action::KillTree>(b.last));

  Bench in_time;
  in_time.window = window;
  in_time.make_ready({0});
  in_time.now += window - 1ms;
  in_time.say(message::Go{"10.0.0.1", 29'500});
  CHECK(has<agent_action::StartRank>(in_time.last));

  Bench unfenced;
  unfenced.make_ready({0});
  unfenced.now += window;
  unfenced.say(message::Go{"10.0.0.1", 29'500});
  CHECK(has<agent_action::StartRank>(unfenced.last));
}

TEST_CASE("with a short window the ranks keep three quarters of it") {
  Bench b = running({0}, 12s);
  cut(b);
  CHECK(b.tick(b.agent.next_deadline().value()).size() == 2);
  CHECK(b.now == 1000s + 9s);
  CHECK(has<agent_action::MakeStopFile>(b.last));
  CHECK(terminated(b.last) == std::vector{0});
}

TEST_CASE("before the fence there is a notice, as far as the grace leaves time for one") {
  Bench b;
  b.window = 60s;
  b.stop_notice = GENERATE(2s, 30s);
  b.start({0});
  // A quarter of the window at most: of these 15 s, the grace takes 7.
  const milliseconds notice = std::min(b.stop_notice, milliseconds(8s));
  const Instant fence = b.now + 60s;
  const Instant last_call = fence - notice - 7s;
  CHECK_FALSE(has<agent_action::MakeStopFile>(b.tick(last_call - 1ns)));
  b.tick(last_call);
  CHECK(has<agent_action::MakeStopFile>(b.last));
  CHECK(terminated(b.last).empty());
  CHECK(terminated(b.tick(fence - 7s)) == std::vector{0});
  CHECK(has<agent_action::KillTree>(b.tick(fence)));
}

TEST_CASE("a stop with a long grace does not outlive the fence") {
  const bool says_bye = GENERATE(false, true);
  Bench b = running({0});
  const Instant fence = b.now + window;
  b.say(message::Stop{1h});
  if (says_bye)
    b.say(message::Bye{});
  else
    cut(b);
  CHECK(b.agent.next_deadline() == (says_bye ? b.now + grace : fence));
  Bench dismissed = running({0});
  dismissed.tick(fence - grace);  // ignored by the rank
  dismissed.now = fence - 1s;
  dismissed.on(agent_event::Dismissed{});
  CHECK(dismissed.agent.next_deadline() == fence);
  CHECK(has<agent_action::KillTree>(dismissed.tick(fence)));
}

TEST_CASE("a launcher that comes back after its host has stopped the ranks is told so") {
  Bench b = running({0, 1});
  const Instant fence = b.now + window;
  cut(b);
  b.tick(fence - grace);
  b.print(0, "saved\n");
  b.end(0, 143);
  b.now += 1s;
  b.connect();
  CHECK(said<message::Hello>(b.last)->attempts.at(0).stop == message::OwnStop::silence);
  CHECK(said<message::Hello>(b.last)->attempts.at(0).has_started);
  CHECK(said<message::RankEnded>(b.last)->after_stop);
  CHECK(output(b.last) == "saved\n");
  // The stop stays a stop, though the fence is further away now.
  b.ping(b.now);
  CHECK(has<agent_action::KillTree>(b.tick(fence)));
}

TEST_CASE("the end of the stream of a launcher that was just heard is its death") {
  Bench b = running({0});
  b.now += Agent::sign_of_life;
  b.lose_link();
  CHECK(b.last.empty());
  const Instant death = b.now;
  CHECK(b.agent.next_deadline() == death + brief_launcher_wait);
  SECTION("and its ranks are stopped after a while") {
    CHECK(b.tick(death + brief_launcher_wait - 1ns).empty());
    CHECK(terminated(b.tick(death + brief_launcher_wait)) == std::vector{0});
    CHECK(b.agent.next_deadline() == b.now + grace);
    SECTION("which a launcher that comes later is told") {
      CHECK(said<message::Hello>(b.connect())->attempts.at(0).stop == message::OwnStop::launcher);
    }
    SECTION("and there is nobody to wait for") {
      CHECK(has<agent_action::KillTree>(b.tick(b.now + grace)));
      CHECK(has<agent_action::Leave>(b.on(agent_event::TreeKilled{})));
    }
  }
  SECTION("unless it comes back") {
    b.now += brief_launcher_wait - 1ns;
    b.connect();
    CHECK(b.tick(death + brief_launcher_wait).empty());
    CHECK(b.agent.next_deadline() == Instant(1000s) + window - grace);
  }
}

TEST_CASE("ranks that are to outlive their launcher go on without one, and without a fence") {
  const milliseconds reconnect_window = GENERATE(0ms, 60'000ms);
  Bench b;
  b.window = reconnect_window;
  b.launcher_wait = for_ever;
  b.start({0, 1});
  CHECK_FALSE(has<agent_action::SetFence>(b.last));
  const bool is_death = GENERATE(true, false);
  if (is_death)
    b.lose_link();
  else
    cut(b);
  CHECK(b.last.empty());
  CHECK_FALSE(b.agent.next_deadline());
  CHECK(b.tick(b.now + 24h * 365).empty());
  SECTION("another launcher takes them over") {
    b.end(0, 3);
    b.say(message::Attach{wire_version, 1, 1, {}, b.credit});  // a word of the old one
    CHECK_FALSE(said<message::Hello>(b.last));
    ++b.link;
    const auto hello = said<message::Hello>(
        b.say(message::Attach{wire_version, 2, 1, {{0, 0}, {1, 0}}, b.credit}));
    REQUIRE(hello);
    CHECK(hello->attempts.at(0).stop == message::OwnStop::none);
    CHECK(said<message::RankEnded>(b.last)->code == 3);
    b.say(message::Stop{1s});
    CHECK(terminated(b.last) == std::vector{1});
  }
  SECTION("and when all have ended, the agent waits to be asked for their ends") {
    b.end_all({0, 1});
    const Instant end = b.now;
    CHECK(b.agent.next_deadline() == end + Agent::idle_limit);
    CHECK(b.tick(end + Agent::idle_limit - 1ns).empty());
    SECTION("and gets a launcher that comes late") {
      b.connect();
      CHECK(said<message::Finished>(b.last));
      CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
    }
    SECTION("but not for ever") {
      CHECK(has<agent_action::Leave>(b.tick(end + Agent::idle_limit)));
    }
  }
}

TEST_CASE(
    "an agent without a fence goes at last when its launcher is silent and its stream never ends") {
  Bench b;
  b.launcher_wait = for_ever;
  b.start({0});
  b.end_all({0});
  const Instant end = b.now;
  CHECK(b.agent.next_deadline() == end + Agent::idle_limit);
  CHECK(has<agent_action::Leave>(b.tick(end + Agent::idle_limit)));
}

TEST_CASE("ranks may outlive their launcher for a time, which is then the fence of silence, too") {
  Bench b;
  b.window = 60s;
  b.launcher_wait = 1h;
  b.start({0});
  const Instant ready = b.now;
  CHECK(b.agent.next_deadline() == ready + 1h - grace);
  b.now += 2s;
  b.ping(b.now);
  b.now += 1s;
  b.lose_link();
  CHECK(b.agent.next_deadline() == ready + 2s + 1h - grace);
  CHECK(terminated(b.tick(ready + 2s + 1h - grace)) == std::vector{0});
}

TEST_CASE("an agent whose ranks have ended waits for its launcher, as long as the ranks would") {
  const bool has_output = GENERATE(false, true);
  Bench b = running({0});
  const Instant fence = b.now + window;
  const bool is_death = GENERATE(false, true);
  if (is_death)
    b.lose_link();
  else
    cut(b);
  if (has_output) b.print(0, "last words");
  b.end_all({0});
  CHECK(b.agent.attempts().at({}).state() ==
        (has_output ? AgentAttemptState::flushing : AgentAttemptState::finished));
  SECTION("which comes") {
    b.now += 2s;
    b.connect();
    CHECK(said<message::RankEnded>(b.last)->code == 0);
    CHECK(said<message::Finished>(b.last).has_value() == !has_output);
    CHECK(output(b.last) == (has_output ? "last words" : ""));
    if (has_output) CHECK(said<message::Finished>(b.say(message::Acknowledge{1, b.credit})));
    b.ping(b.now);
    CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
  }
  SECTION("which does not") {
    const Instant end = is_death ? b.now + brief_launcher_wait : fence;
    CHECK(b.agent.next_deadline() == end);
    CHECK_FALSE(has<agent_action::Leave>(b.tick(end - 1ns)));
    CHECK(has<agent_action::Leave>(b.tick(end)));
  }
}

TEST_CASE("ranks whose output nobody takes wait, can be stopped, and go on when somebody does") {
  Bench b(1'000);
  b.window = window;
  b.start({0});
  const Instant fence = b.now + window;
  cut(b);
  b.print(0, std::string(900, 'x'));
  CHECK(b.last.empty());
  b.print(0, std::string(900, 'y'));
  REQUIRE(has<agent_action::PauseReading>(b.last));
  SECTION("at the fence") {
    CHECK(terminated(b.tick(fence - grace)) == std::vector{0});
    CHECK(has<agent_action::KillTree>(b.tick(fence)));
  }
  SECTION("when the launcher is back") {
    b.connect();
    CHECK(output(b.last).size() == 1'800);
    CHECK_FALSE(has<agent_action::ResumeReading>(b.last));
    CHECK(has<agent_action::ResumeReading>(b.say(message::Acknowledge{2, b.credit, 2})));
  }
  SECTION("when the launcher had taken it all before the cut") {
    b.connect({{0, 1'800}});
    CHECK(output(b.last).empty());
    CHECK_FALSE(has<agent_action::ResumeReading>(b.last));  // it may still lose it
    CHECK(has<agent_action::ResumeReading>(b.say(message::Acknowledge{1, b.credit, 1})));
  }
}

TEST_CASE(
    "a launcher that knows of output that was never printed is none, nor one that attaches twice") {
  Bench b = running({0});
  b.print(0, "x");
  SECTION("a position that cannot be") { b.connect({{0, 2}}); }
  SECTION("a rank that is another host's") { b.connect({{7, 1}}); }
  SECTION("a second Attach") { b.say(message::Attach{wire_version, 1, 2, {}, 0}); }
  CHECK(terminated(b.last) == std::vector{0});
  b.connect();
  CHECK(closed(b.last) == std::vector{b.link});
}

TEST_CASE("what ranks print until they end is passed on by an agent that is dismissed") {
  Bench b = running({0});
  const bool is_away = GENERATE(false, true);
  if (is_away) cut(b);
  b.on(agent_event::Dismissed{});
  CHECK(said<message::AgentFailed>(b.last).has_value() == !is_away);
  CHECK(terminated(b.last) == std::vector{0});
  b.print(0, "last words");
  if (is_away) {
    b.end(0, 143);
    b.on(agent_event::TreeKilled{});
    b.connect();
    CHECK(said<message::AgentFailed>(b.last));
    CHECK(said<message::RankEnded>(b.last)->after_stop);
    CHECK(output(b.last) == "last words");
  } else {
    CHECK(output(b.last) == "last words");
    CHECK(said<message::RankEnded>(b.end(0, 143))->after_stop);
    b.on(agent_event::TreeKilled{});
  }
  CHECK_FALSE(b.agent.gone());
  CHECK(said<message::Finished>(b.say(message::Acknowledge{1, b.credit})));
  CHECK_FALSE(b.agent.gone());
  SECTION("and leaves when the launcher says goodbye") { b.say(message::Bye{}); }
  SECTION("and leaves when it does not") {
    const Instant end = b.now + Agent::dismissal_limit;
    CHECK(b.agent.next_deadline() == end);
    b.now += 2s;
    b.ping(b.now);  // it is there
    b.tick(end);
  }
  CHECK(has<agent_action::Leave>(b.last));
}

TEST_CASE("an agent that is dismissed waits for a launcher that is away and may come back") {
  const bool has_fence = GENERATE(true, false);
  Bench b;
  b.window = window;
  if (!has_fence) b.launcher_wait = for_ever;
  b.start({0});
  const Instant fence = b.now + window;
  const bool is_silent = GENERATE(false, true);
  const bool has_ended = GENERATE(false, true);
  CAPTURE(has_fence, is_silent, has_ended);
  if (is_silent)  // its network is gone, and the connection is there
    b.now += Agent::sign_of_life + 1s;
  else
    cut(b);
  if (has_ended) b.end_all({0});
  b.on(agent_event::Dismissed{});
  const Instant dismissed = b.now;
  if (!has_ended) {
    b.print(0, "last words");
    b.end_all({0});
  }
  CHECK_FALSE(has<agent_action::Leave>(b.tick(dismissed + Agent::dismissal_limit)));
  const Instant latest = has_fence ? fence : dismissed + Agent::longest_dismissal;
  CHECK(b.agent.next_deadline() == latest);
  CHECK_FALSE(has<agent_action::Leave>(b.tick(latest - 10s)));
  SECTION("who does") {
    b.connect();
    CHECK(said<message::AgentFailed>(b.last));
    CHECK(said<message::RankEnded>(b.last));
    CHECK(output(b.last) == (has_ended ? "" : "last words"));
    if (!has_ended) b.say(message::Acknowledge{1, b.credit});
    CHECK(said<message::Finished>(b.last));
    const Instant end = b.now + Agent::dismissal_limit;
    b.now += 2s;
    b.ping(b.now);
    CHECK(b.agent.next_deadline() == end);
    CHECK(has<agent_action::Leave>(b.tick(end)));
  }
  SECTION("who does not") { CHECK(has<agent_action::Leave>(b.tick(latest))); }
}

TEST_CASE("an agent that is dismissed waits for a launcher that takes its output slowly") {
  Bench b = running({0});
  b.on(agent_event::Dismissed{});
  const Instant dismissed = b.now;
  b.print(0, "last words");
  b.end_all({0});
  for (; b.now < dismissed + 50s; b.now += 2s) {
    b.ping(b.now);
    REQUIRE_FALSE(has<agent_action::Leave>(b.tick(b.now)));
  }
  CHECK(b.agent.next_deadline() == dismissed + Agent::longest_dismissal);
  SECTION("which is given up at last") {
    CHECK(has<agent_action::Leave>(b.tick(dismissed + Agent::longest_dismissal)));
  }
  SECTION("which has taken it") {
    CHECK(said<message::Finished>(b.say(message::Acknowledge{1, b.credit})));
    CHECK(b.agent.next_deadline() == b.now + Agent::dismissal_limit);
  }
}

TEST_CASE("an agent that is dismissed and has nothing for its launcher leaves") {
  Bench b = running({0});
  b.end_all({0});
  CHECK(has<agent_action::Leave>(b.on(agent_event::Dismissed{})));
}

TEST_CASE("an agent that is dismissed begins nothing") {
  Bench b = running({0});
  b.on(agent_event::Dismissed{});
  message::Prepare next;
  next.of = {1, 0};
  CHECK(said<message::Refused>(b.say(next)));
}

TEST_CASE("an agent that is dismissed twice waits for nobody") {
  Bench b = running({0});
  b.print(0, "x");
  b.on(agent_event::Dismissed{});
  CHECK(terminated(b.last) == std::vector{0});
  CHECK(b.agent.next_deadline() == b.now + grace);
  b.on(agent_event::Dismissed{});
  CHECK(b.agent.next_deadline() == b.now + grace);
  b.connect();
  CHECK(closed(b.last) == std::vector{b.link});
  b.end(0, 143);
  CHECK(has<agent_action::Leave>(b.on(agent_event::TreeKilled{})));
}

TEST_CASE("a failure of the agent is told on every connection") {
  Bench b = running({0});
  cut(b);
  b.on(agent_event::Failed{"no thread"});
  CHECK(terminated(b.last) == std::vector{0});
  b.connect();
  CHECK(said<message::Hello>(b.last)->attempts.at(0).stop == message::OwnStop::failure);
  CHECK(said<message::AgentFailed>(b.last) == message::AgentFailed{"no thread"});
}

TEST_CASE("no deadline of the past keeps an agent awake") {
  const milliseconds reconnect_window = GENERATE(0ms, 12'000ms, 60'000ms);
  const int how = GENERATE(range(0, 6));
  CAPTURE(reconnect_window.count(), how);
  Bench b = running({0, 1}, reconnect_window);
  const Instant late = b.now + 1h;
  if (how == 0) b.lose_link();
  if (how == 1) cut(b);
  if (how == 2) b.on(agent_event::Dismissed{});
  if (how == 3) b.say(message::Stop{30s});
  if (how == 4) b.now += 10min;  // the machine was asleep
  if (how == 5) {
    b.end(0, 0);
    b.lose_link();
    b.now += 10min;
  }
  CHECK(run_until_gone(b, late));
  CHECK(b.agent.gone());
}

TEST_CASE("a launcher that lacks output of a finished attempt is told its end behind that") {
  Bench b;
  b.window = 60s;
  b.start({0});
  b.print(0, "hello");
  b.end_all({0});
  REQUIRE(said<message::Finished>(b.say(message::Acknowledge{1, b.credit})));  // not synced
  b.lose_link();
  b.connect({{0, 2}});
  CHECK(said<message::RankEnded>(b.last));
  CHECK_FALSE(said<message::Finished>(b.last));
  REQUIRE(all<agent_action::SendOutput>(b.last).size() == 1);
  CHECK(all<agent_action::SendOutput>(b.last).front().chunk->bytes == "llo");
  CHECK_FALSE(said<message::Finished>(b.say(message::Stop{0s})));
  CHECK(said<message::Finished>(b.say(message::Acknowledge{1, b.credit})));
  b.lose_link();
  b.connect({{0, 5}});
  CHECK(said<message::Finished>(b.last));
}
