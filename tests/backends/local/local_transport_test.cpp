// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_transport.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// One link and what it said.
struct Talk {
  void open(LocalTransport& transport, const std::string& key = "task-0") {
    link = transport.open({}, {key},
                          {.on_open =
                               [this](const LinkInfo& link_info) {
                                 story += "open ";
                                 info = link_info;
                                 if (when_open) when_open();
                               },
                           .on_bytes =
                               [this](std::string_view bytes) {
                                 received += bytes;
                                 if (when_bytes) when_bytes();
                               },
                           .on_closed =
                               [this](const Error& error) {
                                 story += "closed";
                                 why = error;
                                 if (when_closed) when_closed();
                               }});
  }

  std::unique_ptr<HostLink> link;
  std::string story;
  std::string received;
  LinkInfo info;
  std::optional<Error> why;
  std::function<void()> when_open;
  std::function<void()> when_bytes;
  std::function<void()> when_closed;
};

std::vector<std::string> script(const std::string& text) { return {"/bin/sh", "-c", text, "sh"}; }

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0; }

}  // namespace

TEST_CASE("a link opens at once, carries bytes both ways and tells why it ended") {
  Loop loop;
  LocalTransport transport(loop, script("read line; echo \"got $line as $2\"; exit 0"));
  Talk talk;
  talk.when_closed = [&] { loop.stop(); };
  talk.open(transport);
  CHECK(talk.story.empty());  // nothing is said from inside `open`
  talk.link->send("hel");
  talk.link->send("lo\n");
  CHECK(talk.link->unsent_bytes() == 6);  // it waits for `on_open`
  REQUIRE(run_until_stopped(loop));
  CHECK(talk.story == "open closed");
  CHECK(talk.info.address == "127.0.0.1");
  CHECK(talk.info.transport == "local");
  CHECK(talk.received == "got hello as task-0\n");
  CHECK(render(*talk.why) == "the agent ended the connection");
  CHECK_FALSE(has_children());
}

TEST_CASE("a link that failed says how, with what was said on standard error") {
  struct Row {
    const char* text;
    const char* why;
  };
  const auto row =
      GENERATE(Row{"echo 'no room in /tmp' >&2; exit 76",
                   "the connection to the agent failed (exit status 76): no room in /tmp"},
               Row{"echo 'no room in /tmp' >&2; echo '  make some' >&2; exit 76",
                   "the connection to the agent failed (exit status 76): no room in /tmp\n"
                   "  make some"},
               Row{"kill -KILL $$", "the connection to the agent failed (signal 9)"},
               Row{"exec >&-; exec <&-; echo gone >&2", "the agent ended the connection: gone"});
  Loop loop;
  LocalTransport transport(loop, script(row.text));
  Talk talk;
  talk.when_closed = [&] { loop.stop(); };
  talk.open(transport);
  REQUIRE(run_until_stopped(loop));
  CHECK(render(*talk.why) == row.why);
  CHECK(talk.why->error_class == ErrorClass::host);
  CHECK_FALSE(has_children());
}

TEST_CASE("endless words on standard error are cut") {
  Loop loop;
  LocalTransport transport(loop, script("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1"));
  Talk talk;
  talk.when_closed = [&] { loop.stop(); };
  talk.open(transport);
  REQUIRE(run_until_stopped(loop));
  CHECK(render(*talk.why).size() < 5000);
  CHECK(render(*talk.why).size() > 2500);
}

TEST_CASE("a program that is not there closes the link") {
  Loop loop;
  LocalTransport transport(loop, {"/not/there"});
  Talk talk;
  talk.when_closed = [&] { loop.stop(); };
  talk.open(transport);
  CHECK(talk.story.empty());
  REQUIRE(run_until_stopped(loop));
  CHECK(talk.story == "closed");
  CHECK(talk.why->error_class == ErrorClass::missing);
}

TEST_CASE(
    "the process has a session of its own, and of the launcher only directory and environment") {
  ::setenv("TRAIN_TEST_WORD", "inherited", 1);
  Loop loop;
  LocalTransport transport(
      loop, script("read a b c d group session rest </proc/$$/stat; [ $session = $$ ] && "
                   "echo $TRAIN_TEST_WORD $(pwd -P) $(ls -x /proc/self/fd)"));
  Talk talk;
  talk.when_closed = [&] { loop.stop(); };
  talk.open(transport);
  REQUIRE(run_until_stopped(loop));
  std::string directory(4096, '\0');
  REQUIRE(::getcwd(directory.data(), directory.size()) != nullptr);
  directory.resize(directory.find('\0'));
  CHECK(talk.received == "inherited " + directory + " 0 1 2 3\n");
}

TEST_CASE("megabytes to a slow reader wait without blocking the loop") {
  Loop loop;
  TemporaryDirectory directory;
  const std::string go = directory.path() + "/go";
  LocalTransport transport(loop, script("until [ -e " + go + " ]; do sleep 0.01; done; cat"));
  Talk talk;
  const std::string sent(5'000'000, 'x');
  talk.when_open = [&] {
    talk.link->send(sent);
    talk.link->send("end");
    CHECK(talk.link->unsent_bytes() > 0);
    CHECK(talk.link->unsent_bytes() < sent.size());
    directory.write("go", "");
  };
  talk.when_bytes = [&] {
    if (talk.received.ends_with("end")) loop.stop();
  };
  talk.open(transport);
  REQUIRE(run_until_stopped(loop));
  CHECK((talk.received == sent + "end"));
  CHECK(talk.link->unsent_bytes() == 0);
}

TEST_CASE("a link may be destroyed in any of its callbacks, and its process is collected") {
  REQUIRE(eventually([] { return !has_children(); }));  // those that earlier tests left
  Loop loop;
  LocalTransport transport(loop, script("echo hello; cat"));
  Talk talk;
  const auto destroy = [&] { talk.link.reset(); };
  SECTION("on_open") { talk.when_open = destroy; }
  SECTION("on_bytes") { talk.when_bytes = destroy; }
  SECTION("before anything was said") { loop.post(destroy); }
  talk.open(transport);
  REQUIRE(loop_until(loop, [] {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0;  // who collects it is train
  }));
  CHECK(talk.link == nullptr);
  CHECK(talk.story.find("closed") == talk.story.npos);
}

TEST_CASE("on_closed may destroy the link") {
  Loop loop;
  LocalTransport transport(loop, script("exit 0"));
  Talk talk;
  talk.when_closed = [&] {
    talk.link.reset();
    loop.stop();
  };
  talk.open(transport);
  REQUIRE(run_until_stopped(loop));
  CHECK(talk.story == "open closed");
}

TEST_CASE("nothing is left open by a link") {
  Loop loop;
  run_for(loop, 0ms);  // opens what the loop needs
  const size_t before = count_descriptors();
  for (int i = 0; i < 3; ++i) {
    LocalTransport transport(loop, script("cat"));
    Talk talk;
    talk.when_open = [&] { loop.stop(); };
    talk.open(transport);
    REQUIRE(run_until_stopped(loop));
  }
  CHECK(count_descriptors() == before);
  CHECK(eventually([] { return !has_children(); }));
}

TEST_CASE("an agent is reached through the local transport, and again after the link was lost") {
  TemporaryDirectory base;
  ::setenv("TRAIN_TEST_BASE", base.path().c_str(), 1);
  const auto ask = [](const std::string& command) {
    Loop loop;
    LocalTransport transport(loop, {ATTACH_HELPER, "agent"});
    Talk talk;
    talk.when_closed = [&] { loop.stop(); };
    talk.open(transport);
    talk.link->send(command + "\n");
    CHECK(run_until_stopped(loop));
    CHECK(render(*talk.why) == "the agent ended the connection");
    return talk.received;
  };
  const std::string ids = ask("ids");
  CHECK_FALSE(ids.empty());
  CHECK(ask("ids") == ids);
  CHECK(ask("quit 0").empty());
  CHECK(eventually([&] { return running_with("TRAIN_TEST_BASE=" + base.path()).empty(); }));
}
