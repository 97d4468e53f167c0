// SPDX-License-Identifier: Apache-2.0
#include "launcher/lease/lease_words.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

using Kind = LeaseKey::Kind;

LeaseHolder::Held held(Kind kind, int index, std::uint64_t amount = lease_units,
                       const std::string& name = {}) {
  return {{kind, index, name}, amount};
}

}  // namespace

TEST_CASE("what is held is said shortly") {
  CHECK(words_of({held(Kind::cuda, 0)}) == "GPU 0");
  CHECK(words_of({held(Kind::cuda, 3), held(Kind::cuda, 1), held(Kind::cuda, 2),
                  held(Kind::cuda, 7, lease_units, "GPU-5a")}) == "GPUs 1-3,7");
  CHECK(words_of({held(Kind::place, 0), held(Kind::place, 1)}) == "slots 0,1");
  CHECK(words_of({held(Kind::cuda, 2, 2'500)}) == "0.25 of GPU 2");
  CHECK(words_of({held(Kind::cuda, 0), held(Kind::cpus, 0, 80'000),
                  held(Kind::memory, 0, 16ull << 30)}) == "GPU 0, 8 CPUs and 16 GiB of memory");
  CHECK(words_of({held(Kind::memory, 0, 2048ull << 30)}) == "2048 GiB of memory");
  CHECK(words_of({held(Kind::memory, 0, (1023ull << 30) + (700ull << 20))}) ==
        "1024 GiB of memory");
  CHECK(words_of({held(Kind::memory, 0, 3ull << 29)}) == "1.5 GiB of memory");
  CHECK(words_of({held(Kind::custom, 0, 5'000, "ssd"), held(Kind::cpus, 0, 10'000)}) ==
        "0.5 ssd and 1 CPU");
  std::vector<LeaseHolder::Held> many;
  for (int i = 0; i < 20; ++i)
    many.push_back(held(Kind::custom, 0, 10'000, "r" + std::to_string(i)));
  CHECK(words_of(many) == "1 r0, 1 r1, 1 r2, 1 r3, 1 r4 and 15 more");
}

TEST_CASE("who uses a GPU outside of tasks is said with number, command and user") {
  LeaseHolder user{.task = {}};
  user.pid = 4711;
  user.uid = 1'000;
  user.user = "bob";
  user.command = "python3 train.py";
  CHECK(short_words_of(user) == "process 4711 of bob ('python3 train.py', of no task)");
  user.name = "abcd2345";
  CHECK(short_words_of(user) ==
        "process 4711 of bob ('python3 train.py', of task abcd2345 that holds nothing there)");
  user.name.clear();
  user.user.clear();
  user.command = std::string(200, 'x') + "\x1b[2J";
  CHECK(short_words_of(user) ==
        "process 4711 of user 1000 ('" + std::string(60, 'x') + "...', of no task)");
}

TEST_CASE("who holds it is said with name and user, and cannot steer a terminal") {
  LeaseHolder holder{"abcd2345", "digits", "alice@head", 1'000, "alice", 720'000, true, {}};
  CHECK(short_words_of(holder) == "task abcd2345 ('digits') of alice (launched by alice@head)");
  CHECK(waiting_words_of(holder) ==
        "task abcd2345 ('digits') of alice (launched by alice@head) waits for slots there, and "
        "comes first");
  // Who is told of it once is not told again because time has passed.
  const std::string before = waiting_words_of(holder);
  holder.held_ms += 1'000;
  CHECK(waiting_words_of(holder) == before);
  holder.user.clear();
  holder.name = "\x1b[2J";
  CHECK(short_words_of(holder).starts_with("task abcd2345 ("));
  CHECK(short_words_of(holder).find('\x1b') == std::string::npos);
  CHECK(short_words_of(holder).find(" of user 1000 ") != std::string::npos);
  CHECK(short_words_of(LeaseHolder{.task = {}}) == "a process that belongs to no task");
}
