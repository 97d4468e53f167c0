// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/connected_process.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

using namespace train;

namespace {

ProgramCall shell(const std::string& script, OnParentEnd on_parent_end = OnParentEnd::die) {
  return {"/bin/sh", {"sh", "-c", script}, {"WORD=here"}, on_parent_end};
}

// All that comes until the other end closes.
std::string all_of(const Descriptor& source) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    REQUIRE(testing::becomes_readable(source.get()));
    const ssize_t count = ::read(source.get(), piece.data(), piece.size());
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

siginfo_t end_of(const ConnectedProcess& process) {
  siginfo_t info{};
  REQUIRE(::waitid(P_PIDFD, static_cast<id_t>(process.pidfd.get()), &info, WEXITED) == 0);
  return info;
}

}  // namespace

TEST_CASE("a program is talked to over its standard descriptors and sees nothing else") {
  const auto process = start_connected(
      shell("read word; echo $word $WORD; echo trouble >&2; ls /proc/self/fd | wc -l; "
            "[ $(ps -o sid= -p $$) = $$ ] && echo leader; exit 3"));
  REQUIRE(process);
  REQUIRE(::send(process->stream.get(), "well\n", 5, MSG_NOSIGNAL) == 5);
  CHECK(all_of(process->stream) == "well here\n4\nleader\n");  // ls reads a folder
  CHECK(all_of(process->errors) == "trouble\n");
  const siginfo_t end = end_of(*process);
  CHECK(end.si_code == CLD_EXITED);
  CHECK(end.si_status == 3);
}

TEST_CASE("a program that cannot be executed is missing, with what to do") {
  const auto process =
      start_connected({"/no/such", {"such"}, {}, OnParentEnd::die, "install the package 'such'"});
  REQUIRE_FALSE(process);
  CHECK(process.error().error_class == ErrorClass::missing);
  CHECK(render(process.error()) ==
        "cannot execute '/no/such': no such file or directory\n  install the package 'such'");
}

TEST_CASE("a program dies with the thread that started it, unless it is to go on") {
  for (const OnParentEnd on_parent_end : {OnParentEnd::die, OnParentEnd::go_on}) {
    Result<ConnectedProcess> process;
    std::thread([&] { process = start_connected(shell("exec cat", on_parent_end)); }).join();
    REQUIRE(process);
    if (on_parent_end == OnParentEnd::go_on) {
      REQUIRE(::send(process->stream.get(), "word", 4, MSG_NOSIGNAL) == 4);
      ::shutdown(process->stream.get(), SHUT_WR);
      CHECK(all_of(process->stream) == "word");
    }
    CHECK(end_of(*process).si_code ==
          (on_parent_end == OnParentEnd::die ? CLD_KILLED : CLD_EXITED));
  }
}
