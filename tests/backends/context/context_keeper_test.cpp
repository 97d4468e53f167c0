// SPDX-License-Identifier: Apache-2.0
// Disks that run full while a context comes.
#include "backends/context/context_keeper.hpp"

#include <signal.h>
#include <sys/resource.h>

#include "tests/backends/context/tree.hpp"

using namespace train;

namespace {

// The next file that grows beyond this does not, as on a disk that is full; then there is room
// again.
class FullOnce {
 public:
  explicit FullOnce(std::uint64_t bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    handler_ = ::signal(SIGXFSZ, [](int) { ::setrlimit(RLIMIT_FSIZE, &before_); });
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FullOnce() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullOnce(const FullOnce&) = delete;
  FullOnce& operator=(const FullOnce&) = delete;

 private:
  inline static rlimit before_{};
  void (*handler_)(int);
};

struct Fixture {
  Fixture() {
    std::mt19937 random(5);
    from.write("weights", random_bytes(random, 900'000));
    context = archived(from.path());
    pieces = pieces_of(context.archive);
    REQUIRE(keeper.find(context.context));
  }
  Tree from, home;
  ArchivedContext context;
  std::vector<std::string> pieces;
  ContextKeeper keeper{{home.at("cache"), home.at("second")}, "one-0"};
};

}  // namespace

TEST_CASE("a place that runs full while a context comes hands over what it has to the next one") {
  Fixture f;
  const bool one_by_one = GENERATE(true, false);
  // The piece of which the disk takes no more than half: at once, in the middle, at the end.
  const std::size_t full = GENERATE_REF(0u, 2u, f.pieces.size() - 1);
  CAPTURE(full, one_by_one);
  const FullOnce limit(full * context_piece_size + f.pieces[full].size() / 2);
  Result<ContextKeeper::Progress> progress;
  std::uint64_t sent = 0;
  if (!one_by_one) progress = f.keeper.take(f.pieces);
  for (std::size_t i = 0; one_by_one && i < f.pieces.size(); ++i) {
    progress = f.keeper.take({f.pieces[i]});
    REQUIRE(progress);
    CHECK(progress->taken == (sent += f.pieces[i].size()));
    CHECK(progress->copy.has_value() == (i + 1 == f.pieces.size()));
  }
  REQUIRE(progress);
  CHECK(progress->copy == f.home.at("second/runs/one-0"));
  CHECK(archived(*progress->copy).context == f.context.context);
  CHECK(f.home.names("cache/contexts").empty());
  CHECK(f.home.names("second/contexts").size() == 1);
  f.keeper.end(false);
  CHECK(f.home.names("second/runs").empty());
}

TEST_CASE("when every place runs full, each is named once with its reason, and nothing is kept") {
  Fixture f;
  f.home.write("second", "in the way");
  const FullOnce limit(context_piece_size + 1);
  const auto progress = f.keeper.take(f.pieces);
  REQUIRE_FALSE(progress);
  CHECK(progress.error().diagnostics.front().message ==
        "no place takes the context (880.5 KiB): '" + f.home.at("cache") + "': file too large; '" +
            f.home.at("second") + "': it is no folder");
  CHECK(f.home.names("cache/contexts").empty());
}
