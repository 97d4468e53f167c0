// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/delivery_window.hpp"

#include "launcher/ports/clock.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

// A link that passes so many bytes a second, one after the other, and a host that says at once what
// it took; the answer is heard after `delay`. The sender fills its window whenever it may.
struct LinkBench {
  explicit LinkBench(double bytes_per_second, nanoseconds answer_delay = 0ns)
      : rate(bytes_per_second), delay(answer_delay) {}

  void fill() {
    while (sent + context_piece_size <= window.end()) {
      sent += context_piece_size;
      window.sent(sent, now);
      link_free = std::max(link_free, now) + time_of(context_piece_size);
      answers.push_back({sent, link_free + delay});
    }
  }
  // Hears the next answer, and says how long a ping would wait behind what is on its way then.
  nanoseconds step() {
    now = std::max(now, answers.front().at);
    window.taken(answers.front().taken, now);
    answers.pop_front();
    fill();
    return link_free - now;
  }
  nanoseconds time_of(std::uint64_t bytes) const {
    return nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) / rate * 1e9));
  }

  struct Answer {
    std::uint64_t taken = 0;
    Instant at{0};
  };
  double rate;
  nanoseconds delay;
  DeliveryWindow window;
  Instant now{0};
  Instant link_free{0};
  std::uint64_t sent = 0;
  std::deque<Answer> answers;
};

}  // namespace

TEST_CASE("at first, little is on its way, and nothing beyond it before an answer") {
  DeliveryWindow window;
  CHECK(window.end() == DeliveryWindow::smallest);
  window.taken(0, 5s);
  CHECK(window.end() == DeliveryWindow::smallest);
}

TEST_CASE("a fast link has the whole window after the first answer") {
  LinkBench b(100e6);
  b.fill();
  b.step();
  CHECK(b.window.end() == context_piece_size + context_window);
}

TEST_CASE("nothing waits for more than a few seconds behind a context on a slow link") {
  const double rate = GENERATE(12.5e3, 16e3, 100e3, 1e6);
  LinkBench b(rate);
  b.fill();
  nanoseconds longest{0};
  for (int i = 0; i < 500; ++i) longest = std::max(longest, b.step());
  CHECK(longest <= 3s);
}

TEST_CASE("a link is busy all the time, however long an answer takes") {
  const nanoseconds delay = GENERATE(1ms, 50ms, 300ms, 1s);
  LinkBench b(200e3, delay);
  b.fill();
  for (int i = 0; i < 100; ++i) b.step();
  const Instant begin = b.now;
  const std::uint64_t sent = b.sent;
  for (int i = 0; i < 200; ++i) b.step();
  const double seconds = std::chrono::duration<double>(b.now - begin).count();
  CHECK(static_cast<double>(b.sent - sent) / seconds > 190e3);
}

TEST_CASE("a link that becomes slow gets a small window, one that becomes fast a large one") {
  LinkBench b(50e6);
  b.fill();
  for (int i = 0; i < 1'000; ++i) b.step();
  CHECK(b.window.end() - b.sent < context_piece_size);
  b.rate = 20e3;
  nanoseconds wait{0};
  for (int i = 0; i < 1'000; ++i) wait = b.step();
  CHECK(wait <= 3s);
  b.rate = 50e6;
  for (int i = 0; i < 1'000; ++i) b.step();
  CHECK(b.window.end() == b.sent);
  CHECK(b.link_free - b.now < 100ms);
}

TEST_CASE("an answer to nothing new changes no window") {
  DeliveryWindow window;
  window.sent(context_piece_size, 0s);
  window.taken(context_piece_size, 1s);
  const std::uint64_t end = window.end();
  window.taken(context_piece_size, 9s);
  CHECK(window.end() == end);
}
