// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

namespace {

/// A folder, and who has printed what in words: "0,1: text".
class FolderScene {
 public:
  explicit FolderScene(std::size_t ranks = 0) : folder_(ranks) {}

  void print(int rank, const std::string& text, int trial = 0,
             OutputStream stream = OutputStream::out) {
    folder_.add(trial, rank, stream, text, now_.count(), now_);
  }
  void pass(LineFolder::Moment time) { now_ += time; }
  Words take() { return words(folder_.take(now_)); }
  Words take_all() { return words(folder_.take_all()); }
  bool holds_lines() const { return folder_.holds_lines(); }

 private:
  static Words words(const std::vector<FoldedLine>& lines) {
    Words words;
    for (const FoldedLine& line : lines)
      words.push_back(fmt::format("{}: {}", fmt::join(line.ranks, ","), line.text));
    return words;
  }

  LineFolder folder_;
  LineFolder::Moment now_{10s};
};

}  // namespace

TEST_CASE("a line that all ranks print is passed on once, as soon as the last has printed it") {
  FolderScene scene(3);
  scene.print(2, "epoch 1");
  scene.print(0, "epoch 1");
  CHECK(scene.take().empty());
  scene.print(1, "epoch 1");
  CHECK(scene.take() == Words{"0,1,2: epoch 1"});
  CHECK_FALSE(scene.holds_lines());
}

TEST_CASE("a line is held no longer than the hold") {
  FolderScene scene(3);
  scene.print(0, "epoch 1");
  scene.pass(LineFolder::hold - 1ms);
  scene.print(1, "epoch 1");
  CHECK(scene.take().empty());
  scene.pass(1ms);
  scene.print(2, "epoch 1");  // too late
  CHECK(scene.take() == Words{"0,1: epoch 1"});
  scene.pass(LineFolder::hold);
  CHECK(scene.take() == Words{"2: epoch 1"});
}

TEST_CASE("lines of a clock that was set back are not held") {
  FolderScene scene(2);
  scene.print(0, "a");
  scene.pass(-1h);
  CHECK(scene.take() == Words{"0: a"});
}

TEST_CASE("a rank that prints a line twice has printed two lines") {
  FolderScene scene(2);
  scene.print(0, "a");
  scene.print(0, "a");
  scene.print(1, "a");
  CHECK(scene.take_all() == Words{"0,1: a", "0: a"});
}

TEST_CASE("a line does not join one that stands before an earlier line of its rank") {
  FolderScene scene(2);
  scene.print(0, "a");
  scene.print(0, "b");
  scene.print(1, "b");
  scene.print(1, "a");
  CHECK(scene.take_all() == Words{"0: a", "0,1: b", "1: a"});
}

TEST_CASE("lines of several streams or trials are not folded") {
  FolderScene scene;
  scene.print(0, "a");
  scene.print(1, "a", 0, OutputStream::err);
  scene.print(2, "a", 7);
  CHECK(scene.take_all() == Words{"0: a", "1: a", "2: a"});
}

TEST_CASE("the oldest lines are passed on when too much is held") {
  FolderScene scene(2);
  const std::string long_line(LineFolder::most_held / 2, 'x');
  scene.print(0, long_line);
  scene.print(0, "a");
  CHECK(scene.take().empty());
  scene.print(0, long_line);
  CHECK(scene.take() == Words{"0: " + long_line});
  CHECK(scene.take_all() == Words{"0: a", "0: " + long_line});
}

// Ranks print few different lines at random times.
TEST_CASE("no line is lost, and each rank's lines keep their order") {
  constexpr int ranks = 5;
  std::mt19937 random(GENERATE(1u, 2u, 3u, 4u));
  LineFolder folder(ranks);
  LineFolder::Moment now{0};
  std::vector<Words> printed(ranks);
  std::vector<Words> shown(ranks);
  std::size_t folded = 0;
  const auto show = [&](const std::vector<FoldedLine>& lines) {
    folded += lines.size();
    for (const FoldedLine& line : lines) {
      CHECK(std::is_sorted(line.ranks.begin(), line.ranks.end()));
      for (const int rank : line.ranks) shown[static_cast<std::size_t>(rank)].push_back(line.text);
    }
  };
  for (int i = 0; i < 5'000; ++i) {
    now += LineFolder::Moment(random() % 5'000);
    const auto rank = random() % ranks;
    printed[rank].push_back(std::string(1, static_cast<char>('a' + random() % 4)));
    folder.add(0, static_cast<int>(rank), OutputStream::out, printed[rank].back(), 0, now);
    if (random() % 3 == 0) show(folder.take(now));
  }
  show(folder.take_all());
  CHECK(shown == printed);
  CHECK(folded < 4'000);
}
