// SPDX-License-Identifier: Apache-2.0
#include "cli/adopted_context.hpp"

#include <optional>

#include "tests/catch.hpp"

using namespace train;

namespace {

// A directory that is named when the test says so.
struct Directory {
  ContextSource::Events events;
  int packed = 0;

  struct Source final : ContextSource {
    explicit Source(Directory& of) : directory(of) {}
    void pack() override { ++directory.packed; }
    const std::vector<ContextPiece>& pieces() const override { return none; }
    Directory& directory;
    std::vector<ContextPiece> none;
  };
  ContextSource::Open open() {
    return [this](ContextSource::Events of) {
      events = std::move(of);
      return std::make_unique<Source>(*this);
    };
  }
};

struct Adopted {
  explicit Adopted(const std::string& sha256) {
    source = adopted_context(directory.open(), "src", sha256)(
        {[this](const ContextSummary& summary) { named = summary; }, [](const Error&) {}, [] {}});
    directory.events.on_named({{"new", 10'240}, 3, 7, {"a warning"}});
  }
  Directory directory;
  std::unique_ptr<ContextSource> source;
  std::optional<ContextSummary> named;
};

}  // namespace

TEST_CASE("a context that is as it was launched with is sent to whoever lacks it") {
  Adopted adopted(GENERATE("new", ""));
  REQUIRE(adopted.named);
  CHECK(adopted.named->context.sha256 == "new");
  CHECK(adopted.named->warnings == std::vector<std::string>{"a warning"});
  adopted.source->pack();
  CHECK(adopted.directory.packed == 1);
}

TEST_CASE("one that has changed since goes to no host: all ranks have the same code") {
  Adopted adopted("old");
  REQUIRE(adopted.named);
  CHECK(adopted.named->context.sha256 == "old");
  REQUIRE(adopted.named->warnings.size() == 1);
  CHECK(adopted.named->warnings[0].find("'src' has changed since the launch") != std::string::npos);
  adopted.source->pack();
  CHECK(adopted.directory.packed == 0);
}

TEST_CASE("a task without a context has none when it is gone on with") {
  CHECK_FALSE(adopted_context({}, "", ""));
}
