// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/resolver.hpp"

#include <condition_variable>
#include <mutex>

#include "tests/backends/link/link_probe.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Name servers that answer when they are told to. The threads that ask may outlive the test.
struct Servers {
  std::mutex mutex;
  std::condition_variable changed;
  bool do_answer = false;
  std::size_t asked = 0;

  Result<Resolver::Addresses> answer(const std::string& host) {
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    changed.wait(lock, [this] { return do_answer; });
    return Resolver::numeric(host == "one" ? "127.0.0.1" : "127.0.0.2", 22);
  }
  bool are_asked(std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, patience(20s), [&] { return asked == count; });
  }
  void let_answer() {
    const std::lock_guard lock(mutex);
    do_answer = true;
    changed.notify_all();
  }
};

Resolver::LookUp ask(const std::shared_ptr<Servers>& servers) {
  return [servers](const std::string& host, int) { return servers->answer(host); };
}

}  // namespace

TEST_CASE("names are looked up at the same time, up to a number of them, and all are answered") {
  Loop loop;
  const auto servers = std::make_shared<Servers>();
  Resolver resolver(loop, ask(servers));
  const std::size_t names = Resolver::most_at_a_time + 5;
  std::size_t answers = 0;
  for (std::size_t i = 0; i < names; ++i)
    resolver.resolve(i == 0 ? "one" : "other", 22, [&, i](Result<Resolver::Addresses> found) {
      REQUIRE(found);
      CHECK(found->at(0).numeric == (i == 0 ? "127.0.0.1" : "127.0.0.2"));
      if (++answers == names) loop.stop();
    });
  CHECK(servers->are_asked(Resolver::most_at_a_time));
  servers->let_answer();
  CHECK(loop_until(loop, [&] { return answers == names; }));
}

TEST_CASE("a name that hangs is not waited for when nobody wants it any more") {
  const auto servers = std::make_shared<Servers>();
  {
    Loop loop;
    Resolver resolver(loop, ask(servers));
    resolver.resolve("one", 22, [](const auto&) { FAIL("nobody is there any more"); });
    REQUIRE(servers->are_asked(1));
  }
  SUCCEED("the resolver has gone although nobody has answered");
  servers->let_answer();
}

TEST_CASE("a name that there is not is an error with the system's reason") {
  Loop loop;
  Resolver resolver(loop);
  std::optional<Result<Resolver::Addresses>> found;
  resolver.resolve("no-such-host.invalid", 22,
                   [&](Result<Resolver::Addresses> answer) { found = std::move(answer); });
  // The system's own resolver asks for as long as it likes where no name server answers.
  REQUIRE(loop_until(
      loop, [&] { return found.has_value(); }, 60s));
  REQUIRE_FALSE(*found);
  CHECK(contains(render(found->error()), "name 'no-such-host.invalid' does not resolve: "));
  CHECK(contains(render(found->error()), "getent hosts no-such-host.invalid"));
}
