// SPDX-License-Identifier: Apache-2.0
#include "backends/network/probe.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "backends/network/probe_protocol.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "tests/backends/network/loopback.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t whole = probe_header_size + probe_payload_size;
// What ends a test where it would hang: nothing here takes so long.
const ProbePatience patient{.limit = 120s, .grace = 120s};

using Reaches = std::vector<ProbeAnswer>;

Descriptor bind_to(const std::string& address, int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in where = loopback_address(address, port);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    return Descriptor();
  return socket;
}

// One port on two addresses, 127.0.0.1 and 127.0.0.2, so that either may have somebody else.
struct TwoAddresses {
  TwoAddresses() {
    REQUIRE(eventually([&] {
      first = bind_to("127.0.0.1", 0);
      sockaddr_in bound{};
      socklen_t size = sizeof bound;
      ::getsockname(first.get(), reinterpret_cast<sockaddr*>(&bound), &size);
      port = ntohs(bound.sin_port);
      second = bind_to("127.0.0.2", port);
      return static_cast<bool>(second);
    }));
  }

  ProbeTarget target() const { return {7, {"127.0.0.1", "127.0.0.2"}, port, token}; }
  Reaches probe(const ProbePatience& patience = patient) const {
    const auto results = train::probe({target()}, patience);
    REQUIRE(results.size() == 1);
    CHECK(results.front().host == 7);
    return results.front().addresses;
  }

  Descriptor first;
  Descriptor second;
  int port = 0;
  std::string token = new_nonce();
};

// Somebody who listens there and takes one connection, in a thread.
class Peer {
 public:
  Peer(const Descriptor& socket, std::function<void(const Descriptor&)> talk)
      : socket_(socket.get()) {
    REQUIRE(::listen(socket.get(), 8) == 0);
    thread_ = std::thread([fd = socket.get(), talk = std::move(talk)] {
      talk(Descriptor(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC)));
    });
  }
  ~Peer() {
    ::shutdown(socket_, SHUT_RDWR);  // where nobody has come
    thread_.join();
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

 private:
  int socket_;
  std::thread thread_;
};

// As a responder does, with this token.
std::function<void(const Descriptor&)> answering(const std::string& token) {
  return [token](const Descriptor& socket) {
    (void)hear(socket, whole);
    (void)say(socket,
              probe_header(ProbePart::answer, token) + std::string(probe_payload_size, 'x'));
  };
}

std::size_t open_descriptors() { return names_in(FolderReader("/proc/self/fd")).size(); }

}  // namespace

TEST_CASE("the address that is preferred is reached, and the others need not be") {
  const TwoAddresses here;
  REQUIRE(::listen(here.second.get(), 8) == 0);  // and never answers
  const Peer peer(here.first, answering(here.token));
  CHECK(here.probe() == Reaches{ProbeAnswer::reached, ProbeAnswer::untried});
}

TEST_CASE("an address that has failed is not waited for") {
  const TwoAddresses here;  // nobody listens on the first
  const Peer peer(here.second, answering(here.token));
  CHECK(here.probe() == Reaches{ProbeAnswer::refused, ProbeAnswer::reached});
}

TEST_CASE("a preferred address that is slower is waited for as long as the grace is") {
  const TwoAddresses here;
  std::promise<void> has_answered;
  const Peer second(here.second, [&](const Descriptor& socket) {
    answering(here.token)(socket);
    has_answered.set_value();
  });
  SECTION("it answers in time") {
    const Peer first(here.first, [&](const Descriptor& socket) {
      has_answered.get_future().wait();
      answering(here.token)(socket);
    });
    CHECK(here.probe().at(0) == ProbeAnswer::reached);
  }
  SECTION("it does not answer") {
    REQUIRE(::listen(here.first.get(), 8) == 0);
    CHECK(here.probe({.limit = 120s, .grace = 50ms}) ==
          Reaches{ProbeAnswer::untried, ProbeAnswer::reached});
  }
}

TEST_CASE("all addresses are waited for where that is wanted") {
  // Again where the second did not answer within the limit.
  CHECK(eventually([] {
    const TwoAddresses here;
    REQUIRE(::listen(here.first.get(), 8) == 0);
    const Peer second(here.second, answering(here.token));
    const Reaches found = here.probe({.limit = 500ms, .grace = 0ms, .waits_for_all = true});
    CHECK(found.at(0) == ProbeAnswer::stalled);
    return found.at(1) == ProbeAnswer::reached;
  }));
  const TwoAddresses here;
  const Peer first(here.first, answering(here.token));
  const Peer second(here.second, answering(here.token));
  CHECK(here.probe({.limit = 120s, .waits_for_all = true}) ==
        Reaches{ProbeAnswer::reached, ProbeAnswer::reached});
}

TEST_CASE("one that takes connections and says nothing has stalled") {
  const TwoAddresses here;
  REQUIRE(::listen(here.first.get(), 8) == 0);
  const Peer half(here.second, [&](const Descriptor& socket) {  // its large packets get lost
    const std::string answer = probe_header(ProbePart::answer, here.token);
    (void)say(socket, answer + std::string(probe_payload_size - 1, 'x'));
    (void)hear(socket, whole + 1);
  });
  CHECK(here.probe({.limit = 200ms}) == Reaches{ProbeAnswer::stalled, ProbeAnswer::stalled});
}

TEST_CASE("one whose packets are dropped does not answer") {
  const TwoAddresses here;
  REQUIRE(::listen(here.first.get(), 0) == 0);
  const Descriptor filler = connect_to(here.port);  // one connection is all that its queue holds
  REQUIRE(filler);
  CHECK(here.probe({.limit = 200ms}) == Reaches{ProbeAnswer::no_answer, ProbeAnswer::refused});
}

TEST_CASE("somebody else is known as a stranger") {
  const TwoAddresses here;
  const std::string answer = probe_header(ProbePart::answer, here.token);
  const std::string payload(probe_payload_size, 'x');
  const std::string question = probe_header(ProbePart::question, here.token);
  std::string said;
  SECTION("who ends the connection") {}
  SECTION("who speaks first") { said = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"; }
  SECTION("who has another token") {
    said = probe_header(ProbePart::answer, std::string(32, '0')) + payload;
  }
  SECTION("who sends back what he gets") { said = question + payload; }
  SECTION("who ends in his header") { said = answer.substr(0, 20); }
  SECTION("who ends behind his header") { said = answer; }
  SECTION("who ends before his last byte") { said = answer + payload.substr(1); }
  const Peer first(here.first, [&](const Descriptor& socket) {
    (void)hear(socket, whole);
    (void)say(socket, said);
  });
  const Peer second(here.second, [](const Descriptor&) {});  // resets it, most likely
  CHECK(here.probe() == Reaches{ProbeAnswer::stranger, ProbeAnswer::stranger});
}

TEST_CASE("what cannot be an address is unreachable") {
  const RunningResponder responder;
  const std::vector<std::string> addresses{"",           "node01",    "10.0.0",   "1.2.3.4:80",
                                           "fe80::1%lo", "224.0.0.1", "127.0.0.1"};
  auto results = probe({{1, addresses, responder.port, responder.token},
                        {2, {"127.0.0.1"}, 0, responder.token},
                        {3, {"127.0.0.1"}, -1, responder.token},
                        {4, {"127.0.0.1"}, 65'536, responder.token},
                        {5, {"127.0.0.1"}, responder.port, "no token"},
                        {6, {}, responder.port, responder.token}},
                       patient);
  Reaches expected(addresses.size(), ProbeAnswer::unreachable);
  expected.back() = ProbeAnswer::reached;
  CHECK(results.at(0).addresses == expected);
  for (std::size_t i = 1; i < 5; ++i)
    CHECK(results.at(i).addresses == Reaches{ProbeAnswer::unreachable});
  CHECK(results.at(5) == ProbeResult{6, {}});
  CHECK(probe({}, patient).empty());
}

TEST_CASE("hundreds of targets are looked for, and no descriptor is left") {
  const RunningResponder responder;
  const std::size_t before = open_descriptors();
  std::vector<ProbeTarget> targets;
  for (int i = 0; i < 300; ++i)
    targets.push_back({i, {"127.0.0.1", "127.0.0.2"}, responder.port, responder.token});
  const auto results = probe(targets, patient);
  REQUIRE(results.size() == targets.size());
  for (const ProbeResult& each : results) {
    CHECK(each.host == &each - results.data());
    CHECK(each.addresses.at(0) == ProbeAnswer::reached);
  }
  // The responder closes what it has in its own time.
  CHECK(eventually([&] { return open_descriptors() == before; }));
}

TEST_CASE("an address for which there is no socket is not tried") {
  const TwoAddresses here;
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const Descriptor next(::dup(0));
  const rlimit none{static_cast<rlim_t>(next.get()), limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto results = probe({here.target()}, patient);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(results.at(0).addresses == Reaches{ProbeAnswer::untried, ProbeAnswer::untried});
}
