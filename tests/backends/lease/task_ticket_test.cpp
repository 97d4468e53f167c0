// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/task_ticket.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "backends/lease/living_files.hpp"
#include "backends/posix/files.hpp"
#include "launcher/wire/ticket_fields.hpp"
#include "tests/backends/lease/lease_fixture.hpp"
#include "tests/skip.hpp"

using namespace train;

namespace {

Ticket ticket_of(const std::string& task) {
  Ticket ticket;
  ticket.order.task = task;
  ticket.name = "digits";
  ticket.launcher = "alice@head";
  ticket.wants = "4";
  return ticket;
}

Ticket final_ticket_of(const std::string& task, std::int64_t time) {
  Ticket ticket = ticket_of(task);
  ticket.order = {time, time, task};
  ticket.is_final = true;
  return ticket;
}

std::vector<Ticket> tickets(const LeaseFolder& folder) {
  return tickets_on(folder, [](std::int64_t) { return "somebody"; });
}

TaskLeases leases_of(const HostUnderTest& host, const std::string& task) {
  return TaskLeases(host.folder(), {task + "-0", task, "digits", "alice@head"});
}

std::string own_stem() { return "ticket-" + std::to_string(::getuid()) + "-"; }

std::string words_of_ticket(const Ticket& ticket) { return encode_ticket({ticket, 1}); }

bool has_file(const HostUnderTest& host, const std::string& begin) {
  const auto files = names_in(FolderReader(host.path()));
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& name) { return name.starts_with(begin); });
}

}  // namespace

TEST_CASE("a ticket stands with its arrival until its order is final") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  Ticket words = ticket_of("mmmm2345");
  words.waited_ms = 60'000;
  auto ticket = TaskTicket::make(folder, "m-0", words);
  REQUIRE(ticket);
  auto all = tickets(folder);
  REQUIRE(all.size() == 1);
  CHECK(all.front().order == TicketOrder{ticket->arrived_ns(), ticket->arrived_ns(), "mmmm2345"});
  CHECK_FALSE(all.front().is_final);
  CHECK(all.front().name == "digits");
  CHECK(all.front().launcher == "alice@head");
  CHECK(all.front().wants == "4");
  CHECK(all.front().uid == static_cast<std::int64_t>(::getuid()));
  CHECK(all.front().user == "somebody");
  CHECK(all.front().is_own_user);
  CHECK(all.front().waited_ms >= 60'000);
  CHECK(all.front().waited_ms < 120'000);
  REQUIRE(ticket->write(final_ticket_of("mmmm2345", 700)));
  all = tickets(folder);
  REQUIRE(all.size() == 1);
  CHECK(all.front().order == TicketOrder{700, 700, "mmmm2345"});
  CHECK(all.front().is_final);
}

TEST_CASE("those who come later stand behind, and a ticket goes with its holder") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  auto later = TaskTicket::make(folder, "a-0", final_ticket_of("aaaa2345", 900));
  REQUIRE(later);
  {
    auto sooner = TaskTicket::make(folder, "z-0", final_ticket_of("zzzz2345", 800));
    REQUIRE(sooner);
    const auto all = tickets(folder);
    REQUIRE(all.size() == 2);
    CHECK(all.front().order.task == "zzzz2345");
  }
  CHECK(tickets(folder).size() == 1);
  CHECK(later->is_there());
  for (const std::string& name : names_in(folder))
    if (name.starts_with(own_stem())) ::unlinkat(folder.folder.get(), name.c_str(), 0);
  CHECK_FALSE(later->is_there());
}

TEST_CASE("what a killed task has left is no ticket, and is removed") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  const std::string name = "ticket-" + std::to_string(::getuid()) + "-dead-0";
  std::ofstream(host.path() + "/" + name)
      << R"({"order": {"time_ns": 1, "arrived_ns": 1, "task": "dead2345"}})";
  CHECK(tickets(folder).empty());
  CHECK(has_file(host, name));
  const auto ticket = TaskTicket::make(folder, "m-0", ticket_of("mmmm2345"));
  REQUIRE(ticket);
  CHECK_FALSE(has_file(host, name));
}

TEST_CASE("a ticket whose words nobody understands is none") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  for (const char* words : {"", "{", "{}", R"({"order": 7})"}) {
    const auto file = LeaseFile::make_record(folder, own_stem() + "x-0", words);
    REQUIRE(file);
    CHECK(tickets(folder).empty());
  }
}

TEST_CASE("who has no ticket comes behind those who wait, and is told who they are") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  const auto ticket = TaskTicket::make(folder, "m-0", final_ticket_of("mmmm2345", 800));
  REQUIRE(ticket);
  TaskLeases newcomer = leases_of(host, "n");
  const auto blockers = newcomer.take({whole_slot(0)}).value();
  REQUIRE(blockers.size() == 1);
  CHECK(blockers.front().task == "mmmm2345");
  CHECK(blockers.front().name == "digits");
  CHECK(blockers.front().is_waiting);
  CHECK(blockers.front().leases.empty());
  CHECK_FALSE(has_file(host, "holder-"));
}

TEST_CASE("a ticket in another folder of the host counts as well") {
  const HostUnderTest host;
  const HostUnderTest later;
  const LeaseFolder folder = host.folder();
  const auto ticket = TaskTicket::make(folder, "m-0", final_ticket_of("mmmm2345", 800));
  REQUIRE(ticket);
  CHECK(tickets(later.folder_beside(host)).size() == 1);
  TaskLeases newcomer(later.folder_beside(host), {"n-0", "n", "digits", "alice@head"});
  CHECK(newcomer.take({whole_slot(0)})->front().task == "mmmm2345");
}

TEST_CASE("slots are taken in the order of tickets") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  auto first = TaskTicket::make(folder, "m-0", final_ticket_of("mmmm2345", 800));
  const auto second = TaskTicket::make(folder, "a-0", final_ticket_of("aaaa2345", 900));
  REQUIRE(first);
  REQUIRE(second);
  TaskLeases of_first = leases_of(host, "mmmm2345");
  TaskLeases of_second = leases_of(host, "aaaa2345");
  CHECK(of_second.take({whole_slot(1)}, TicketOrder{900, 900, "aaaa2345"})->front().task ==
        "mmmm2345");
  CHECK(of_first.take({whole_slot(0)}, TicketOrder{800, 800, "mmmm2345"})->empty());
  // It is served, and gives its place up.
  { const auto gone = std::move(first); }
  CHECK(of_second.take({whole_slot(1)}, TicketOrder{900, 900, "aaaa2345"})->empty());
}

TEST_CASE("what a task holds it keeps, whoever waits") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  TaskLeases holder = leases_of(host, "h");
  REQUIRE(holder.take({whole_slot(0)})->empty());
  const auto ticket = TaskTicket::make(folder, "m-0", final_ticket_of("mmmm2345", 800));
  REQUIRE(ticket);
  CHECK(holder.take({whole_slot(0)})->empty());
  CHECK(holder.take({whole_slot(0), whole_slot(1)})->front().task == "mmmm2345");
}

// Anybody may lock the file of another one for reading.
TEST_CASE("a ticket lives by the lock of its own user alone") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  const std::string name = own_stem() + "dead-0";
  std::ofstream(host.path() + "/" + name) << words_of_ticket(final_ticket_of("dead2345", 800));
  const LeaseFile squatter = LeaseFile::look(folder, name);
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  REQUIRE(::fcntl(squatter.descriptor(), F_OFD_SETLK, &lock) == 0);
  CHECK(tickets(folder).empty());
  TaskLeases newcomer = leases_of(host, "n");
  CHECK(newcomer.take({whole_slot(0)})->empty());
  CHECK_FALSE(std::filesystem::exists(host.path() + "/" + name));
}

TEST_CASE("a file of one user does not stand for another one") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  const std::string stem = "ticket-" + std::to_string(::getuid() + 1) + "-m-0";
  const auto file =
      LeaseFile::make_record(folder, stem, words_of_ticket(final_ticket_of("mmmm2345", 800)));
  REQUIRE(file);
  CHECK(tickets(folder).empty());
}

TEST_CASE("a ticket that says to be older than its file does not come first") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const HostUnderTest host;
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  const LeaseFolder folder = host.folder();
  if (created_ns(folder.folder.get()) == 0)
    SKIP_CASE("this file system does not keep when a file was made");
  const auto ours = TaskTicket::make(folder, "m-0", ticket_of("mmmm2345"));
  REQUIRE(ours);
  int talk[2];
  REQUIRE(::pipe2(talk, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(9);
    const auto theirs = TaskTicket::make(folder, "x-0", final_ticket_of("xxxx2345", 1));
    (void)!::write(talk[1], theirs ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char told = 0;
  REQUIRE(::read(talk[0], &told, 1) == 1);
  REQUIRE(told == 'y');
  const auto all = tickets(folder);
  REQUIRE(all.size() == 2);
  CHECK(all.front().order.task == "xxxx2345");
  CHECK(all.front().created_ns >= ours->arrived_ns());
  // As if we had come a minute sooner: files cannot be made older for a test.
  const TicketOrder order{ours->arrived_ns(), ours->arrived_ns(), "mmmm2345"};
  constexpr std::int64_t minute = 60'000'000'000;
  CHECK(blocks(all.front(), "mmmm2345", order, ours->arrived_ns()));
  CHECK_FALSE(blocks(all.front(), "mmmm2345", order, ours->arrived_ns() - minute));
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  ::close(talk[0]);
  ::close(talk[1]);
}

TEST_CASE("what a waiting task has passed is not in its way") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const HostUnderTest host;
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  const LeaseFolder folder = host.folder();
  int talk[2];
  REQUIRE(::pipe2(talk, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(9);
    const auto theirs = TaskTicket::make(folder, "x-0", final_ticket_of("xxxx2345", 800));
    (void)!::write(talk[1], theirs ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char told = 0;
  REQUIRE(::read(talk[0], &told, 1) == 1);
  REQUIRE(told == 'y');
  Ticket words = final_ticket_of("mmmm2345", 900);
  auto ours = TaskTicket::make(folder, "m-0", words);
  REQUIRE(ours);
  TaskLeases leases = leases_of(host, "mmmm2345");
  CHECK(leases.take({whole_slot(0)}, words.order)->front().task == "xxxx2345");
  words.passed = {"xxxx2345"};
  REQUIRE(ours->write(words));
  CHECK(leases.take({whole_slot(0)}, words.order)->empty());
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  ::close(talk[0]);
  ::close(talk[1]);
}

// A lock file may be anybody's, and all may write to it: whoever links it under the name of a
// ticket does not speak for its owner.
TEST_CASE("what others may write is no ticket of its owner") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  REQUIRE(LeaseFile::open(folder, "place-0"));
  const std::string name = own_stem() + "m-0";
  REQUIRE(::link((host.path() + "/place-0").c_str(), (host.path() + "/" + name).c_str()) == 0);
  auto forged = LeaseFile::open(folder, name).value();
  REQUIRE(forged.lock({0, 1}));
  REQUIRE(write_whole_at(forged.descriptor(), words_of_ticket(final_ticket_of("mmmm2345", 800)),
                         0) == 0);
  CHECK(tickets(folder).empty());
}
