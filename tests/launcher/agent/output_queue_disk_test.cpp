// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <random>

#include "launcher/agent/output_queue.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr Instant now{0};
constexpr std::uint64_t plenty = std::uint64_t{1} << 40;
constexpr std::size_t capacity = 64u << 10;
constexpr std::uint64_t no_limit = 1u << 30;

/// A disk that does what it is told when it is asked to.
class Disk {
 public:
  explicit Disk(OutputQueue& queue, std::uint64_t room = no_limit) : queue_(queue), room_(room) {}

  /// Does the next thing; false when there is none.
  bool step() {
    for (SpoolWork& work : queue_.take_work()) todo_.push_back(std::move(work));
    if (todo_.empty()) return false;
    const SpoolWork work = std::move(todo_.front());
    todo_.pop_front();
    std::visit([this](const auto& w) { perform(w); }, work);
    return true;
  }
  void settle() {
    while (step()) continue;
  }
  std::uint64_t used() const {
    std::uint64_t used = 0;
    for (const auto& [offset, slot] : slots_) used += slot.size;
    return used;
  }
  std::uint64_t most_used() const { return most_used_; }
  int reads() const { return reads_; }

  bool refuses_writes = false;
  bool forgets = false;

 private:
  struct Slot {
    std::string bytes;
    std::uint64_t size = 0;
  };
  void perform(const spool_work::Open& work) {
    queue_.answered(spool_answer::Opened{std::min(work.limit, room_)}, now);
  }
  void perform(const spool_work::Write& work) {
    if (!refuses_writes) {
      slots_[work.offset] = {encode_spooled(work.chunks), work.size};
      REQUIRE(slots_[work.offset].bytes.size() <= work.size);
    }
    most_used_ = std::max(most_used_, used());
    queue_.answered(spool_answer::Written{work.block, !refuses_writes}, now);
  }
  void perform(const spool_work::Read& work) {
    ++reads_;
    auto chunks = decode_spooled(slots_[work.offset].bytes);
    REQUIRE(chunks);
    queue_.answered(spool_answer::Read{work.block, !forgets, forgets ? SpooledChunks() : *chunks},
                    now);
  }
  void perform(const spool_work::Release& work) { slots_.erase(work.offset); }
  void perform(const spool_work::Clear&) { slots_.clear(); }

  OutputQueue& queue_;
  std::uint64_t room_;
  std::deque<SpoolWork> todo_;
  std::map<std::uint64_t, Slot> slots_;
  std::uint64_t most_used_ = 0;
  int reads_ = 0;
};

/// A launcher's side: puts together what arrives, with '?' for what was dropped.
struct Launcher {
  std::map<RankOfAttempt, std::string> received;
  std::uint64_t number = 0;
  std::uint64_t dropped = 0;

  void take(const OutputChunk& chunk) {
    REQUIRE(chunk.number == ++number);
    std::string& text = received[{chunk.of, chunk.rank}];
    REQUIRE(chunk.begin == text.size());
    text += chunk.bytes;
    text += std::string(chunk.dropped, '?');
    dropped += chunk.dropped;
  }
  void take_all(OutputQueue& queue, Disk& disk) {
    do {
      while (const auto chunk = queue.take()) take(*chunk);
    } while (disk.step());
  }
  std::vector<message::OutputPosition> positions() const {
    std::vector<message::OutputPosition> all;
    for (const auto& [rank, bytes] : received) all.push_back({rank.rank, bytes.size(), rank.of});
    return all;
  }
};

const RankOfAttempt rank_0{{0, 0}, 0};

struct Bench {
  explicit Bench(std::uint64_t room = no_limit, bool drops = false) : disk(queue, room) {
    queue.set_rule({no_limit, drops});
    REQUIRE(queue.resume({}, 0));
  }

  void print(std::size_t size) {
    std::string text;
    for (; size > 0; --size)
      text += static_cast<char>('a' + printed.size() * 7 % 26 + text.size() % 3);
    printed += text;
    queue.push(rank_0, OutputStream::out, text, now);
  }

  OutputQueue queue{capacity};
  Disk disk;
  Launcher launcher;
  std::string printed;
};

}  // namespace

TEST_CASE("what does not fit into memory goes to the disk, and comes back in its order") {
  Bench b;
  for (int i = 0; i < 1'000; ++i) {
    b.print(1'000);
    b.disk.settle();
    REQUIRE_FALSE(b.queue.full());
  }
  CHECK(b.disk.used() > 900'000);
  CHECK(b.queue.kept() >= 1'000'000);
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  CHECK((b.launcher.received[rank_0] == b.printed));
  CHECK_FALSE(b.queue.empty());
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, 0));
  CHECK(b.queue.empty());
  b.disk.settle();
  CHECK(b.disk.used() > 900'000);  // until it is synced
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  b.disk.settle();
  CHECK(b.disk.used() == 0);
  CHECK(b.queue.kept() == 0);
}

TEST_CASE(
    "a rank that prints byte by byte does not fill the memory with what describes its output") {
  Bench b;
  for (int i = 0; i < 100'000; ++i) {
    b.queue.push(rank_0, i % 2 == 0 ? OutputStream::out : OutputStream::err, "x", now);
    b.disk.settle();
    REQUIRE_FALSE(b.queue.full());
  }
  CHECK(b.disk.used() > 100'000u * 64 - capacity);
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  CHECK(b.launcher.received[rank_0] == std::string(100'000, 'x'));
}

TEST_CASE("what is sent and synced soon never comes to the disk") {
  Bench b;
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  for (int i = 0; i < 1'000; ++i) {
    b.print(1'000);
    b.launcher.take_all(b.queue, b.disk);
    REQUIRE(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  }
  CHECK(b.disk.most_used() == 0);
}

TEST_CASE("where the disk is used up too, the queue is full until there is room for a while") {
  Bench b(256u << 10);
  int prints = 0;
  for (; !b.queue.full(); ++prints) {
    REQUIRE(prints < 1'000);
    b.print(1'000);
    b.disk.settle();
  }
  CHECK(b.queue.out_of_room());
  CHECK(b.disk.most_used() <= 256u << 10);
  CHECK(b.printed.size() > 120'000);
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  CHECK((b.launcher.received[rank_0] == b.printed));
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  b.disk.settle();
  CHECK_FALSE(b.queue.full());
  CHECK_FALSE(b.queue.out_of_room());
}

TEST_CASE("without a disk the queue is full when the memory is") {
  OutputQueue queue(capacity);
  queue.push(rank_0, OutputStream::out, std::string(capacity, 'x'), now);
  CHECK(queue.full());
  CHECK(queue.out_of_room());
  CHECK(queue.take_work().empty());
}

TEST_CASE("a disk that is merely slow makes ranks wait, and is not called used up") {
  Bench b;
  while (!b.queue.full()) b.print(1'000);
  CHECK_FALSE(b.queue.out_of_room());
  b.disk.settle();
  CHECK_FALSE(b.queue.full());
}

TEST_CASE("where output may be dropped, the queue is never full, and tells of each gap once") {
  Bench b(128u << 10, true);
  for (int i = 0; i < 500; ++i) {
    b.print(1'000);
    b.disk.settle();
    REQUIRE_FALSE(b.queue.full());
  }
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  b.disk.settle();
  b.print(1'000);
  b.launcher.take_all(b.queue, b.disk);
  const std::string& text = b.launcher.received[rank_0];
  REQUIRE(text.size() == b.printed.size());
  CHECK(b.launcher.dropped > 200'000);
  CHECK(text.find('?') + b.launcher.dropped == text.rfind('?') + 1);  // one gap
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '?') REQUIRE(text[i] == b.printed[i]);
  CHECK(text.back() == b.printed.back());
}

TEST_CASE("a gap before the last words is told, and counts until it is acknowledged") {
  Bench b(0, true);
  b.print(capacity);
  b.disk.settle();
  b.print(5'000);
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  CHECK_FALSE(b.queue.empty());
  b.launcher.take_all(b.queue, b.disk);
  CHECK(b.launcher.received[rank_0].size() == b.printed.size());
  CHECK(b.launcher.dropped == 5'000 - OutputTail::least_kept);
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  CHECK(b.queue.empty());
}

TEST_CASE("what the disk does not give back is a gap, and the rest comes") {
  Bench b;
  for (int i = 0; i < 300; ++i) {
    b.print(1'000);
    b.disk.settle();
  }
  b.disk.forgets = true;
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  const std::string& text = b.launcher.received[rank_0];
  REQUIRE(text.size() == b.printed.size());
  CHECK(b.launcher.dropped > 100'000);
  CHECK(text.back() == b.printed.back());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '?') REQUIRE(text[i] == b.printed[i]);
  CHECK(b.queue.acknowledge(b.launcher.number, plenty, b.launcher.number));
  CHECK(b.queue.empty());
  CHECK(b.queue.kept() == 0);
}

TEST_CASE("a disk that refuses to write is as one that is used up, for a while") {
  Bench b;
  b.disk.refuses_writes = true;
  for (int i = 0; !b.queue.full(); ++i) {
    REQUIRE(i < 1'000);
    b.print(1'000);
    b.disk.settle();
  }
  CHECK(b.queue.out_of_room());
  b.disk.refuses_writes = false;
  b.queue.push(rank_0, OutputStream::out, "y", now + std::chrono::seconds(20));
  b.printed += "y";
  b.disk.settle();
  CHECK_FALSE(b.queue.full());
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  b.launcher.take_all(b.queue, b.disk);
  CHECK((b.launcher.received[rank_0] == b.printed));
}

TEST_CASE("what a launcher has is not read from the disk again for a new connection") {
  Bench b;
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  for (int i = 0; i < 1'000; ++i) {
    b.print(1'000);
    b.launcher.take_all(b.queue, b.disk);
  }
  CHECK(b.disk.used() > 900'000);
  b.launcher.number = 0;
  REQUIRE(b.queue.resume(b.launcher.positions(), plenty));
  const int reads = b.disk.reads();
  b.launcher.take_all(b.queue, b.disk);
  CHECK(b.launcher.number == 1);
  CHECK(b.disk.reads() <= reads + 5);
  CHECK(b.queue.acknowledge(1, plenty, 1));
  b.disk.settle();
  CHECK(b.disk.used() == 0);
}

TEST_CASE("what is forgotten or cleared leaves the disk") {
  Bench b;
  for (int i = 0; i < 500; ++i) {
    b.print(1'000);
    b.disk.settle();
  }
  const bool is_cleared = GENERATE(false, true);
  if (is_cleared)
    b.queue.clear();
  else
    b.queue.forget(rank_0.of);
  b.disk.settle();
  CHECK(b.disk.used() == 0);
  CHECK(b.queue.kept() == 0);
  CHECK(b.queue.empty());
  REQUIRE(b.queue.acknowledge(0, plenty, 0));
  CHECK_FALSE(b.queue.take());
  const RankOfAttempt next{{0, 1}, 0};
  b.queue.push(next, OutputStream::out, "next", now);
  const auto chunk = b.queue.take();
  REQUIRE(chunk);
  CHECK(chunk->bytes == "next");
}

TEST_CASE("over any cuts, credits, syncs, disks and attempts all bytes arrive once and in order") {
  const unsigned seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  const bool drops = below(4) == 0;
  OutputQueue queue(below(2) == 0 ? 5'000 : 80'000);
  const std::uint64_t room = below(3) * 100'000;
  const std::uint64_t most_in_tails = 20 * 2 * 2 * OutputTail::least_kept;
  Disk disk(queue, room);
  queue.set_rule({no_limit, drops});
  std::map<RankOfAttempt, std::string> printed;
  std::map<RankOfAttempt, std::string>
      durable;  // what the launcher has after the loss of its machine
  std::map<std::uint64_t, std::map<RankOfAttempt, std::string>> after;  // by chunk
  Launcher launcher;
  std::uint64_t credit = 0;
  std::uint64_t synced = 0;
  int attempt = 0;
  REQUIRE(queue.resume({}, 0));
  const auto reconnect = [&] {
    launcher.number = synced = 0;
    after.clear();
    credit = below(300'000);
    REQUIRE(queue.resume(launcher.positions(), credit));
  };
  for (int step = 0; step < 600; ++step) {
    const std::size_t what = below(100);
    disk.refuses_writes = below(20) == 0;
    if (what < 40 && !queue.full()) {
      const RankOfAttempt rank{{0, attempt}, static_cast<int>(below(20))};
      const std::string bytes(below(10) == 0 ? below(9'000) : below(40),
                              static_cast<char>('a' + below(26)));
      queue.push(rank, below(2) == 0 ? OutputStream::out : OutputStream::err, bytes,
                 now + std::chrono::seconds(step));
      printed[rank] += bytes;
    } else if (what < 60) {
      for (std::size_t count = below(20); count > 0; --count) {
        const auto chunk = queue.take();
        if (!chunk) break;
        launcher.take(*chunk);
        after[chunk->number] = launcher.received;
      }
    } else if (what < 80) {
      for (std::size_t count = below(6); count > 0; --count) disk.step();
    } else if (what < 94) {
      credit += below(100'000);
      const std::uint64_t written = below(launcher.number + 1);
      const std::uint64_t newly = below(written + 1);
      REQUIRE(queue.acknowledge(written, credit, newly));
      if (newly > synced) durable = after[synced = newly];
    } else if (what < 97) {
      reconnect();
    } else if (what < 98) {
      launcher.received = durable;
      reconnect();
    } else if (what < 99 && below(2) == 0) {
      queue.keep_last_words_of({0, attempt}, static_cast<int>(below(20)));
    } else if (what < 99 && below(4) == 0) {
      queue.forget({0, attempt});
      for (auto* texts : {&printed, &durable, &launcher.received})
        std::erase_if(*texts, [&](const auto& entry) { return entry.first.of.attempt == attempt; });
      for (auto& [number, texts] : after) texts = launcher.received;
      ++attempt;
    }
    REQUIRE(queue.kept() <= room + 2 * 80'000 + 4 * max_chunk_bytes + most_in_tails);
  }
  disk.refuses_writes = false;
  reconnect();
  REQUIRE(queue.acknowledge(0, plenty, 0));
  for (int round = 0; round < 10'000 && (round < 2 || !queue.empty()); ++round) {
    launcher.take_all(queue, disk);
    REQUIRE(queue.acknowledge(launcher.number, plenty, launcher.number));
  }
  REQUIRE(queue.empty());
  std::erase_if(launcher.received, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(printed, [](const auto& entry) { return entry.second.empty(); });
  REQUIRE(launcher.received.size() == printed.size());
  for (const auto& [rank, text] : printed) {
    const std::string& received = launcher.received[rank];
    REQUIRE(received.size() == text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      if (!drops || received[i] != '?') REQUIRE(received[i] == text[i]);
  }
  disk.settle();
  CHECK(disk.used() == 0);
}
