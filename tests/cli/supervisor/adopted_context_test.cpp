// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/adopted_context.hpp"

#include <filesystem>
#include <fstream>
#include <optional>

#include "backends/store/task_bundle.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

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

TEST_CASE("a context is read as it was kept, and only where that is what was recorded") {
  const TemporaryDirectory directory;
  const TemporaryDirectory bundle;
  const std::atomic<bool> cancelled = false;
  std::ofstream(directory.path() + "/train.py") << "old";
  const auto launched = reads_directory(directory.path())(cancelled);
  REQUIRE(launched);
  const ContextRecord recorded{directory.path(), launched->context.sha256, 1, 3};
  std::ofstream(directory.path() + "/train.py") << "newer";
  const auto read = reads_kept_context(bundle.path(), recorded, directory.path());
  CHECK(read(cancelled)->context.sha256 != recorded.sha256);  // nothing was kept
  REQUIRE(keep_context(bundle.path(), launched->archive));
  const auto kept = read(cancelled);
  REQUIRE(kept);
  CHECK(kept->context == launched->context);
  CHECK(kept->archive == launched->archive);
  CHECK(kept->files == 1);
  CHECK(kept->bytes == 3);
  REQUIRE(keep_context(bundle.path(), launched->archive.substr(1)));
  CHECK(read(cancelled)->context.sha256 != recorded.sha256);
  std::filesystem::remove_all(directory.path());
  REQUIRE(keep_context(bundle.path(), launched->archive));
  CHECK(read(cancelled));
}
