// SPDX-License-Identifier: Apache-2.0
// Servers that send without end, instead of speaking SSH.
#include <poll.h>

#include <atomic>

#include "tests/backends/ssh/ssh_fixture.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Sends `begin` and then `more` over and over, to each that connects, for as long as that takes it.
class FloodingServer {
 public:
  FloodingServer(std::string begin, std::string more)
      : begin_(std::move(begin)), more_(std::move(more)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::bind(listener_, any, size) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    REQUIRE(::getsockname(listener_, any, &size) == 0);
    port_ = ntohs(address.sin_port);
    while (more_.size() < 65536) more_ += more_;
    thread_ = std::thread([this] { serve(); });
  }
  ~FloodingServer() {
    is_over_ = true;
    thread_.join();
    ::close(listener_);
  }
  FloodingServer(const FloodingServer&) = delete;
  FloodingServer& operator=(const FloodingServer&) = delete;
  int port() const { return port_; }
  /// How many bytes it got rid of.
  std::size_t sent() const { return sent_; }

 private:
  void serve() {
    pollfd connecting{listener_, POLLIN, 0};
    while (!is_over_) {
      if (::poll(&connecting, 1, 50) <= 0) continue;  // waits: for the end of the test as well
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      bool is_taken = send_all(fd, begin_);
      while (is_taken && !is_over_) is_taken = send_all(fd, more_);
      ::close(fd);
    }
  }
  bool send_all(int fd, std::string_view bytes) {
    pollfd writable{fd, POLLOUT, 0};
    while (!bytes.empty() && !is_over_) {
      if (::poll(&writable, 1, 50) <= 0) continue;  // waits: for the end of the test as well
      const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count <= 0) return false;
      sent_ += static_cast<std::size_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  std::string begin_;
  std::string more_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> is_over_{false};
  std::atomic<std::size_t> sent_{0};
  std::thread thread_;
};

// What is read at most of a server that floods before the login, and what the kernel holds
// meanwhile: the largest buffers of both ends, as it has them by itself.
constexpr std::size_t most_taken = (1u << 20) + (16u << 20);

}  // namespace

TEST_CASE("a server that floods is cut off at once, and a good host beside it is reached") {
  REQUIRE_SSHD();
  std::string begin, more, said;
  SECTION("with lines for ever") {
    more = "welcome to a server that greets nobody\r\n";
    said =
        "floods: more than 64 KiB came in place of an SSH server's greeting, which began with "
        "'welcome to a server";
  }
  SECTION("with a line that never ends") {
    more = "x";
    said =
        "floods: more than 64 KiB came in place of an SSH server's greeting, which began with "
        "'xxxx";
  }
  SECTION("with zeros") {
    more = std::string(1, '\0');
    said = "Failed getting banner";
  }
  SECTION("with packets that are to be ignored, in place of a key exchange") {
    begin = "SSH-2.0-flood\r\n";
    more = std::string("\0\0\0\x0c\x06\x02\0\0\0\0", 10) + std::string(6, '\0');
    said = "floods: the SSH server there sent more than 1024 KiB before the login";
  }
  SshFixture fixture;
  const FloodingServer server(begin, more);
  Host flooding = fixture.host;
  flooding.name = "flooding";
  flooding.port = server.port();
  SshTransport transport(fixture.loop, fixture.options);
  int ticks = 0;
  std::unique_ptr<Subscription> tick;
  std::function<void()> next = [&] {
    ++ticks;
    tick = fixture.loop.after(5ms, next);
  };
  next();
  LinkProbe bad(fixture.loop, transport, flooding);
  LinkProbe good(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return bad.closed && good.opened; }));
  CHECK(server.sent() < most_taken);
  CHECK(ticks > 1);  // the loop had its turns beside the flood
  CHECK(contains(bad.error(), said));
  CHECK_FALSE(good.closed);
}
