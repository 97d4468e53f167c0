// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/bridge.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <thread>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

// A bridge in a thread of its own, with pipes as its standard streams.
struct Bridged {
  Bridged() {
    ::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    near_peer.reset(ends[0]);
    peer.reset(ends[1]);
    thread = std::thread([this] {
      bridge(input->read_end.get(), output->write_end.get(), near_peer.get());
      output->write_end.reset();
      near_peer.reset();
    });
  }
  ~Bridged() {
    input->write_end.reset();
    output->read_end.reset();
    peer.reset();
    thread.join();
  }
  Bridged(const Bridged&) = delete;
  Bridged& operator=(const Bridged&) = delete;

  Result<Pipe> input = make_pipe();
  Result<Pipe> output = make_pipe();
  Descriptor near_peer;
  Descriptor peer;
  std::thread thread;
};

}  // namespace

TEST_CASE("bytes cross the bridge both ways at once, however many wait") {
  Bridged bridged;
  const std::string forth(3'000'000, 'f');
  const std::string back(2'000'000, 'b');
  std::string got_forth;
  std::string got_back;
  std::thread writer([&] {
    write_all(bridged.input->write_end.get(), forth);
    bridged.input->write_end.reset();
  });
  std::thread reader([&] { got_back = read_all(bridged.output->read_end.get()); });
  std::thread peer_writer([&] { write_all(bridged.peer.get(), back); });
  got_forth = read_all(bridged.peer.get());
  writer.join();
  peer_writer.join();
  bridged.peer.reset();
  reader.join();
  CHECK(got_forth == forth);
  CHECK(got_back == back);
}

TEST_CASE("the end of input is half a close, and the peer still answers") {
  Bridged bridged;
  write_all(bridged.input->write_end.get(), "question");
  bridged.input->write_end.reset();
  CHECK(read_all(bridged.peer.get()) == "question");
  write_all(bridged.peer.get(), "answer");
  bridged.peer.reset();
  CHECK(read_all(bridged.output->read_end.get()) == "answer");
}

TEST_CASE("the last bytes of a launcher that has gone reach the peer") {
  Bridged bridged;
  // As sshd does when its connection ends: what came is written before anything is closed.
  write_all(bridged.input->write_end.get(), "stop");
  bridged.output->read_end.reset();
  bridged.input->write_end.reset();
  CHECK(read_all(bridged.peer.get()) == "stop");
}

TEST_CASE("what a peer that ends without a word was told can be said to the next one") {
  auto input = make_pipe();
  const auto output = make_pipe();
  REQUIRE(input);
  REQUIRE(output);
  const auto serve = [&](const std::string& answer, std::string& unheard, std::string& heard) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const Descriptor near(ends[0]);
    Descriptor far(ends[1]);
    std::thread peer([&] {
      std::string bytes(100, '\0');
      const ssize_t count = ::read(far.get(), bytes.data(), bytes.size());
      heard = bytes.substr(0, count > 0 ? count : 0);
      write_all(far.get(), answer);
      far.reset();
    });
    const bool is_heard =
        bridge_unless_unheard(input->read_end.get(), output->write_end.get(), near.get(), unheard);
    peer.join();
    return is_heard;
  };
  std::string unheard;
  std::string heard;
  write_all(input->write_end.get(), "hello ");
  CHECK_FALSE(serve("", unheard, heard));
  CHECK(heard == "hello ");
  write_all(input->write_end.get(), "again");
  CHECK_FALSE(serve("", unheard, heard));
  CHECK(unheard.starts_with("hello "));
  CHECK(serve("yes", unheard, heard));
  CHECK(heard.starts_with("hello "));
  CHECK(unheard == "hello again");
}
