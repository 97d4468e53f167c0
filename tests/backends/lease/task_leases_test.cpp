// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/task_leases.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/lease/kept_descriptors.hpp"
#include "backends/lease/lease_holders.hpp"
#include "backends/lease/living_files.hpp"
#include "backends/posix/files.hpp"
#include "tests/backends/lease/lease_fixture.hpp"
#include "tests/skip.hpp"

using namespace train;

namespace {

TaskLeases::Words words_of(const std::string& task) {
  return {task + "-0", task, "digits", "alice@head"};
}

std::vector<LeaseHolder> holders(const HostUnderTest& host) {
  return holders_on(host.folder(), [](std::int64_t) { return "somebody"; });
}

std::vector<std::string> files_of(const HostUnderTest& host) {
  std::vector<std::string> files = names_in(FolderReader(host.path()));
  std::sort(files.begin(), files.end());
  return files;
}

std::string own_stem() { return "holder-" + std::to_string(::getuid()) + "-"; }

bool has_file(const HostUnderTest& host, const std::string& begin) {
  const auto files = files_of(host);
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& name) { return name.starts_with(begin); });
}

}  // namespace

TEST_CASE("what a task holds another one does not get, and is told who has it") {
  const HostUnderTest host;
  TaskLeases first(host.folder(), words_of("abcd2345"));
  REQUIRE(first.take({whole_slot(0), whole_slot(1)})->empty());
  TaskLeases second(host.folder(), words_of("efgh2345"));
  const auto blockers = second.take({whole_slot(1), whole_slot(2)}).value();
  REQUIRE(blockers.size() == 1);
  const LeaseHolder& holder = blockers.front();
  CHECK(holder.task == "abcd2345");
  CHECK(holder.name == "digits");
  CHECK(holder.launcher == "alice@head");
  CHECK(holder.uid == static_cast<std::int64_t>(::getuid()));
  CHECK(holder.user == user_name_in_passwd(holder.uid));
  CHECK(holder.held_ms >= 0);
  CHECK(holder.held_ms < 60'000);
  CHECK_FALSE(holder.is_running);
  CHECK(holder.leases.size() == 2);
  // Nothing of it was kept.
  TaskLeases third(host.folder(), words_of("ijkl2345"));
  CHECK(third.take({whole_slot(2)})->empty());
  first.note_running();
  CHECK(holders(host).front().is_running);
  first.drop();
  CHECK(second.take({whole_slot(1)})->empty());
  CHECK(holders(host).size() == 2);
}

TEST_CASE("agents of one task on one machine are not in each other's way") {
  const HostUnderTest host;
  TaskLeases one(host.folder(), words_of("a"));
  auto words = words_of("a");
  words.key = "a-1";
  TaskLeases other(host.folder(), words);
  TaskLeases stranger(host.folder(), words_of("b"));
  REQUIRE(one.take({whole_slot(0)})->empty());
  CHECK(other.take({whole_slot(0), whole_slot(1)})->empty());
  CHECK(stranger.take({whole_slot(1)})->front().task == "a");
  one.drop();
  CHECK(stranger.take({whole_slot(0)})->empty());
}

// As an agent of a placement that was given up: it leaves while the next one begins.
TEST_CASE("what another agent of the task has let go is taken when the ranks are started") {
  const HostUnderTest host;
  auto words = words_of("a");
  words.key = "a-1";
  TaskLeases former(host.folder(), words);
  TaskLeases next(host.folder(), words_of("a"));
  TaskLeases stranger(host.folder(), words_of("b"));
  REQUIRE(former.take({whole_slot(0)})->empty());
  REQUIRE(next.take({whole_slot(0), whole_slot(1)})->empty());
  CHECK(next.take_new_descriptors().size() == 2);  // with its words
  former.drop();
  next.note_running();
  CHECK(next.take_new_descriptors().size() == 1);
  CHECK(stranger.take({whole_slot(0)})->front().task == "a");
  const auto told = holders(host);
  REQUIRE(told.size() == 1);
  CHECK(told.front().is_running);
  CHECK(told.front().leases.size() == 2);
  next.drop();
  CHECK(stranger.take({whole_slot(0)})->empty());
}

TEST_CASE("parts of a slot are shared until it is full") {
  const HostUnderTest host;
  TaskLeases first(host.folder(), words_of("a"));
  TaskLeases second(host.folder(), words_of("b"));
  TaskLeases third(host.folder(), words_of("c"));
  REQUIRE(first.take({part_of_slot(0, 3'000)})->empty());
  REQUIRE(second.take({part_of_slot(0, 4'000)})->empty());
  CHECK(third.take({part_of_slot(0, 4'000)})->size() == 2);
  first.drop();
  CHECK(third.take({part_of_slot(0, 6'000)})->empty());  // in two pieces
  CHECK(holders(host).size() == 2);
}

TEST_CASE("an attempt that wants the same keeps it, one that wants other things lets go") {
  const HostUnderTest host;
  TaskLeases ours(host.folder(), words_of("a"));
  REQUIRE(ours.take({whole_slot(0), whole_slot(1)})->empty());
  const auto before = ours.descriptors();
  CHECK(ours.take_new_descriptors() == before);
  REQUIRE(ours.take({whole_slot(0), whole_slot(1)})->empty());
  CHECK(ours.descriptors() == before);
  CHECK(ours.take_new_descriptors().empty());
  // As the guard has them.
  std::vector<Descriptor> copies;
  for (const int each : before) copies.emplace_back(::fcntl(each, F_DUPFD_CLOEXEC, 3));
  REQUIRE(ours.take({whole_slot(1), whole_slot(2)})->empty());
  CHECK(ours.take_new_descriptors().size() == 1);
  TaskLeases other(host.folder(), words_of("b"));
  CHECK(other.take({whole_slot(0)})->empty());
  CHECK_FALSE(other.take({whole_slot(0), whole_slot(1)})->empty());
}

// The guard need not even take them out of its socket.
TEST_CASE("what an agent held its guard holds, until that is gone as well") {
  const HostUnderTest host;
  int ends[2];
  int talk[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  REQUIRE(::pipe2(talk, O_CLOEXEC) == 0);
  Descriptor guard(ends[0]);
  Descriptor agents(ends[1]);
  const Descriptor answer(talk[0]);
  Descriptor answering(talk[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    guard.reset();
    TaskLeases agent(host.folder(), words_of("killed"));
    const bool is_taken = agent.take({whole_slot(0)})->empty();
    const bool is_kept = KeptDescriptors({agents.get()}).add(agent.descriptors()).has_value();
    (void)!::write(answering.get(), is_taken && is_kept ? "y" : "n", 1);
    for (;;) ::pause();
  }
  agents.reset();
  answering.reset();
  char told = 0;
  REQUIRE(::read(answer.get(), &told, 1) == 1);
  REQUIRE(told == 'y');
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  TaskLeases other(host.folder(), words_of("other"));
  CHECK(other.take({whole_slot(0)})->front().task == "killed");
  guard.reset();
  CHECK(other.take({whole_slot(0)})->empty());
}

// As by an exception, while the ranks still run.
TEST_CASE("an agent that goes without a word lets go of nothing that its guard holds") {
  const HostUnderTest host;
  std::vector<Descriptor> guard;
  {
    TaskLeases agent(host.folder(), words_of("unwinds"));
    REQUIRE(agent.take({whole_slot(0)})->empty());
    for (const int each : agent.descriptors())
      guard.emplace_back(::fcntl(each, F_DUPFD_CLOEXEC, 3));
  }
  TaskLeases other(host.folder(), words_of("other"));
  CHECK(other.take({whole_slot(0)})->front().task == "unwinds");
  guard.clear();
  CHECK(other.take({whole_slot(0)})->empty());
}

TEST_CASE("who lets go in the middle of another one's try is never an unknown holder", "[once]") {
  const HostUnderTest host;
  TaskLeases one(host.folder(), words_of("one"));
  TaskLeases other(host.folder(), words_of("other"));
  std::atomic<bool> is_over = false;
  std::thread changing([&] {
    while (!is_over) {
      (void)one.take({whole_slot(0)});
      std::this_thread::sleep_for(std::chrono::microseconds(50));  // waits: it holds it a while
      one.drop();
    }
  });
  int unknown = 0;
  for (int round = 0; round < 5'000; ++round) {
    const auto blockers = other.take({whole_slot(0)});
    if (!blockers || (!blockers->empty() && blockers->front().task != "one")) ++unknown;
    other.drop();
  }
  is_over = true;
  changing.join();
  CHECK(unknown == 0);
}

TEST_CASE("what was held by a task that was killed is free, and its words go with the next one") {
  const HostUnderTest host;
  int talk[2];
  REQUIRE(::pipe2(talk, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    TaskLeases agent(host.folder(), words_of("killed"));
    const bool is_taken = agent.take({whole_slot(0)})->empty();
    (void)!::write(talk[1], is_taken ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char told = 0;
  REQUIRE(::read(talk[0], &told, 1) == 1);
  CHECK(told == 'y');
  CHECK(holders(host).size() == 1);
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(holders(host).empty());
  const std::string record = own_stem() + "killed-0-";
  CHECK(has_file(host, record));
  TaskLeases next(host.folder(), words_of("next"));
  CHECK(next.take({whole_slot(0)})->empty());
  CHECK_FALSE(has_file(host, record));
  ::close(talk[0]);
  ::close(talk[1]);
}

TEST_CASE("a lock without words is an unknown holder's") {
  const HostUnderTest host;
  auto squatter = LeaseFile::open(host.folder(), "place-3").value();
  REQUIRE(squatter.lock({0, 1}));
  TaskLeases ours(host.folder(), words_of("a"));
  const auto blockers = ours.take({whole_slot(3)}).value();
  REQUIRE(blockers.size() == 1);
  CHECK(blockers.front().task.empty());
  CHECK(blockers.front().leases.front().key == LeaseKey{LeaseKey::Kind::place, 3, {}});
  CHECK(blockers.front().leases.front().amount == 1);
  CHECK(ours.take({part_of_slot(3, 5'000)})->empty());
}

namespace {

// Somebody's words, in a file that is locked.
Descriptor locked_words(const HostUnderTest& host, const std::string& text) {
  Descriptor file(::open((host.path() + "/" + own_stem() + "liar").c_str(),
                         O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  REQUIRE(::fcntl(file.get(), F_OFD_SETLK, &lock) == 0);
  REQUIRE(write_whole(file.get(), text) == 0);
  return file;
}

std::string words_about(int slot) {
  HolderRecord record{"liar", "", "", 1, true, {}};
  record.leases.push_back({{LeaseKey::Kind::place, slot, {}}, {{0, 10'000}}});
  return encode_holder(record);
}

}  // namespace

TEST_CASE("what a living holder says is held, whoever has removed the files with its locks") {
  const HostUnderTest host;
  TaskLeases ben(host.folder(), words_of("ben"));
  REQUIRE(ben.take({whole_slot(0), part_of_slot(1, 6'000)})->empty());
  CHECK(tasks_without_locks(host.folder()).empty());
  const bool are_made_anew = GENERATE(false, true);
  for (const char* file : {"place-0", "place-1", "mutex"}) {
    REQUIRE(std::filesystem::remove(host.path() + "/" + file));
    if (are_made_anew) std::ofstream(host.path() + "/" + file).flush();
  }
  TaskLeases ann(host.folder(), words_of("ann"));
  const auto blockers = ann.take({whole_slot(0)}).value();
  REQUIRE(blockers.size() == 1);
  CHECK(blockers.front().task == "ben");
  CHECK(ann.take({part_of_slot(1, 5'000)})->front().task == "ben");
  REQUIRE(ann.take({part_of_slot(1, 4'000)})->empty());
  // Each is told with all that it holds.
  const auto told = holders(host);
  REQUIRE(told.size() == 2);
  for (const LeaseHolder& each : told) CHECK(each.leases.size() == (each.task == "ben" ? 2u : 1u));
  CHECK(tasks_without_locks(host.folder()) == std::vector<std::string>{"ben"});
  // Its next attempt has what it had, and what it says goes with it.
  CHECK(ben.take({whole_slot(0), part_of_slot(1, 6'000)})->empty());
  ben.drop();
  CHECK(tasks_without_locks(host.folder()).empty());
  CHECK(ann.take({whole_slot(0), part_of_slot(1, 4'000)})->empty());
}

TEST_CASE("what another agent of the task says is not in its way, and counts for others") {
  const HostUnderTest host;
  auto words = words_of("a");
  words.key = "a-1";
  TaskLeases former(host.folder(), words);
  REQUIRE(former.take({whole_slot(0)})->empty());
  REQUIRE(std::filesystem::remove(host.path() + "/place-0"));
  TaskLeases next(host.folder(), words_of("a"));
  CHECK(next.take({whole_slot(0)})->empty());
  TaskLeases stranger(host.folder(), words_of("b"));
  CHECK(stranger.take({whole_slot(0)})->front().task == "a");
  former.drop();
  next.note_running();
  CHECK(stranger.take({whole_slot(0)})->front().task == "a");
  CHECK(tasks_without_locks(host.folder()).empty());
}

TEST_CASE("words that nobody has locked, or nobody can read, are no holder's") {
  const HostUnderTest host;
  TaskLeases ours(host.folder(), words_of("a"));
  for (const std::string& text : {std::string("{"), std::string(1'000, '[')}) {
    const Descriptor file = locked_words(host, text);
    CHECK(ours.take({whole_slot(7)})->empty());
    CHECK(holders(host).size() == 1);
    ours.drop();
    REQUIRE(::ftruncate(file.get(), 0) == 0);
  }
  locked_words(host, words_about(7)).reset();
  CHECK(ours.take({whole_slot(7)})->empty());
}

// As who locks it would.
TEST_CASE("whoever says to hold what is free has it, and what is held stays its holder's") {
  const HostUnderTest host;
  TaskLeases ours(host.folder(), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  const Descriptor file = locked_words(host, words_about(0));
  CHECK(holders(host).size() == 2);
  CHECK(ours.take({whole_slot(0)})->empty());  // as in its next attempt
  ours.drop();
  const auto blockers = ours.take({whole_slot(0)}).value();
  REQUIRE(blockers.size() == 1);
  CHECK(blockers.front().task == "liar");
  CHECK(blockers.front().uid == static_cast<std::int64_t>(::getuid()));
}

TEST_CASE("what others have in the folder is let alone") {
  const HostUnderTest host;
  std::ofstream(host.path() + "/train-lease-notes") << "x";
  std::ofstream(host.path() + "/place-0") << "not ours";
  TaskLeases ours(host.folder("train-lease-"), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  auto files = files_of(host);
  REQUIRE(files.size() == 5);
  CHECK(files[1].starts_with("train-lease-" + own_stem() + "a-0-"));
  files.erase(files.begin() + 1);
  CHECK(files == std::vector<std::string>{"place-0", "train-lease-mutex", "train-lease-notes",
                                          "train-lease-place-0"});
  CHECK(holders_on(host.folder("train-lease-"), user_name_in_passwd).size() == 1);
  CHECK(holders(host).empty());
}

TEST_CASE("somebody who keeps the mutex does not keep anybody for ever") {
  const HostUnderTest host;
  auto squatter = LeaseFile::open(host.folder(), "mutex").value();
  REQUIRE(squatter.lock({0, 1}));
  TaskLeases ours(host.folder(), words_of("a"));
  const auto taken = ours.take({whole_slot(0)});
  REQUIRE(taken);
  REQUIRE(taken->size() == 1);
  CHECK(taken->front().task.empty());
  CHECK(taken->front().name == "a process that keeps the lock of '" + host.path() + "/mutex'");
  squatter.unlock({0, 1});
  CHECK(ours.take({whole_slot(0)})->empty());
}

TEST_CASE("what is held stays so over attempts, whatever others do meanwhile") {
  const HostUnderTest host;
  TaskLeases ours(host.folder(), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  auto squatter = LeaseFile::open(host.folder(), "mutex").value();
  REQUIRE(squatter.lock({0, 1}));
  REQUIRE(std::filesystem::remove(host.path() + "/place-0"));
  REQUIRE(::mkdir((host.path() + "/place-0").c_str(), 0777) == 0);
  CHECK(ours.take({whole_slot(0)})->empty());
  squatter.unlock({0, 1});
  std::filesystem::remove(host.path() + "/place-0");
  CHECK(TaskLeases(host.folder(), words_of("b")).take({whole_slot(0)})->front().task == "a");
}

// As where somebody has made ten thousands of files: what cannot be read may be held.
TEST_CASE("where not all words can be read nothing is taken") {
  const HostUnderTest host;
  const LeaseFolder folder = host.folder();
  for (std::size_t i = 0; i < most_lease_names; ++i)
    REQUIRE(::mknodat(folder.folder.get(), ("x" + std::to_string(i)).c_str(), S_IFREG | 0600, 0) ==
            0);
  TaskLeases ours(host.folder(), words_of("a"));
  const auto taken = ours.take({whole_slot(0)}).value();
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().name ==
        "whoever has made so many files in '" + host.path() + "' that they cannot be read");
}

TEST_CASE("a mutex that its owner keeps closed is somebody's in the way") {
  const HostUnderTest host;
  Descriptor file(::open((host.path() + "/mutex").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  REQUIRE(::fchmod(file.get(), 0666) == 0);
  // Of this process, which is told by SIGIO that others want the file, and does nothing.
  const auto before = std::signal(SIGIO, SIG_IGN);
  if (::fcntl(file.get(), F_SETLEASE, F_WRLCK) != 0) SKIP_CASE("no leases on this file system");
  TaskLeases ours(host.folder(), words_of("a"));
  const auto taken = ours.take({whole_slot(0)}).value();
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().name == "whoever keeps '" + host.path() + "/mutex' for itself");
  REQUIRE(::fcntl(file.get(), F_SETLEASE, F_UNLCK) == 0);
  std::signal(SIGIO, before);
  CHECK(ours.take({whole_slot(0)})->empty());
}

TEST_CASE("the words of a holder that were removed are made anew") {
  const HostUnderTest host;
  TaskLeases ours(host.folder(), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  ours.note_running();
  CHECK(ours.take_new_descriptors().size() == 2);
  for (const std::string& file : files_of(host))
    if (file.starts_with("holder-")) std::filesystem::remove(host.path() + "/" + file);
  CHECK(holders(host).front().task.empty());
  ours.touch();
  REQUIRE(holders(host).size() == 1);
  CHECK(holders(host).front().task == "a");
  CHECK(holders(host).front().is_running);
  CHECK(ours.take_new_descriptors().size() == 1);  // for the guard
  ours.drop();
  CHECK_FALSE(has_file(host, "holder-"));
}

// The files are removed whenever somebody has made them, so that no lock and no mutex keeps tasks
// apart: what they say does.
TEST_CASE("many who take at once never hold a slot together while their lock files are removed",
          "[once]") {
  const HostUnderTest host;
  std::atomic<int> owners{0};
  std::atomic<int> together{0};
  std::atomic<int> taken{0};
  std::atomic<bool> is_over = false;
  std::thread cleaner([&] {
    while (!is_over)
      for (const char* file : {"/place-0", "/mutex"}) (void)::unlink((host.path() + file).c_str());
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 200; ++round) {
        TaskLeases ours(host.folder(), words_of(std::to_string(thread)));
        const auto result = ours.take({whole_slot(0)});
        if (!result || !result->empty()) continue;
        ++taken;
        if (owners.fetch_add(1) != 0) ++together;
        std::this_thread::yield();
        owners.fetch_sub(1);
        ours.drop();
      }
    });
  for (std::thread& each : threads) each.join();
  is_over = true;
  cleaner.join();
  CHECK(together == 0);
  CHECK(taken > 0);
}

// What one look reads is bounded, whoever has left how much.
TEST_CASE("of files that nobody understands some are read, and those of others all the same") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const HostUnderTest host;
  REQUIRE(::chmod(host.path().c_str(), 01777) == 0);
  int talk[2];
  REQUIRE(::pipe2(talk, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(9);
    std::vector<LeaseFile> files;
    for (int i = 0; i < 300; ++i)
      if (auto file = LeaseFile::make_record(host.folder(), "holder-65534-x", "{"))
        files.push_back(std::move(*file));
    (void)!::write(talk[1], files.size() == 300 ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char told = 0;
  REQUIRE(::read(talk[0], &told, 1) == 1);
  REQUIRE(told == 'y');
  TaskLeases ours(host.folder(), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  int read = 0;
  int understood = 0;
  read_living_files(host.folder(), "holder-", 1'000, [&](const LivingFile&, std::string_view text) {
    ++read;
    if (text == "{") return false;
    ++understood;
    return true;
  });
  CHECK(understood == 1);
  CHECK(read == 1 + 2 * most_unread_of_user);
  TaskLeases other(host.folder(), words_of("b"));
  CHECK(other.take({whole_slot(0)})->front().task == "a");
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  ::close(talk[0]);
  ::close(talk[1]);
}

TEST_CASE("what killed tasks have left hides no task that lives") {
  const HostUnderTest host;
  TaskLeases first(host.folder(), words_of("a"));
  REQUIRE(first.take({whole_slot(0)})->empty());
  for (int i = 0; i < 8 * most_files_of_user; ++i)
    std::ofstream(host.path() + "/holder-" + std::to_string(::getuid()) + "-x-" +
                  std::to_string(i));
  const auto last =
      LeaseFile::make_record(host.folder(), "holder-" + std::to_string(::getuid()) + "-b", "words");
  REQUIRE(last);
  int read = 0;
  read_living_files(host.folder(), "holder-", 1'000,
                    [&](const LivingFile&, std::string_view) { return ++read > 0; });
  CHECK(read == 2);
}

// What was not looked at is not free, and nobody is said to have removed it.
TEST_CASE("of more lock files than one look reads the others count as held") {
  const HostUnderTest host;
  TaskLeases ours(host.folder(), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  constexpr int more_than_are_read = 8'200;
  for (int i = 0; i < more_than_are_read; ++i)
    std::ofstream(host.path() + "/custom-" + std::to_string(i));
  const auto holders = holders_on(host.folder(), user_name_in_passwd);
  REQUIRE(holders.size() == 2);
  const auto unknown = std::find_if(holders.begin(), holders.end(),
                                    [](const LeaseHolder& each) { return each.task.empty(); });
  REQUIRE(unknown != holders.end());
  CHECK(std::any_of(unknown->leases.begin(), unknown->leases.end(), [](const auto& held) {
    return held.key == LeaseKey{LeaseKey::Kind::place, 0, {}};
  }));
  CHECK(tasks_without_locks(host.folder()).empty());
}

// As while root makes a better folder, and tasks that came before have theirs.
TEST_CASE("what is held in one folder of a host is held in the other ones") {
  const HostUnderTest earlier;
  const HostUnderTest later;
  TaskLeases first(earlier.folder_beside(later), words_of("first"));
  REQUIRE(first.take({whole_slot(0), part_of_slot(1, 5'000)})->empty());
  TaskLeases second(later.folder_beside(earlier), words_of("second"));
  const auto blockers = second.take({whole_slot(0)}).value();
  REQUIRE(blockers.size() == 1);
  CHECK(blockers.front().task == "first");
  CHECK(blockers.front().leases.size() == 2);
  // The other half is free, whichever units the first one has.
  REQUIRE(second.take({part_of_slot(1, 5'000)})->empty());
  TaskLeases third(earlier.folder_beside(later), words_of("third"));
  CHECK(third.take({part_of_slot(1, 1)})->size() == 2);
  // What it has it keeps, whoever has come beside it.
  CHECK(first.take({whole_slot(0), part_of_slot(1, 5'000)})->empty());
  CHECK(holders_on(later.folder_beside(earlier), user_name_in_passwd).size() == 2);
  first.drop();
  CHECK(third.take({whole_slot(0), part_of_slot(1, 5'000)})->empty());
}

TEST_CASE("agents of one task are not in each other's way in two folders either") {
  const HostUnderTest earlier;
  const HostUnderTest later;
  TaskLeases one(earlier.folder_beside(later), words_of("a"));
  auto words = words_of("a");
  words.key = "a-1";
  TaskLeases other(later.folder_beside(earlier), words);
  REQUIRE(one.take({whole_slot(0)})->empty());
  CHECK(other.take({whole_slot(0), whole_slot(1)})->empty());
}

TEST_CASE("two names of one folder are one") {
  const HostUnderTest host;
  LeaseFolder folder = open_lease_folder({named_place(host.path())}).value();
  folder.others = {named_place(host.path() + "/.")};
  TaskLeases ours(std::move(folder), words_of("a"));
  REQUIRE(ours.take({whole_slot(0)})->empty());
  CHECK(ours.take({whole_slot(0), whole_slot(1)})->empty());
}

// Two of them for three slots: whoever has one has both of its slots, and nobody else one of them.
TEST_CASE("many who take and let go at once never hold a slot together", "[once]") {
  const auto in_two_folders = GENERATE(false, true);
  CAPTURE(in_two_folders);
  const HostUnderTest host;
  const HostUnderTest later;
  std::array<std::atomic<int>, 4> owners{};
  std::atomic<int> together{0};
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      const auto first = static_cast<std::size_t>(thread);
      const std::size_t second = (first + 1) % owners.size();
      for (int round = 0; round < 100; ++round) {
        LeaseFolder folder = !in_two_folders   ? host.folder()
                             : thread % 2 == 0 ? host.folder_beside(later)
                                               : later.folder_beside(host);
        TaskLeases ours(std::move(folder), words_of(std::to_string(thread)));
        const auto result = ours.take({whole_slot(thread), whole_slot(static_cast<int>(second))});
        if (!result || !result->empty()) continue;
        ++taken;
        if (owners[first].fetch_add(1) != 0 || owners[second].fetch_add(1) != 0) ++together;
        std::this_thread::yield();
        owners[first].fetch_sub(1);
        owners[second].fetch_sub(1);
      }
    });
  for (std::thread& each : threads) each.join();
  CHECK(together == 0);
  CHECK(taken > 0);
}
