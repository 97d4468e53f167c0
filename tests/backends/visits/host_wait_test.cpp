// SPDX-License-Identifier: Apache-2.0
#include "backends/visits/host_wait.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <vector>

#include "backends/lease/task_leases.hpp"
#include "backends/lease/task_ticket.hpp"
#include "backends/posix/files.hpp"
#include "backends/visits/host_inspection.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/talks/wait_talk.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

std::string nobody(std::int64_t) { return {}; }

// The host's side in a process of its own, as it changes its signals; this side of its stream.
class WaitingHost {
 public:
  explicit WaitingHost(const AgentMeans& means, const std::string& key = "abcd2345-0") {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    stream_ = Descriptor(ends[0]);
    const Descriptor other(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    stream_.reset();
    const auto ended = wait_in_line(key, means, other.get(), other.get());
    if (!ended) (void)write_all(STDERR_FILENO, ended.error().diagnostics.front().message + "\n");
    ::_exit(ended ? 0 : 1);
  }
  ~WaitingHost() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  WaitingHost(const WaitingHost&) = delete;
  WaitingHost& operator=(const WaitingHost&) = delete;

  void say(const std::string& text) const { REQUIRE(write_all(stream_.get(), text)); }
  void wait(const std::string& task, const std::string& wants = "2") const {
    WaitTicket ticket;
    ticket.ticket.order.task = task;
    ticket.ticket.wants = wants;
    say(encode_wait_ticket(ticket));
  }
  std::optional<WaitReport> report() {
    while (const auto line = next_line(10s)) {
      if (line->empty()) continue;
      auto told = decode_wait_report(*line);
      REQUIRE(told);
      return std::move(*told);
    }
    return std::nullopt;
  }
  // Nothing where none comes for so long on an idle machine, or the host has gone.
  std::optional<std::string> next_line(std::chrono::milliseconds limit) {
    while (true) {
      if (const auto line = text_.next()) return std::string(*line);
      if (!becomes_readable(stream_.get(), limit)) return {};
      char buffer[4096];
      const ssize_t count = ::read(stream_.get(), buffer, sizeof buffer);
      if (count <= 0) return {};
      text_.feed({buffer, static_cast<std::size_t>(count)});
    }
  }
  void hang_up() { stream_.reset(); }
  void signal(int number) const { ::kill(pid_, number); }
  // Its exit status, or minus the signal.
  int end() {
    int status = 0;
    REQUIRE(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int pid_ = -1;
  Descriptor stream_;
  LineBuffer text_;
};

struct Bench {
  TemporaryDirectory place;
  AgentMeans means = [this] {
    AgentMeans made;
    made.lease_folder = place.path();
    return made;
  }();

  LeaseFolder folder() const { return lease_folder_of(means, "").value(); }
  std::vector<Ticket> tickets() const { return tickets_on(folder(), nobody); }
  std::vector<std::string> ticket_files() const {
    std::vector<std::string> names = names_in(FolderReader(place.path()));
    std::erase_if(names, [](const auto& name) { return name.find(ticket_prefix) == name.npos; });
    return names;
  }
};

}  // namespace

TEST_CASE("who waits has a ticket, which goes with the launcher's end of the stream") {
  Bench bench;
  WaitingHost host(bench.means);
  host.wait("abcd2345");
  const auto told = host.report();
  REQUIRE(told);
  CHECK(told->arrived_ns > 0);
  CHECK(told->tickets.empty());
  CHECK(told->host.holders.empty());
  REQUIRE(bench.tickets().size() == 1);
  CHECK(bench.tickets().front().order.task == "abcd2345");
  CHECK(bench.tickets().front().wants == "2");
  host.hang_up();
  CHECK(host.end() == 0);
  CHECK(bench.tickets().empty());
}

TEST_CASE("its ticket is never left by a signal") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    Bench bench;
    WaitingHost host(bench.means);
    host.wait("abcd2345");
    REQUIRE(host.report());
    host.signal(number);
    CHECK(host.end() == 0);
    CHECK(bench.ticket_files().empty());
  }
}

TEST_CASE("who waits is told who holds something, who waits beside it, and what has changed") {
  Bench bench;
  TaskLeases leases(bench.folder(), {"held2345-0", "held2345", "digits", "alice@head"});
  const LeaseKey slot{LeaseKey::Kind::place, 0, {}};
  REQUIRE(leases.take({{slot, lease_units, lease_units}})->empty());

  WaitingHost host(bench.means);
  host.wait("abcd2345");
  auto told = host.report();
  REQUIRE(told);
  REQUIRE(told->host.holders.size() == 1);
  CHECK(told->host.holders.front().task == "held2345");

  WaitingHost other(bench.means, "wxyz2345-0");
  other.wait("wxyz2345");
  REQUIRE(other.report());
  told = host.report();
  REQUIRE(told);
  REQUIRE(told->tickets.size() == 1);
  CHECK(told->tickets.front().order.task == "wxyz2345");

  leases.drop();
  told = host.report();
  REQUIRE(told);
  CHECK(told->host.holders.empty());

  host.wait("abcd2345", "4");  // the ticket is written again, and is the same one
  CHECK(eventually([&] {
    const auto tickets = bench.tickets();
    return tickets.size() == 2 && tickets.front().wants == "4";
  }));

  other.hang_up();
  CHECK(other.end() == 0);
  told = host.report();
  REQUIRE(told);
  CHECK(told->tickets.empty());
}

// A hundred of them would look at a hundred tickets ten times a second each.
TEST_CASE("who stands further behind looks less often") {
  Bench bench;
  std::vector<TaskTicket> before;
  const LeaseFolder folder = bench.folder();
  for (int i = 0; i < 5; ++i) {
    Ticket ticket;
    ticket.order = {1, 1, "wait234" + std::to_string(2 + i)};
    ticket.is_final = true;
    before.push_back(TaskTicket::make(folder, ticket.order.task + "-0", ticket).value());
  }
  WaitingHost host(bench.means);
  WaitTicket own;
  own.ticket.order = {2, 2, "abcd2345"};
  own.ticket.is_final = true;
  host.say(encode_wait_ticket(own));
  REQUIRE(host.report());
  TaskLeases leases(bench.folder(), {"held2345-0", "held2345", "digits", "alice@head"});
  const LeaseKey slot{LeaseKey::Kind::place, 0, {}};
  constexpr int looks = 4;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < looks; ++i) {  // each look finds something new
    if (i % 2 == 0)
      REQUIRE(leases.take({{slot, lease_units, lease_units}}, TicketOrder{})->empty());
    else
      leases.drop();
    REQUIRE(host.report());
  }
  CHECK(std::chrono::steady_clock::now() - begin > (looks - 1) * 600ms);
}

TEST_CASE("a waiter whose ticket somebody removes ends, and says so") {
  Bench bench;
  WaitingHost host(bench.means);
  host.wait("abcd2345");
  REQUIRE(host.report());
  for (const std::string& name : bench.ticket_files())
    REQUIRE(::unlink((bench.place.path() + "/" + name).c_str()) == 0);
  CHECK(host.end() == 1);
}

TEST_CASE("a launcher that says what is no ticket, or never ends a line, is left") {
  for (const std::string& text : {std::string("no ticket\n"), std::string("{}\n"),
                                  std::string(longest_wait_ticket + 1, ' ')}) {
    Bench bench;
    WaitingHost host(bench.means);
    host.say(text);
    CHECK(host.end() == 1);
    CHECK(bench.tickets().empty());
  }
}

TEST_CASE("while nothing changes both say that they live; who is silent is given up", "[waits]") {
  Bench bench;
  WaitingHost host(bench.means);
  const auto begin = std::chrono::steady_clock::now();
  host.wait("abcd2345");
  REQUIRE(host.report());
  int signs = 0;
  while (const auto line = host.next_line(wait_silence)) {
    CHECK(line->empty());
    ++signs;
  }
  CHECK(signs >= 4);
  CHECK(host.end() == 0);
  CHECK(std::chrono::steady_clock::now() - begin >= wait_silence);
  CHECK(bench.tickets().empty());
}
