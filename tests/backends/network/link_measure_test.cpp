// SPDX-License-Identifier: Apache-2.0
#include "backends/network/link_measure.hpp"

#include <array>
#include <optional>
#include <thread>

#include "backends/network/timed_socket.hpp"
#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

// A port on which nobody listens, of the kernel's choice.
int free_port() { return port_of(listen_on_all(0)); }

MeetingRank rank_of(int rank, int world, int port) {
  return {rank, world, "127.0.0.1", port, "abcd2345"};
}

using Links = Result<std::vector<LinkFacts>>;

// These ranks, each in a thread.
std::vector<Links> measured_by(const std::vector<MeetingRank>& ranks,
                               const LinkPatience& patience) {
  std::vector<std::optional<Links>> results(ranks.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      threads.emplace_back([&, i] { results[i] = measure_links(ranks[i], patience); });
  }
  std::vector<Links> all;
  for (auto& result : results) all.push_back(std::move(*result));
  return all;
}

constexpr LinkPatience ample{600s, 600s};

std::string why(const Links& links) {
  REQUIRE_FALSE(links);
  CHECK(links.error().error_class == ErrorClass::host);
  return links.error().diagnostics.front().message;
}

Deadline in(milliseconds length) { return std::chrono::steady_clock::now() + length; }

// As soon as somebody listens there.
Result<TimedSocket> connected(int port) {
  auto socket = TimedSocket::connect("127.0.0.1", port, in(600s));
  (void)testing::eventually([&] {
    if (!socket) socket = TimedSocket::connect("127.0.0.1", port, in(600s));
    return socket.has_value();
  });
  return socket;
}

}  // namespace

TEST_CASE("ranks measure each pair in both directions, and rank 0 has it all") {
  const int port = free_port();
  const auto found =
      measured_by({rank_of(2, 3, port), rank_of(1, 3, port), rank_of(0, 3, port)}, ample);
  for (const Links& links : found) REQUIRE(links);
  CHECK(found[0]->empty());
  CHECK(found[1]->empty());
  REQUIRE(found[2]->size() == 3);
  for (const LinkFacts& link : *found[2]) {
    CHECK(link.trouble.empty());
    CHECK(link.round_trip > 0ns);
    CHECK(link.there > 0);
    CHECK(link.back > 0);
  }
}

TEST_CASE("a rank alone has no links") {
  const auto links = measure_links(rank_of(0, 1, free_port()));
  REQUIRE(links);
  CHECK(links->empty());
}

TEST_CASE("strangers at the door are sent away, and the ranks still meet") {
  const int port = free_port();
  std::jthread stranger([&] {
    // A rank of another task, one that there is not, one without a number, and no rank at all.
    for (const char* words : {"hello other 1 5 t\n", "hello abcd2345 7 5 t\n", "GET / HTTP/1.1\n",
                              "hello abcd2345 one 5 t\n"}) {
      const Deadline end = in(600s);
      auto socket = connected(port);
      if (!socket) return;
      (void)socket->send(words, end);
      CHECK_FALSE(socket->line(end));  // closed
    }
  });
  std::optional<Links> leader;
  {
    std::jthread first([&] { leader = measure_links(rank_of(0, 2, port), ample); });
    stranger.join();
    CHECK(measure_links(rank_of(1, 2, port), ample));
  }
  REQUIRE(*leader);
  CHECK((*leader)->size() == 1);
}

TEST_CASE("a rank that does not come is named") {
  const auto found = measured_by({rank_of(0, 2, free_port())}, {50ms, 600s});
  CHECK(why(found.front()) == "rank 1 has not come in time");
  const auto alone = measured_by({rank_of(1, 2, free_port())}, {50ms, 600s});
  CHECK(why(alone.front()).starts_with("rank 0: "));
}

TEST_CASE("a rank that goes is named") {
  const int port = free_port();
  std::optional<Links> leader;
  {
    std::jthread first([&] { leader = measure_links(rank_of(0, 2, port), ample); });
    const Deadline end = in(600s);
    auto socket = connected(port);
    REQUIRE(socket);
    // It has a port that nobody listens on, and goes when it is told to measure.
    REQUIRE(socket->send("hello abcd2345 1 " + std::to_string(free_port()) + " t\n", end));
    std::string line;
    while (!line.starts_with("go ")) {
      const auto next = socket->line(end);
      REQUIRE(next);
      line = *next;
    }
  }
  CHECK(why(*leader) == "rank 1: the connection was closed");
}

TEST_CASE("a pair that does not reach each other is told, and the others are measured") {
  const int port = free_port();
  std::vector<Links> found;
  std::jthread rank_without_listener([&] {
    const Deadline end = in(600s);
    auto socket = connected(port);
    if (!socket) return;
    (void)socket->send("hello abcd2345 2 " + std::to_string(free_port()) + " t\n", end);
    while (true) {
      const auto line = socket->line(end);
      if (!line || *line == "end") return;
      if (line->starts_with("go ")) (void)socket->send("done\n", end);
    }
  });
  found = measured_by({rank_of(0, 3, port), rank_of(1, 3, port)}, ample);
  REQUIRE(found[0]);
  REQUIRE(found[0]->size() == 3);
  for (const LinkFacts& link : *found[0]) {
    CAPTURE(link.from, link.to);
    CHECK(link.trouble == (link.to == 2 ? "connection refused" : ""));
  }
}

TEST_CASE("an address that is no number is said to be none") {
  const auto found = measured_by({{1, 2, "node01", 5, "abcd2345"}}, {1ms, 1ms});
  CHECK(why(found.front()) == "rank 0: 'node01' is no numeric address");
}

TEST_CASE("who sends more than a line may have is not listened to") {
  const Descriptor door = listen_on_all(0);
  REQUIRE(door);
  std::jthread talker([&] {
    auto socket = TimedSocket::connect("127.0.0.1", port_of(door), in(600s));
    if (socket) socket->flood(in(600s));
  });
  {
    auto socket = accept_from(door, in(600s));
    REQUIRE(socket);
    CHECK(socket->peer() == "127.0.0.1");
    const auto line = socket->line(in(600s));
    REQUIRE_FALSE(line);
    CHECK(line.error().diagnostics.front().message == "it says more than was asked");
  }
}
