// SPDX-License-Identifier: Apache-2.0
#include "backends/network/probe_responder.hpp"

#include <algorithm>
#include <vector>

#include "backends/network/probe.hpp"
#include "backends/network/probe_protocol.hpp"
#include "tests/backends/network/loopback.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t whole = probe_header_size + probe_payload_size;
// What ends a test where it would hang: nothing here takes so long.
const ProbePatience patient{.limit = 120s};

std::string question_of(const RunningResponder& responder) {
  return probe_header(ProbePart::question, responder.token);
}

ProbeAnswer reach_of(const RunningResponder& responder, const std::string& address = "127.0.0.1",
                     const ProbePatience& patience = patient) {
  return probe({{0, {address}, responder.port, responder.token}}, patience).at(0).addresses.at(0);
}

bool gets_answer(const RunningResponder& responder, const Descriptor& socket) {
  const std::string heard = hear(socket, whole + 1);  // and the end
  return heard.size() == whole &&
         heard.starts_with(probe_header(ProbePart::answer, responder.token)) && is_ended(socket);
}

}  // namespace

TEST_CASE("a responder answers on all addresses of its host") {
  const RunningResponder responder;
  CHECK(reach_of(responder, "127.0.0.1") == ProbeAnswer::reached);
  CHECK(reach_of(responder, "127.0.0.2") == ProbeAnswer::reached);
  if (!Descriptor(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)))
    SKIP_CASE("this machine has no IPv6");
  CHECK(reach_of(responder, "::1") == ProbeAnswer::reached);
  CHECK(reach_of(responder, "::ffff:127.0.0.1") == ProbeAnswer::reached);
}

TEST_CASE("each responder has a token of its own") {
  const RunningResponder one;
  const RunningResponder other;
  CHECK(is_probe_token(one.token));
  CHECK(one.token != other.token);
  CHECK(probe({{0, {"127.0.0.1"}, one.port, other.token}}, patient).at(0).addresses.at(0) ==
        ProbeAnswer::stranger);
}

TEST_CASE("a question may come byte by byte") {
  const RunningResponder responder;
  const Descriptor socket = connect_to(responder.port);
  for (const char each : question_of(responder)) REQUIRE(say(socket, {&each, 1}));
  for (std::size_t i = 0; i + 1 < probe_payload_size; i += 1) REQUIRE(say(socket, "x"));
  CHECK(stays([&] { return !becomes_readable(socket.get(), 0ms); }));  // it is not whole yet
  REQUIRE(say(socket, "x"));
  CHECK(gets_answer(responder, socket));
}

TEST_CASE("an answer may be read as slowly as one likes") {
  const RunningResponder responder;
  const Descriptor socket = connect_to(responder.port, 2048);
  REQUIRE(say(socket, question_of(responder) + std::string(probe_payload_size, 'x')));
  REQUIRE(becomes_readable(socket.get()));
  CHECK(reach_of(responder) == ProbeAnswer::reached);  // meanwhile
  std::string heard;
  while (heard.size() < whole) {
    const std::string more = hear(socket, std::min<std::size_t>(100, whole - heard.size()));
    REQUIRE_FALSE(more.empty());
    heard += more;
  }
  CHECK(heard.starts_with(probe_header(ProbePart::answer, responder.token)));
}

TEST_CASE("whoever does not know the token is cut off at once") {
  const RunningResponder responder;
  const Descriptor silent = connect_to(responder.port);
  const Descriptor socket = connect_to(responder.port);
  REQUIRE(socket);
  SECTION("with the first wrong byte") { REQUIRE(say(socket, "GET / HTTP/1.1\r\n")); }
  SECTION("with another version") { REQUIRE(say(socket, "train-probe-2 ")); }
  SECTION("with an answer in place of a question") {
    REQUIRE(say(socket, probe_header(ProbePart::answer, responder.token)));
  }
  SECTION("with what follows the token") {
    std::string question = question_of(responder);
    question.back() = 'x';
    REQUIRE(say(socket, question));
  }
  SECTION("with another token, and not before all of it is there") {
    const std::string question = probe_header(ProbePart::question, std::string(32, 'x'));
    REQUIRE(say(socket, question.substr(0, probe_header_size - 1)));
    CHECK(stays([&] { return !is_ended(socket); }));
    REQUIRE(say(socket, question.substr(probe_header_size - 1)));
  }
  CHECK(hear(socket, 1).empty());
  CHECK(is_ended(socket));
  CHECK_FALSE(is_ended(silent));
  CHECK(reach_of(responder) == ProbeAnswer::reached);
}

TEST_CASE("whoever ends in the middle holds up nobody") {
  const RunningResponder responder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, probe_header_size, whole - 1}) {
    const Descriptor socket = connect_to(responder.port);
    REQUIRE(say(socket,
                (question_of(responder) + std::string(probe_payload_size, 'x')).substr(0, size)));
  }
  CHECK(reach_of(responder) == ProbeAnswer::reached);
}

TEST_CASE("who shows the token is served beside hundreds who say nothing") {
  // Again where it took so long that all of them were at their end.
  CHECK(eventually([] {
    const RunningResponder responder;
    const Descriptor known = connect_to(responder.port);
    REQUIRE(say(known, question_of(responder)));
    std::vector<Descriptor> silent;
    for (int i = 0; i < 300; ++i) silent.push_back(connect_to(responder.port));
    REQUIRE(reach_of(responder) == ProbeAnswer::reached);
    // The first of all is still there, so it was not the end of the first that made room.
    const auto ended = std::count_if(silent.begin(), silent.end(), is_ended);
    return !is_ended(known) && ended > 0;
  }));
}

TEST_CASE("those who know the token wait while there are too many of them") {
  // Again where it took so long that the first were at their end.
  CHECK(eventually([] {
    const RunningResponder responder;
    std::vector<Descriptor> known;
    for (int i = 0; i < 256; ++i) {
      known.push_back(connect_to(responder.port));
      REQUIRE(say(known.back(), question_of(responder)));
    }
    const ProbePatience impatient{.limit = 100ms};
    const bool waits = reach_of(responder, "127.0.0.1", impatient) == ProbeAnswer::stalled;
    const bool are_there = std::none_of(known.begin(), known.end(), is_ended);
    known.erase(known.begin() + 100);
    CHECK(reach_of(responder) == ProbeAnswer::reached);
    return waits && are_there;
  }));
}

TEST_CASE("a responder that goes takes its connections with it") {
  RunningResponder responder;
  const Descriptor silent = connect_to(responder.port);
  const Descriptor known = connect_to(responder.port);
  const Descriptor reader = connect_to(responder.port, 2048);
  REQUIRE(say(known, question_of(responder)));
  REQUIRE(say(reader, question_of(responder) + std::string(probe_payload_size, 'x')));
  REQUIRE(becomes_readable(reader.get()));
  responder.stop();
  CHECK(hear(silent, 1).empty());
  CHECK(is_ended(silent));
  CHECK(hear(known, 1).empty());
  CHECK(is_ended(known));
  CHECK_FALSE(connect_to(responder.port));
}
