// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/output_spool.hpp"

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;

namespace {

SpooledChunks chunks_of(const std::string& bytes) {
  return {std::make_shared<OutputChunk>(OutputChunk{1, 0, OutputStream::out, bytes})};
}

constexpr std::uint64_t slot = 128u << 10;

struct Fixture {
  explicit Fixture(const std::string& path) : directory(HostDirectory::open(path)) {
    REQUIRE(directory);
    spool.emplace(loop, *directory,
                  [this](SpoolAnswer answer) { answers.push_back(std::move(answer)); });
  }

  template <class Answer>
  Answer ask(const SpoolWork& work) {
    const std::size_t before = answers.size();
    spool->perform(work);
    CHECK(answers.size() == before);  // not from inside of the call
    REQUIRE(loop_until(loop, [&] { return answers.size() > before; }));
    REQUIRE(answers.size() == before + 1);
    REQUIRE(std::holds_alternative<Answer>(answers.back()));
    return std::get<Answer>(answers.back());
  }
  std::uint64_t open(std::uint64_t limit) {
    return ask<spool_answer::Opened>(spool_work::Open{limit}).limit;
  }
  bool write(std::uint64_t block, const std::string& bytes) {
    const auto written =
        ask<spool_answer::Written>(spool_work::Write{block, block * slot, slot, chunks_of(bytes)});
    CHECK(written.block == block);
    return written.is_kept;
  }
  spool_answer::Read read(std::uint64_t block) {
    return ask<spool_answer::Read>(spool_work::Read{block, block * slot, slot});
  }

  Loop loop;
  Result<HostDirectory> directory;
  std::vector<SpoolAnswer> answers;
  std::optional<OutputSpool> spool;
};

std::uint64_t free_room(const std::string& path) { return std::filesystem::space(path).available; }

}  // namespace

TEST_CASE("the spool gives back what it was given, and leaves nothing in the folder") {
  const TemporaryDirectory directory;
  Fixture fixture(directory.path());
  CHECK(fixture.open(1u << 20) == 1u << 20);
  CHECK(std::filesystem::is_empty(directory.path()));
  CHECK(fixture.write(1, "one"));
  CHECK(fixture.write(0, std::string(60'000, 'x')));
  const auto one = fixture.read(1);
  CHECK(one.is_whole);
  REQUIRE(one.chunks.size() == 1);
  CHECK(one.chunks.front()->bytes == "one");
  CHECK(fixture.read(0).chunks.front()->bytes.size() == 60'000);
}

TEST_CASE("what was never written, or is gone, is not taken for output") {
  const TemporaryDirectory directory;
  Fixture fixture(directory.path());
  fixture.open(1u << 20);
  REQUIRE(fixture.write(0, std::string(60'000, 'x')));
  CHECK_FALSE(fixture.read(5).is_whole);
  fixture.spool->perform(spool_work::Clear{});
  CHECK_FALSE(fixture.read(0).is_whole);
}

TEST_CASE(
    "a spool takes a tenth of what is free, gives its room back, and says when there is none") {
  if (::geteuid() != 0) SKIP_CASE("only root mounts file systems");
  const TemporaryDirectory directory;
  REQUIRE(::mount("train", directory.path().c_str(), "tmpfs", 0, "size=4m,mode=700") == 0);
  {
    Fixture fixture(directory.path());
    const std::uint64_t before = free_room(directory.path());
    CHECK(fixture.open(1u << 30) == before / 10);
    for (std::uint64_t block = 0; block < 10; ++block)
      REQUIRE(fixture.write(block, std::string(60'000, 'x')));
    CHECK(free_room(directory.path()) < before - 500'000);
    for (std::uint64_t block = 1; block < 10; ++block)
      fixture.spool->perform(spool_work::Release{block * slot, slot});
    CHECK(fixture.read(0).is_whole);  // only the others were given back
    CHECK(free_room(directory.path()) > before - 100'000);
    // Nobody else leaves any room.
    bool is_kept = true;
    for (std::uint64_t block = 0; is_kept && block < 200; ++block)
      is_kept = fixture.write(block, std::string(60'000, 'y'));
    CHECK_FALSE(is_kept);
    fixture.spool->perform(spool_work::Clear{});
    CHECK(fixture.write(0, "again"));
    CHECK(free_room(directory.path()) > before - 100'000);
  }
  ::umount2(directory.path().c_str(), MNT_DETACH);
}

TEST_CASE("a limit on the length of files is a limit of the spool, and no signal") {
  const TemporaryDirectory directory;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit limit{200'000, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  {
    Fixture fixture(directory.path());
    CHECK(fixture.open(1u << 20) == 200'000);
    CHECK(fixture.write(0, "x"));
    CHECK_FALSE(fixture.write(1, "x"));
  }
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
}
