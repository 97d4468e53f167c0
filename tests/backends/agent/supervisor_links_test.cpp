// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/supervisor_links.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

std::string control(const std::string& payload) {
  return encode_frame(FrameKind::control, payload);
}

// Links, and launchers that connect to them. A frame "use" makes its link the used one, "close"
// closes it, "strange" is none that a launcher sends.
class Office {
 public:
  explicit Office(nanoseconds patience = 1h)
      : links(loop, listening_.get(),
              {[this](LinkId link, const Frame& frame) { return heard(link, frame); },
               [this](LinkId link) { downs.push_back(link); }},
              patience) {}

  Descriptor connect() const {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = here();
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    return socket;
  }

  Loop loop;
  std::vector<std::pair<LinkId, std::string>> frames;
  std::vector<LinkId> downs;

 private:
  bool heard(LinkId link, const Frame& frame) {
    frames.emplace_back(link, frame.payload);
    if (frame.payload == "use") links.use(link);
    if (frame.payload == "close") links.close(link);
    return frame.payload != "strange";
  }
  sockaddr_un here() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_.path() + "/socket";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }
  Descriptor listen() const {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un address = here();
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket.get(), 32) == 0);
    return socket;
  }

  TemporaryDirectory directory_;
  Descriptor listening_ = listen();

 public:
  SupervisorLinks links;
};

// The other side has ended the stream.
bool is_over(const Descriptor& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

}  // namespace

TEST_CASE("frames come with the link that they came on, and answers go to the one that is used") {
  Office office;
  office.links.send("nobody is there");
  const Descriptor first = office.connect();
  const Descriptor second = office.connect();
  write_all(first.get(), control("one"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 1; }));
  office.links.send("nobody is used");
  CHECK(office.links.used_socket() == -1);
  write_all(second.get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 2; }));
  CHECK(office.frames[0].first != office.frames[1].first);
  CHECK(office.links.used_socket() >= 0);
  office.links.send("line\n");
  CHECK(read_line(second.get()) == "line");
  CHECK_FALSE(is_over(first));
}

TEST_CASE("a used link that ends is told, and those that wait go on") {
  Office office;
  Descriptor used = office.connect();
  const Descriptor waiting = office.connect();
  write_all(used.get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 1; }));
  used.reset();
  CHECK(loop_until(office.loop, [&] { return office.downs.size() == 1; }));
  CHECK(office.downs[0] == office.frames[0].first);
  CHECK(office.links.used_socket() == -1);
  office.links.send("lost");
  write_all(waiting.get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 2; }));
  office.links.send("here\n");
  CHECK(read_line(waiting.get()) == "here");
}

TEST_CASE("a link may be closed while it is heard: nothing more comes of it") {
  const bool is_used = GENERATE(false, true);
  Office office;
  const Descriptor launcher = office.connect();
  if (is_used) write_all(launcher.get(), control("use"));
  write_all(launcher.get(), control("close") + control("more") + control("and more"));
  CHECK(loop_until(office.loop, [&] { return is_over(launcher); }));
  CHECK(office.frames.back().second == "close");
  CHECK(office.downs.empty());
  CHECK(office.links.used_socket() == -1);
  office.links.close(office.frames.back().first);  // it is not there any more
  office.links.use(office.frames.back().first);
  office.links.send("lost");
}

TEST_CASE("another link may be closed from within, whatever it has sent meanwhile") {
  Office office;
  const Descriptor old_one = office.connect();
  write_all(old_one.get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 1; }));
  const Descriptor new_one = office.connect();
  write_all(new_one.get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 2; }));
  write_all(old_one.get(), control("late"));
  office.links.close(office.frames[0].first);
  CHECK(loop_until(office.loop, [&] { return is_over(old_one) || office.frames.size() > 2; }));
  CHECK(office.frames.size() == 2);
  CHECK(office.downs.empty());
  office.links.send("here\n");
  CHECK(read_line(new_one.get()) == "here");
}

TEST_CASE("a frame that no launcher sends ends its link, which is told once") {
  Office office;
  const Descriptor launcher = office.connect();
  write_all(launcher.get(), control("strange") + control("more"));
  CHECK(loop_until(office.loop, [&] { return is_over(launcher); }));
  CHECK(office.downs == std::vector{office.frames.at(0).first});
  CHECK(office.frames.size() == 1);
}

TEST_CASE("a link that says nothing is closed after a while, and one that is used never") {
  Office office(200ms);
  const Descriptor used = office.connect();
  write_all(used.get(), control("use"));
  const Descriptor silent = office.connect();
  CHECK(loop_until(office.loop, [&] { return is_over(silent); }));
  CHECK_FALSE(is_over(used));
  CHECK(office.downs.empty());  // nobody knows of it
}

TEST_CASE("of many links that say nothing the oldest go, and the used one stays") {
  Office office;
  const Descriptor used = office.connect();
  write_all(used.get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 1; }));
  std::vector<Descriptor> silent;
  for (int i = 0; i < 10; ++i) silent.push_back(office.connect());
  CHECK(loop_until(office.loop, [&] { return is_over(silent[1]); }));
  CHECK(is_over(silent[0]));
  CHECK_FALSE(is_over(silent[2]));
  CHECK_FALSE(is_over(used));
  write_all(silent[9].get(), control("use"));
  CHECK(loop_until(office.loop, [&] { return office.frames.size() == 2; }));
}
