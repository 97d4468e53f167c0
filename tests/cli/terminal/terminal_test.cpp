// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.hpp"

#include <signal.h>

#include <atomic>

#include "tests/catch.hpp"
#include "tests/cli/captured_stream.hpp"

using namespace train;
using namespace train::testing;

namespace {

constexpr auto out = Terminal::Stream::out;
constexpr auto err = Terminal::Stream::err;

}  // namespace

TEST_CASE("what is written comes out in order, each stream on its own") {
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  {
    Terminal terminal([] {});
    terminal.write(out, "a");
    terminal.write(err, "x");
    terminal.write(out, "b");
    terminal.flush();
    terminal.write(err, "y");  // by the end of the terminal, without a flush
  }
  CHECK(standard_output.read_all() == "ab");
  CHECK(standard_error.read_all() == "xy");
}

TEST_CASE("rows below what is written are for terminals alone") {
  CapturedStream standard_error(STDERR_FILENO);
  {
    Terminal terminal([] {});
    terminal.show_below({"a row", "another"});
    terminal.write(err, "said\n");
    terminal.flush();
    terminal.show_below({});
    terminal.flush();
  }
  CHECK(standard_error.read_all() == "said\n");
}

TEST_CASE("a terminal that does not read holds up nobody, and tells when it has room again") {
  CapturedStream standard_output(STDOUT_FILENO);
  std::atomic<int> rooms = 0;
  std::string received;
  const std::size_t sent = Terminal::usual_capacity + 1'000'000;
  {
    Terminal terminal([&] { ++rooms; });
    terminal.write(out, std::string(1'000'000, 'x'));
    CHECK_FALSE(terminal.full());
    terminal.write(out, std::string(Terminal::usual_capacity, 'y'));
    CHECK(terminal.full());
    CHECK(rooms == 0);
    while (received.size() < sent) received += standard_output.read_some();
    terminal.flush();
    CHECK_FALSE(terminal.full());
  }
  CHECK(rooms == 1);
  CHECK(received.find('y') == 1'000'000);
}

TEST_CASE("a stream that its reader closed takes what is written, and the other one goes on") {
  ::signal(SIGPIPE, SIG_IGN);
  CapturedStream standard_output(STDOUT_FILENO);
  CapturedStream standard_error(STDERR_FILENO);
  standard_output.close_reader();
  {
    Terminal terminal([] {});
    for (int i = 0; i < 3; ++i) terminal.write(out, std::string(1'000'000, 'x'));
    terminal.write(err, "said");
    terminal.flush();
    CHECK(terminal.closed(out));
    CHECK_FALSE(terminal.closed(err));
    CHECK_FALSE(terminal.full());
  }
  CHECK(standard_error.read_all() == "said");
}

TEST_CASE("a terminal that another program made non-blocking gets everything") {
  CapturedStream standard_output(STDOUT_FILENO);
  ::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  std::string received;
  {
    Terminal terminal([] {});
    terminal.write(out, std::string(3'000'000, 'x'));
    while (received.size() < 3'000'000) received += standard_output.read_some();
  }
  CHECK(received == std::string(3'000'000, 'x'));
}
