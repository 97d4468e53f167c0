// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_tail.hpp"

#include "launcher/agent/output_queue.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;

namespace {

constexpr Instant now{0};
constexpr std::size_t capacity = 64u << 10;
constexpr std::uint64_t plenty = std::uint64_t{1} << 40;
const RankOfAttempt rank_0{{0, 0}, 0};
const RankOfAttempt rank_1{{0, 0}, 1};

/// A queue without a disk that drops, since nobody takes anything.
struct Dropping {
  Dropping() {
    queue.set_rule({0, true});
    REQUIRE(queue.resume({}, 0));
    print(rank_1, OutputStream::out, std::string(capacity, 'x'));
  }
  void print(const RankOfAttempt& rank, OutputStream stream, const std::string& bytes) {
    queue.push(rank, stream, bytes, now);
  }
  /// What the launcher gets of a rank: "(5)" for five bytes that were dropped.
  std::string all_of(const RankOfAttempt& rank) {
    REQUIRE(queue.acknowledge(0, plenty, 0));
    std::string text;
    std::uint64_t position = 0;
    std::uint64_t number = 0;
    while (const auto chunk = queue.take()) {
      number = chunk->number;
      if (chunk->rank != rank.rank) continue;
      CHECK(chunk->begin == position);
      position += length_of(*chunk);
      text += chunk->bytes;
      if (chunk->dropped > 0) text += "(" + std::to_string(chunk->dropped) + ")";
    }
    REQUIRE(queue.acknowledge(number, plenty, number));
    CHECK(queue.empty());
    CHECK(queue.kept() == 0);
    return text;
  }

  OutputQueue queue{capacity};
};

std::string kept_in(OutputTail& tail) {
  std::string text;
  for (const OutputTail::Piece& piece : tail.take()) text += piece.bytes;
  return text;
}

}  // namespace

TEST_CASE("a tail keeps the newest of each stream, in the order in which it came") {
  OutputTail tail;
  CHECK(tail.take().empty());
  tail.add(OutputStream::err, "why", 0, now);
  std::uint64_t position = 3;
  for (int i = 0; i < 1'000; ++i, position += 100)
    tail.add(OutputStream::out, std::string(100, 'x'), position, now);
  tail.add(OutputStream::err, "!", position, now);
  const auto pieces = tail.take();
  CHECK(pieces.front().bytes == "why");
  CHECK(pieces.back().bytes == "!");
  std::size_t of_out = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    CHECK(pieces[i].begin >= pieces[i - 1].begin + pieces[i - 1].bytes.size());
    if (pieces[i].stream == OutputStream::out) of_out += pieces[i].bytes.size();
  }
  CHECK(of_out >= OutputTail::least_kept);
  CHECK(of_out <= 2 * OutputTail::least_kept);
  CHECK(pieces[pieces.size() - 2].begin + pieces[pieces.size() - 2].bytes.size() == position);
  CHECK(tail.take().empty());
}

TEST_CASE("of a piece that is longer than a tail the end is kept") {
  OutputTail tail;
  tail.add(OutputStream::out, std::string(60'000, 'x') + "end", 7, now);
  const auto pieces = tail.take();
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].bytes.size() == OutputTail::least_kept);
  CHECK(pieces[0].bytes.ends_with("xend"));
  CHECK(pieces[0].begin + pieces[0].bytes.size() == 60'010);
}

TEST_CASE("a tail of single bytes of alternating streams is bounded, too") {
  OutputTail tail;
  for (std::uint64_t i = 0; i < 100'000; ++i)
    tail.add(i % 2 == 0 ? OutputStream::out : OutputStream::err, i % 2 == 0 ? "o" : "e", i, now);
  CHECK(tail.take().size() == 2 * OutputTail::most_pieces);
  for (std::uint64_t i = 0; i < 100'000; ++i) tail.add(OutputStream::err, "e", i, now);
  CHECK(kept_in(tail).size() >= OutputTail::least_kept);
}

TEST_CASE("what a rank says last before it ends is not dropped, whatever it printed meanwhile") {
  Dropping d;
  const std::string words = std::string(4'000, 'w') + "last";
  d.print(rank_0, OutputStream::out, std::string(10'000, 'a'));
  d.print(rank_0, OutputStream::err, words);
  d.print(rank_0, OutputStream::out, std::string(5'000, 'b'));
  d.queue.keep_last_words_of(rank_0.of, rank_0.rank);
  const std::string newest(OutputTail::least_kept, 'b');
  const auto between = std::to_string(5'000 - OutputTail::least_kept);
  CHECK(d.all_of(rank_0) == "(10000)" + words + "(" + between + ")" + newest);
}

TEST_CASE("the last words of ranks that are killed are not dropped, nor what came before them") {
  Dropping d;
  d.print(rank_0, OutputStream::err, std::string(9'000, 'a') + "why");
  d.queue.keep_the_rest_of(rank_0.of);
  d.print(rank_0, OutputStream::err, "bye");
  const std::string text = d.all_of(rank_0);
  CHECK(text.starts_with("(" + std::to_string(9'003 - OutputTail::least_kept) + ")a"));
  CHECK(text.ends_with("awhybye"));
}

TEST_CASE("once there is room again, what was kept comes before what follows it") {
  Dropping d;
  d.print(rank_0, OutputStream::err, std::string(9'000, 'a') + "why");
  REQUIRE(d.queue.acknowledge(0, plenty, 0));
  std::uint64_t number = 0;
  while (const auto chunk = d.queue.take()) number = chunk->number;
  REQUIRE(d.queue.acknowledge(number, plenty, number));
  d.print(rank_0, OutputStream::err, "more");
  const std::string text = d.all_of(rank_0);
  CHECK(text.starts_with("(" + std::to_string(9'003 - OutputTail::least_kept) + ")a"));
  CHECK(text.ends_with("awhymore"));
}

TEST_CASE("the end of a rank of another attempt gives back nothing") {
  Dropping d;
  d.print(rank_0, OutputStream::err, "why");
  d.queue.keep_last_words_of({0, 1}, 0);
  d.queue.keep_last_words_of({0, 0}, 1);
  d.queue.forget(rank_0.of);
  REQUIRE(d.queue.acknowledge(0, plenty, 0));
  CHECK_FALSE(d.queue.take());
}

TEST_CASE("an agent that drops output tells the last words of a rank that ends by itself") {
  testing::Bench b(capacity, 0);
  b.connect();
  message::Prepare prepare{"taskid", {}, 1, {}, std::chrono::seconds(7)};
  for (const int rank : {0, 1}) prepare.ranks.push_back({rank, {"true", {}}, "/", {}});
  prepare.spool = {0, true};
  b.say(prepare);
  b.on(agent_event::HostChecked{{}, {29'500}, "/tmp/run"});
  b.say(message::Go{"10.0.0.1", 29'500});
  for (const int rank : {0, 1}) b.on(agent_event::RankStarted{rank, 100 + rank});
  for (int i = 0; i < 100; ++i) b.print(1, std::string(1'000, 'x'));
  b.on(agent_event::RankPrinted{0, OutputStream::err, "why it ends"});
  b.end(0, 1);
  const auto sent = b.say(message::Acknowledge{0, plenty, 0});
  CHECK(testing::output(sent).find("why it ends") != std::string::npos);
}
