// SPDX-License-Identifier: Apache-2.0
// The agent and its attempts: one after the other, and those of several trials beside each other.
#include "launcher/agent/agent.hpp"
#include "launcher/wire/message_limits.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr AttemptId first{0, 0};
constexpr AttemptId second{0, 1};
constexpr AttemptId other_trial{1, 0};
constexpr milliseconds window = 60s;
constexpr milliseconds grace = 7s;

/// A bench whose messages and events name their attempt.
struct Attempts : Bench {
  explicit Attempts(std::size_t capacity = OutputQueue::usual_capacity) : Bench(capacity) {
    window = ::window;
    connect();
  }

  std::vector<AgentAction> say_of(AttemptId of, Message m) { return say(about(std::move(m), of)); }
  std::vector<AgentAction> ask_for(AttemptId of) {
    message::Prepare m{"taskid", {}, 1, {}, grace, window};
    m.ranks.push_back({0, {"true", {}}, "/", {}});
    return say_of(of, m);
  }
  std::vector<AgentAction> check(AttemptId of) {
    return on(agent_event::HostChecked{{}, {29'500}, "/r", ErrorClass::missing, {}, of});
  }
  void run(AttemptId of) {
    ask_for(of);
    check(of);
    say_of(of, message::Go{"10.0.0.1", 29'500});
    on(agent_event::RankStarted{0, 100, of});
  }
  std::vector<AgentAction> print_of(AttemptId of, std::string_view bytes) {
    return on(agent_event::RankPrinted{0, OutputStream::out, bytes, of});
  }
  std::vector<AgentAction> end_of(AttemptId of, int code = 0) {
    return on(agent_event::RankEnded{0, code, std::nullopt, false, now, {}, of});
  }
  std::vector<AgentAction> killed(AttemptId of) { return on(agent_event::TreeKilled{{}, of}); }
  void finish(AttemptId of) {
    end_of(of);
    killed(of);
  }
  std::vector<AgentAction> forget(AttemptId of) { return say(message::Forget{of}); }
};

std::vector<AttemptId> told_to_die(const std::vector<AgentAction>& actions) {
  std::vector<AttemptId> found;
  for (const auto& action : all<agent_action::KillTree>(actions)) found.push_back(action.of);
  return found;
}

template <class M>
std::vector<AttemptId> attempts_of(const std::vector<AgentAction>& actions) {
  std::vector<AttemptId> found;
  for (const auto& send : all<agent_action::SendMessage>(actions))
    if (const auto* m = std::get_if<M>(&send.message)) found.push_back(m->of);
  return found;
}

}  // namespace

TEST_CASE("another attempt runs once the one before it has ended") {
  Attempts b;
  b.run(first);
  b.finish(first);
  CHECK(said<message::Finished>(b.last)->of == first);
  CHECK_FALSE(b.agent.gone());
  b.forget(first);
  CHECK(all<agent_action::ForgetAttempt>(b.last).at(0).of == first);
  CHECK(b.agent.attempts().empty());
  b.ask_for(second);
  CHECK(all<agent_action::CheckHost>(b.last).at(0).of == second);
  CHECK(said<message::Ready>(b.check(second))->of == second);
  b.say_of(second, message::Go{"a", 1});
  CHECK(all<agent_action::StartRank>(b.last).at(0).of == second);
  b.on(agent_event::RankStarted{0, 200, second});
  CHECK(said<message::RankStarted>(b.last) == message::RankStarted{0, 200, second});
}

TEST_CASE("an attempt need not be forgotten before the next one of its trial begins") {
  Attempts b;
  b.run(first);
  b.finish(first);
  b.ask_for(second);
  CHECK(has<agent_action::CheckHost>(b.last));
  CHECK(b.agent.attempts().size() == 2);
}

// A launcher that has come after the one that was told may ask for it.
TEST_CASE(
    "an attempt of which a process could not be ended is not forgotten, and none follows it") {
  Attempts b;
  b.run(first);
  b.end_of(first);
  b.on(agent_event::TreeKilled{{{105, 0, "true"}}, first});
  CHECK_FALSE(has<agent_action::ForgetAttempt>(b.forget(first)));
  CHECK(b.agent.attempts().size() == 1);
  b.ask_for(second);
  REQUIRE(said<message::Refused>(b.last));
  CHECK(said<message::Refused>(b.last)->error_class == ErrorClass::host);
  CHECK(said<message::Refused>(b.last)->problems.front().message ==
        "process 105 (true) of attempt 0 of this trial could not be ended there");
  CHECK_FALSE(has<agent_action::CheckHost>(b.last));
  b.ask_for(other_trial);
  CHECK(has<agent_action::CheckHost>(b.last));
}

TEST_CASE("an attempt is refused while another one of its trial has not ended") {
  Attempts b;
  b.run(first);
  b.ask_for(second);
  REQUIRE(said<message::Refused>(b.last));
  CHECK(said<message::Refused>(b.last)->of == second);
  CHECK(said<message::Refused>(b.last)->problems.front().message ==
        "attempt 0 of this trial has not ended there");
  CHECK_FALSE(has<agent_action::CheckHost>(b.last));
  CHECK_FALSE(has<agent_action::StartRank>(b.say_of(second, message::Go{"a", 1})));
  // The refusal is told again, until it is known.
  b.connect();
  CHECK(attempts_of<message::Refused>(b.last) == std::vector{second});
  b.forget(second);
  CHECK_FALSE(has<agent_action::ForgetAttempt>(b.forget(first)));  // it runs
  b.connect();
  CHECK(attempts_of<message::Refused>(b.last).empty());
}

TEST_CASE("what is said again of an attempt changes nothing") {
  Attempts b;
  b.run(second);
  CHECK(b.ask_for(second).empty());
  CHECK(b.ask_for(first).empty());  // an older one
  CHECK(b.say_of(second, message::Go{"a", 1}).empty());
  CHECK(b.say_of(other_trial, message::Go{"a", 1}).empty());
  CHECK(b.forget(second).empty());
  CHECK(b.forget(other_trial).empty());
  b.finish(second);
  b.forget(second);
  CHECK(b.ask_for(second).empty());  // forgotten, and never begun again
  CHECK(said<message::Finished>(b.say_of(second, message::Stop{0s}))->of == second);
}

TEST_CASE("an attempt that was stopped before it came never begins") {
  Attempts b;
  b.say_of(second, message::Stop{1s});
  CHECK(said<message::Finished>(b.last)->of == second);
  CHECK(b.ask_for(second).empty());
  CHECK(has<agent_action::ForgetAttempt>(b.forget(second)));
  CHECK(b.ask_for(second).empty());
  b.ask_for({0, 2});
  CHECK(has<agent_action::CheckHost>(b.last));
}

TEST_CASE("one of several trials is stopped and killed, and the others run") {
  Attempts b;
  b.run(first);
  b.run(other_trial);
  b.say_of(first, message::Stop{5s});
  CHECK(all<agent_action::TerminateRank>(b.last).size() == 1);
  CHECK(all<agent_action::TerminateRank>(b.last).at(0).of == first);
  CHECK(told_to_die(b.tick(b.now + 5s)) == std::vector{first});
  b.end_of(first, 143);
  CHECK(said<message::RankEnded>(b.last)->after_stop);
  b.killed(first);
  CHECK(said<message::Finished>(b.last)->of == first);
  CHECK(b.agent.attempts().at(other_trial).is_running());
  b.end_of(other_trial, 3);
  CHECK(said<message::RankEnded>(b.last)->of == other_trial);
  CHECK_FALSE(said<message::RankEnded>(b.last)->after_stop);
}

TEST_CASE("what happened in each of several trials is told again on a new connection") {
  Attempts b;
  b.run(first);
  b.run(other_trial);
  b.print_of(first, "one");
  b.print_of(other_trial, "two!");
  b.end_of(first, 1);
  b.connect({{0, 1, first}});
  const auto hello = said<message::Hello>(b.last);
  REQUIRE(hello);
  CHECK(hello->attempts ==
        std::vector<message::AttemptStatus>{{first, true, message::OwnStop::none},
                                            {other_trial, true, message::OwnStop::none}});
  CHECK(attempts_of<message::RankStarted>(b.last) == std::vector{first, other_trial});
  CHECK(attempts_of<message::RankEnded>(b.last) == std::vector{first});
  CHECK(output(b.last) == "netwo!");
  for (const auto& send : all<agent_action::SendOutput>(b.last))
    CHECK(send.chunk->of == (send.chunk->bytes == "ne" ? first : other_trial));
}

TEST_CASE("an attempt has finished when its own output is acknowledged") {
  Attempts b;
  b.run(first);
  b.run(other_trial);
  b.print_of(first, "one");
  b.print_of(other_trial, "two");
  b.finish(first);
  CHECK_FALSE(said<message::Finished>(b.last));
  b.say(message::Acknowledge{1, b.credit});
  CHECK(said<message::Finished>(b.last)->of == first);
}

TEST_CASE("what an attempt that is forgotten has printed goes with it") {
  Attempts b;
  b.run(first);
  b.finish(first);
  b.forget(first);
  b.run(second);
  b.print_of(second, "x");
  b.connect({{0, 4'000, first}});  // the launcher may still say how far it was
  CHECK(output(b.last) == "x");
  CHECK_FALSE(b.agent.gone());
}

TEST_CASE("a full queue pauses all attempts, also one that is being killed, until there is room") {
  Attempts b(1'000);
  b.run(first);
  b.run(other_trial);
  b.print_of(first, std::string(2'000, 'x'));
  REQUIRE(all<agent_action::PauseReading>(b.last).size() == 2);
  b.say_of(other_trial, message::Stop{0s});
  CHECK_FALSE(has<agent_action::ResumeReading>(b.last));
  CHECK_FALSE(has<agent_action::ResumeReading>(b.say(message::Acknowledge{1, b.credit})));
  b.say(message::Acknowledge{1, b.credit, 1});
  REQUIRE(all<agent_action::ResumeReading>(b.last).size() == 2);
}

TEST_CASE("an agent that fails stops all attempts, and begins none") {
  Attempts b;
  b.run(first);
  b.run(other_trial);
  b.on(agent_event::Failed{"no memory"});
  CHECK(said<message::AgentFailed>(b.last));
  CHECK(all<agent_action::TerminateRank>(b.last).size() == 2);
  b.ask_for({2, 0});
  REQUIRE(said<message::Refused>(b.last));
  CHECK(said<message::Refused>(b.last)->problems.front().message ==
        "its agent has failed: no memory");
}

TEST_CASE("the fence is that of all attempts") {
  Attempts b;
  b.run(first);
  b.run(other_trial);
  b.now += Agent::sign_of_life + 1s;
  b.lose_link();
  const Instant fence = b.now - Agent::sign_of_life - 1s + window;
  CHECK(b.agent.next_deadline() == fence - grace);
  CHECK(all<agent_action::TerminateRank>(b.tick(fence - grace)).size() == 2);
  CHECK(told_to_die(b.tick(fence)) == std::vector{first, other_trial});
  b.end_of(first, 143);
  CHECK_FALSE(has<agent_action::Leave>(b.killed(first)));
  b.end_of(other_trial, 143);
  CHECK(has<agent_action::Leave>(b.killed(other_trial)));
}

TEST_CASE("between attempts an agent waits for its launcher, for the window") {
  Attempts b;
  b.run(first);
  b.finish(first);
  b.forget(first);
  SECTION("whose network is away") {
    b.now += Agent::sign_of_life + 1s;
    const Instant trusted = b.now - Agent::sign_of_life - 1s;
    b.lose_link();
    CHECK_FALSE(b.agent.gone());
    CHECK(b.agent.next_deadline() == trusted + window);
    b.tick(trusted + window - 1s);
    CHECK_FALSE(b.agent.gone());
    b.connect();
    CHECK(said<message::Hello>(b.last)->attempts.empty());
    b.ask_for(second);
    CHECK(has<agent_action::CheckHost>(b.last));
  }
  SECTION("which comes back too late") {
    b.now += Agent::sign_of_life + 1s;
    b.lose_link();
    CHECK(has<agent_action::Leave>(b.tick(b.now + window)));
  }
  SECTION("which has died") {
    b.lose_link();
    CHECK(has<agent_action::Leave>(b.tick(b.now + brief_launcher_wait)));
  }
  SECTION("and leaves when it is told to") {
    CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
  }
  SECTION("and pings move its fence") {
    b.now += 10min;
    b.ping(b.now);
    CHECK(b.agent.next_deadline() == b.now + window);
  }
}

TEST_CASE("an attempt is not begun while there is no launcher to say go, however long ago") {
  Attempts b;
  b.run(first);
  b.ask_for(other_trial);
  b.now += Agent::sign_of_life + 1s;
  b.lose_link();
  b.check(other_trial);  // it was being looked at
  CHECK_FALSE(b.agent.gone());
  b.connect();
  CHECK(attempts_of<message::Ready>(b.last) == std::vector{first, other_trial});
  b.on(agent_event::Dismissed{});
  CHECK(all<agent_action::TerminateRank>(b.last).size() == 1);
  CHECK(b.agent.attempts().at(other_trial).is_finished());
}

TEST_CASE("the context is fetched once, for all attempts") {
  Attempts b;
  message::Prepare prepare{"taskid", {{0, {"true", {}}, "sub", {}}}, 0, {}, grace, window};
  prepare.context = Context{};
  const auto ask_for = [&](AttemptId of) { return b.say_of(of, prepare); };
  ask_for(first);
  CHECK(has<agent_action::FindContext>(b.last));
  CHECK(ask_for(other_trial).empty());
  SECTION("and is there") {
    b.on(agent_event::ContextReady{"/copy"});
    REQUIRE(all<agent_action::CheckHost>(b.last).size() == 2);
    b.check(first);
    b.say_of(first, message::Go{"a", 1});
    b.finish(first);
    b.forget(first);
    ask_for(second);
    CHECK_FALSE(has<agent_action::FindContext>(b.last));
    REQUIRE(has<agent_action::CheckHost>(b.last));
    CHECK(all<agent_action::CheckHost>(b.last).at(0).prepare.ranks.at(0).working_directory ==
          "/copy/sub");
  }
  SECTION("and cannot be had") {
    b.on(agent_event::ContextFailed{make_error(ErrorClass::host, "no room")});
    CHECK(attempts_of<message::Refused>(b.last) == std::vector{first, other_trial});
    ask_for(second);
    CHECK(attempts_of<message::Refused>(b.last).empty());
    CHECK(has<agent_action::FindContext>(b.last));  // there may be room by now
    b.on(agent_event::ContextReady{"/copy"});
    CHECK(all<agent_action::CheckHost>(b.last).size() == 1);
  }
}

TEST_CASE("a context that nobody waits for any more is asked for anew by the next attempt") {
  Attempts b;
  message::Prepare prepare{"taskid", {{0, {"true", {}}, "sub", {}}}, 0, {}, grace, window};
  prepare.context = Context{};
  b.say_of(first, prepare);
  b.on(agent_event::ContextTaken{0});
  CHECK(attempts_of<message::Finished>(b.say_of(first, message::Stop{})) == std::vector{first});
  // Another attempt of the launcher would take this for an answer.
  CHECK(b.on(agent_event::ContextTaken{context_piece_size}).empty());
  CHECK(has<agent_action::FindContext>(b.say_of(second, prepare)));
  CHECK(b.on(agent_event::ContextTaken{0}).size() == 1);
  b.on(agent_event::ContextReady{"/copy"});
  CHECK(all<agent_action::CheckHost>(b.last).at(0).of == second);
}

TEST_CASE("a stop waits for the check of the host, which writes there") {
  Attempts b;
  b.say_of(first, message::Prepare{"taskid", {{0, {"true", {}}, "sub", {}}}, 0, {}, grace, window});
  REQUIRE(has<agent_action::CheckHost>(b.last));
  b.say_of(first, message::Stop{0ms});
  CHECK(all<agent_action::KillTree>(b.last).size() == 1);
  CHECK(attempts_of<message::Finished>(b.last).empty());
  b.check(first);
  CHECK(attempts_of<message::Ready>(b.last).empty());
  CHECK(attempts_of<message::Finished>(b.on(agent_event::TreeKilled{{}, first})) ==
        std::vector{first});
}

TEST_CASE("an agent keeps so many attempts, and no more") {
  Attempts b;
  for (std::size_t trial = 0; trial < most_attempts; ++trial)
    b.ask_for({static_cast<int>(trial), 0});
  REQUIRE(b.agent.attempts().size() == most_attempts);
  const AttemptId further{static_cast<int>(most_attempts), 0};
  b.ask_for(further);
  CHECK(said<message::Refused>(b.last)->of == further);
  CHECK(said<message::Finished>(b.say_of(further, message::Stop{0s}))->of == further);
  CHECK(b.agent.attempts().size() == most_attempts);
  b.say_of(first, message::Stop{0s});
  b.on(agent_event::TreeKilled{{}, first});
  b.forget(first);
  CHECK(has<agent_action::CheckHost>(b.ask_for(further)));
}
