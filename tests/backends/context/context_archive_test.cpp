// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_archive.hpp"

#include "launcher/frames/frame.hpp"
#include "tests/backends/context/tree.hpp"

using namespace train;

TEST_CASE("the name of a context is that of its content, not of its place or time") {
  Tree one, two;
  for (const Tree* tree : {&one, &two}) {
    tree->write("src/main.py", "print()", 0755);
    tree->link("link", "src");
    tree->make("empty");
  }
  two.age("src/main.py", std::chrono::hours(99));
  const ArchivedContext a = archived(one.path());
  CHECK(a.context == archived(two.path()).context);
  CHECK(a.context.size == a.archive.size());
  CHECK(a.files == 1);
  CHECK(a.bytes == 7);
  const std::string before = a.context.sha256;
  SECTION("content") { two.write("src/main.py", "print(1)", 0755); }
  SECTION("mode") { two.write("src/main.py", "print()", 0644); }
  SECTION("a folder") { two.make("empty/more"); }
  SECTION("a target") {
    REQUIRE(::unlink(two.at("link").c_str()) == 0);
    two.link("link", "empty");
  }
  CHECK(archived(two.path()).context.sha256 != before);
}

TEST_CASE("all pieces but the last are full, and the last is not") {
  std::mt19937 random(3);
  for (const std::size_t size : {0u, 1u, 300'000u, 1'000'000u}) {
    const auto pieces = pieces_of(random_bytes(random, size));
    REQUIRE_FALSE(pieces.empty());
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
      CHECK(pieces[i].size() == context_piece_size);
    CHECK(pieces.back().size() < context_piece_size);
  }
}

TEST_CASE("reading ends early when nobody needs the context any more") {
  Tree tree;
  tree.write("a", "");
  const std::atomic<bool> cancelled{true};
  CHECK_FALSE(archive_context(tree.path(), {}, cancelled));
}
