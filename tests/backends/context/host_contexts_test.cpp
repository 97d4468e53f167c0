// SPDX-License-Identifier: Apache-2.0
#include "backends/context/host_contexts.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "backends/context/context_packer.hpp"
#include "launcher/frames/frame.hpp"
#include "tests/backends/context/tree.hpp"
#include "tests/skip.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;

namespace {

// Pieces of which a host says at once that it took them; of fewer it says so a little later.
constexpr int answered_at_once = 16;

// One task of a host, which is sent what it asks for.
struct Task {
  Task(Loop& own_loop, const Tree& home, const std::string& key)
      : loop(own_loop), contexts(loop, {home.at("cache"), home.at("second")}, key) {}

  // Sends these pieces, until the copy is ready, cannot be made, or would need more of them.
  void find(const Context& context, std::deque<std::string> pieces) {
    is_over = false;
    ContextEvents events;
    events.on_taken = [this, pieces = std::move(pieces)](std::uint64_t bytes) mutable {
      CHECK(bytes <= sent);
      if (bytes < sent) return;            // the rest is being written
      if (pieces.empty()) is_over = true;  // there is nothing more to wait for
      for (int i = 0; i < answered_at_once && !pieces.empty(); ++i) {
        sent += pieces.front().size();
        contexts.take(pieces.front());
        if (after_piece) after_piece();
        pieces.pop_front();
      }
    };
    events.on_ready = [this](const std::string& path) {
      directory = path;
      is_over = true;
    };
    events.on_failed = [this](const Error& why) {
      CHECK(why.error_class == ErrorClass::host);
      trouble = why.diagnostics.front().message;
      is_over = true;
    };
    contexts.find(context, std::move(events));
    if (!testing::loop_until(loop, [&] { return is_over; })) trouble = "nothing has happened";
  }

  Loop& loop;
  std::uint64_t sent = 0;
  bool is_over = false;  ///< `find` has nothing more to wait for
  std::function<void()> after_piece;
  std::string directory;
  std::string trouble;
  HostContexts contexts;
};

std::deque<std::string> queue_of(const std::string& archive) {
  const auto pieces = pieces_of(archive);
  return {pieces.begin(), pieces.end()};
}

struct Fixture {
  Fixture() {
    std::mt19937 random(5);
    from.write("weights", random_bytes(random, 900'000));
    context = archived(from.path());
  }
  Loop loop;
  Tree from, home;
  ArchivedContext context;
};

}  // namespace

TEST_CASE("a context is asked for once; the next task finds it") {
  Fixture f;
  {
    Task first(f.loop, f.home, "one-0");
    first.find(f.context.context, queue_of(f.context.archive));
    CHECK(first.trouble.empty());
    CHECK(first.directory == f.home.at("cache/runs/one-0"));
    CHECK(archived(first.directory).context == f.context.context);
    first.contexts.keep();
  }
  Task second(f.loop, f.home, "two-0");
  second.find(f.context.context, {});
  CHECK(second.sent == 0);
  CHECK(archived(second.directory).context == f.context.context);
  CHECK(f.home.names("cache/contexts") == std::vector{f.context.context.sha256 + ".tar.gz"});
  CHECK(f.home.has("cache/runs/one-0/weights"));
}

TEST_CASE("another agent of the task goes on in the copy of the one before") {
  Fixture f;
  Task* killed = new Task(f.loop, f.home, "one-0");  // which ends without a word
  killed->find(f.context.context, queue_of(f.context.archive));
  f.home.write("cache/runs/one-0/result", "from the first attempt");
  {
    Task next(f.loop, f.home, "one-0");
    next.find(f.context.context, {});
    CHECK(next.trouble.empty());
    CHECK(next.directory == f.home.at("cache/runs/one-0"));
  }
  CHECK(f.home.has("cache/runs/one-0/result"));  // although it was not told to keep it
  CHECK(f.home.names("cache/runs") == std::vector<std::string>{"one-0"});
  delete killed;
}

TEST_CASE("what has the name of a copy and is none makes room for it") {
  Fixture f;
  {
    Task other(f.loop, f.home, "two-0");
    other.find(f.context.context, queue_of(f.context.archive));
  }
  f.home.write("cache/runs/one-0", "no folder");
  Task task(f.loop, f.home, "one-0");
  task.find(f.context.context, {});
  CHECK(task.trouble.empty());
  CHECK(task.directory == f.home.at("cache/runs/one-0"));
  CHECK(archived(task.directory).context == f.context.context);
}

TEST_CASE("a context is asked for anew, whatever has come of it") {
  Fixture f;
  Task task(f.loop, f.home, "one-0");
  auto pieces = queue_of(f.context.archive);
  const bool has_failed = GENERATE(false, true);
  if (has_failed)
    pieces.back() += "x";
  else
    pieces.pop_back();
  task.find(f.context.context, pieces);
  CHECK(task.trouble.empty() != has_failed);
  task.trouble.clear();
  task.sent = 0;
  task.find(f.context.context, queue_of(f.context.archive));
  CHECK(task.trouble.empty());
  CHECK(archived(task.directory).context == f.context.context);
  CHECK(f.home.names("cache/contexts") == std::vector{f.context.context.sha256 + ".tar.gz"});
}

TEST_CASE("a copy that no rank has used goes with its task") {
  Fixture f;
  {
    Task task(f.loop, f.home, "one-0");
    task.find(f.context.context, queue_of(f.context.archive));
    CHECK(f.home.has("cache/runs/one-0"));
  }
  CHECK(f.home.names("cache/runs").empty());
}

TEST_CASE("a task that ends while its context comes leaves nothing half") {
  Fixture f;
  {
    Task task(f.loop, f.home, "one-0");
    auto pieces = queue_of(f.context.archive);
    pieces.pop_back();
    task.find(f.context.context, pieces);
    CHECK(f.home.names("cache/contexts").size() == 1);
  }
  CHECK(f.home.names("cache/contexts").empty());
  CHECK(f.home.names("cache/runs").empty());
}

TEST_CASE("a task that ends before it hears of its copy leaves none") {
  Fixture f;
  { Task(f.loop, f.home, "one-0").find(f.context.context, queue_of(f.context.archive)); }
  {
    Task task(f.loop, f.home, "two-0");
    task.contexts.find(f.context.context, {});
    // The loop does not run: what the thread has to say is never heard.
    REQUIRE(testing::eventually([&] { return f.home.has("cache/runs/two-0"); }));
  }
  CHECK(f.home.names("cache/runs").empty());
}

TEST_CASE("what comes without being waited for is taken as well, and what is too much is not") {
  Fixture f;
  Task task(f.loop, f.home, "one-0");
  auto pieces = queue_of(f.context.archive);
  // All at once: then `on_taken` counts what was taken, not what was sent.
  ContextEvents events;
  std::vector<std::uint64_t> taken;
  events.on_taken = [&](std::uint64_t bytes) {
    taken.push_back(bytes);
    while (!pieces.empty()) {
      task.contexts.take(pieces.front());
      pieces.pop_front();
    }
    task.contexts.take("more");
    task.contexts.take(std::string(context_piece_size, 'x'));
  };
  events.on_ready = [&](const std::string& path) { task.directory = path; };
  events.on_failed = [&](const Error& why) { task.trouble = render(why); };
  task.contexts.find(f.context.context, std::move(events));
  CHECK(testing::loop_until(f.loop,
                            [&] { return !task.directory.empty() || !task.trouble.empty(); }));
  CHECK(task.trouble.empty());
  CHECK(archived(task.directory).context == f.context.context);
  CHECK(taken.front() == 0);
}

TEST_CASE("a context that is not the announced one is refused, and not kept") {
  Fixture f;
  std::deque<std::string> pieces;
  std::string trouble = "the context that came is not the one that was announced";
  SECTION("another one") { pieces = queue_of(f.context.archive + "x"); }
  SECTION("no archive") { pieces = {"hello"}; }
  SECTION("nothing") { pieces = {""}; }
  SECTION("without end") {
    pieces.assign(200, std::string(context_piece_size, 'x'));
    trouble = "the context is longer than it was said to be";
  }
  {
    Task task(f.loop, f.home, "one-0");
    task.find(f.context.context, pieces);
    CHECK(task.trouble == trouble);
  }
  CHECK(f.home.names("cache/contexts").empty());
  CHECK(f.home.names("cache/runs").empty());
}

TEST_CASE("a damaged context of the cache is asked for again") {
  Fixture f;
  { Task(f.loop, f.home, "one-0").find(f.context.context, queue_of(f.context.archive)); }
  const std::string name = "cache/contexts/" + f.context.context.sha256 + ".tar.gz";
  REQUIRE(f.home.has(name));
  REQUIRE(::chmod(f.home.at(name).c_str(), 0600) == 0);
  SECTION("cut off") { REQUIRE(::truncate(f.home.at(name).c_str(), 100) == 0); }
  SECTION("empty") { REQUIRE(::truncate(f.home.at(name).c_str(), 0) == 0); }
  SECTION("a link") {
    REQUIRE(::rename(f.home.at(name).c_str(), f.home.at("moved").c_str()) == 0);
    f.home.link(name, f.home.at("moved"));
  }
  Task task(f.loop, f.home, "two-0");
  task.find(f.context.context, queue_of(f.context.archive));
  CHECK(task.sent > 0);
  CHECK(task.trouble.empty());
  CHECK(archived(task.directory).context == f.context.context);
}

TEST_CASE("the next place serves where the first cannot, and all are named when none can") {
  Fixture f;
  f.home.write("cache", "in the way");
  {
    Task task(f.loop, f.home, "one-0");
    task.find(f.context.context, queue_of(f.context.archive));
    CHECK(task.directory == f.home.at("second/runs/one-0"));
  }
  std::filesystem::remove_all(f.home.at("second"));
  f.home.write("second", "in the way");
  Task task(f.loop, f.home, "two-0");
  task.find(f.context.context, {});
  CHECK(task.trouble == "no place takes the context (" + std::string("880.5 KiB): '") +
                            f.home.at("cache") + "': it is no folder; '" + f.home.at("second") +
                            "': it is no folder");
}

TEST_CASE("more than was asked for is not kept") {
  Fixture f;
  std::optional<HostContexts> contexts;
  contexts.emplace(f.loop, std::vector{f.home.at("cache"), f.home.at("second")}, "one-0");
  std::string trouble;
  ContextEvents events;
  events.on_taken = [&](std::uint64_t) {
    for (std::uint64_t sent = 0; sent <= 2 * context_window; sent += context_piece_size)
      contexts->take(std::string(context_piece_size, 'x'));
  };
  events.on_ready = [&](const std::string&) { f.loop.stop(); };
  events.on_failed = [&](const Error& why) {
    trouble = render(why);
    f.loop.stop();
  };
  contexts->find(f.context.context, std::move(events));
  f.loop.run();
  CHECK(trouble == "more of the context came than was asked for");
  contexts.reset();
  CHECK(f.home.names("cache/contexts").empty());
  CHECK_FALSE(f.home.has("second"));
}

TEST_CASE("a place that cannot be unpacked to hands over the packed context to the next one") {
  Fixture f;
  Task task(f.loop, f.home, "one-0");
  task.after_piece = [&] { std::filesystem::remove(f.home.at("cache/runs")); };
  task.find(f.context.context, queue_of(f.context.archive));
  CHECK(task.trouble.empty());
  CHECK(task.directory == f.home.at("second/runs/one-0"));
  CHECK(archived(task.directory).context == f.context.context);
  CHECK(f.home.names("cache/contexts").empty());
  CHECK(f.home.names("second/contexts").size() == 1);
}

TEST_CASE(
    "when no place can be unpacked to, each is named once with its reason, and nothing is kept") {
  Fixture f;
  f.home.write("second", "in the way");
  Task task(f.loop, f.home, "one-0");
  task.after_piece = [&] { std::filesystem::remove(f.home.at("cache/runs")); };
  task.find(f.context.context, queue_of(f.context.archive));
  CHECK(task.trouble == "no place takes the context (880.5 KiB): '" +
                            f.home.at("cache/runs/one-0") + "': no such file or directory; '" +
                            f.home.at("second") + "': it is no folder");
  CHECK(f.home.names("cache/contexts").empty());
}

TEST_CASE("a packed context that lies in a later place serves the first one") {
  Fixture f;
  f.home.write("cache", "in the way");
  { Task(f.loop, f.home, "one-0").find(f.context.context, queue_of(f.context.archive)); }
  std::filesystem::remove(f.home.at("cache"));
  const std::string packed = "second/contexts/" + f.context.context.sha256 + ".tar.gz";
  REQUIRE(f.home.has(packed));
  Task task(f.loop, f.home, "two-0");
  SECTION("as it is") {
    task.find(f.context.context, {});
    CHECK(task.sent == 0);
  }
  SECTION("not when it is damaged") {
    REQUIRE(::chmod(f.home.at(packed).c_str(), 0600) == 0);
    REQUIRE(::truncate(f.home.at(packed).c_str(), 100) == 0);
    task.find(f.context.context, queue_of(f.context.archive));
    CHECK(task.sent > 0);
    CHECK_FALSE(f.home.has(packed));
  }
  CHECK(task.trouble.empty());
  CHECK(task.directory == f.home.at("cache/runs/two-0"));
  CHECK(archived(task.directory).context == f.context.context);
}

TEST_CASE("a directory is read at once, and packed when somebody lacks it") {
  Fixture f;
  std::optional<ContextSummary> named;
  std::optional<ContextPacker> packer;
  std::shared_ptr<const ArchivedContext> kept;
  packer.emplace(f.loop, reads_directory(f.from.path()),
                 ContextPacker::Events{[&](const ContextSummary& summary) {
                                         named = summary;
                                         CHECK(packer->pieces().empty());
                                         packer->pack();
                                       },
                                       [&](const Error&) { f.loop.stop(); },
                                       [&] {
                                         if (packer->pieces().back().is_last) f.loop.stop();
                                       }},
                 [&](std::shared_ptr<const ArchivedContext> read) {
                   CHECK_FALSE(named);
                   kept = std::move(read);
                 });
  f.loop.run();
  REQUIRE(named);
  REQUIRE(kept);
  CHECK(kept->archive == f.context.archive);
  CHECK(named->context == f.context.context);
  CHECK(named->files == 1);
  std::uint64_t end = 0;
  const auto expected = pieces_of(f.context.archive);
  REQUIRE(packer->pieces().size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ContextPiece& piece = packer->pieces()[i];
    CHECK(*piece.frame == encode_frame(FrameKind::context, expected[i]));
    CHECK(piece.end == (end += expected[i].size()));
    CHECK(piece.is_last == (i + 1 == expected.size()));
  }
}

TEST_CASE("a directory that cannot be packed is told, and a packer that goes tells nothing") {
  Fixture f;
  std::optional<Error> why;
  const auto failed = [&](const Error& error) {
    why = error;
    f.loop.stop();
  };
  {
    ContextPacker packer(f.loop, reads_directory(f.from.path()),
                         {[&](const auto&) { FAIL(); }, failed, [] {}});
  }
  ContextPacker packer(f.loop, reads_directory(f.home.at("gone")),
                       {[&](const auto&) { FAIL(); }, failed, [] {}});
  f.loop.run();
  REQUIRE(why);
  CHECK(why->error_class == ErrorClass::no_input);
}

TEST_CASE("where there can be no thread, a context is refused, and housekeeping is left undone") {
  if (::geteuid() != 0) SKIP_CASE("only root can become a user with a limit of its own");
  Fixture f;
  const int pid = ::fork();
  if (pid == 0) {
    const rlimit none{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0 || ::setgid(12'346) != 0 || ::setuid(12'346) != 0)
      ::_exit(2);
    Task task(f.loop, f.home, "one-0");
    task.contexts.tidy();
    task.find(f.context.context, {});
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    const bool is_told = task.trouble.find("cannot start a thread: ") == 0;
    ::_exit(is_told && ::sigismember(&blocked, SIGTERM) == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
