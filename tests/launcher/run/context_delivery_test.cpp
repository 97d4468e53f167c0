// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/context_delivery.hpp"

#include <algorithm>

#include "launcher/frames/frame.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t first_window = DeliveryWindow::smallest;
constexpr std::uint64_t context_size = (9u << 20) + 100;

// Packs a piece whenever the test says so.
class SlowSource final : public ContextSource {
 public:
  explicit SlowSource(Events events) : events_(std::move(events)) {}
  void name() { events_.on_named({{std::string(64, 'a'), context_size}, 1, 1, {}}); }
  void pack() override { is_asked_ = true; }
  const std::vector<ContextPiece>& pieces() const override { return pieces_; }

  /// False when there are no more pieces.
  bool add_piece() {
    if (!is_asked_ || (!pieces_.empty() && pieces_.back().is_last)) return false;
    const std::uint64_t begin = pieces_.empty() ? 0 : pieces_.back().end;
    const std::uint64_t size = std::min<std::uint64_t>(context_piece_size, context_size - begin);
    const std::string bytes(static_cast<std::size_t>(size), 'x');
    pieces_.push_back({std::make_shared<const std::string>(encode_frame(FrameKind::context, bytes)),
                       begin + size, size < context_piece_size});
    events_.on_piece();
    return true;
  }

 private:
  Events events_;
  std::vector<ContextPiece> pieces_;
  bool is_asked_ = false;
};

// A context of a few windows and two hosts, which take what they are sent when the test says so.
struct DeliveryBench {
  DeliveryBench() {
    ContextDelivery::Hooks hooks;
    hooks.on_named = [](const ContextSummary&) {};
    hooks.on_failed = [](const Error& why) { FAIL_CHECK(render(why)); };
    hooks.send = [this](int host, std::shared_ptr<const std::string> frame) {
      sent[host] += frame->size() - frame_header;
      is_whole[host] = frame->size() - frame_header < context_piece_size;
      last_frame[host] = std::move(frame);
    };
    hooks.on_progress = [this](const ContextProgress& how) { progress.push_back(how); };
    delivery.emplace(
        timers,
        [this](ContextSource::Events events) {
          auto made = std::make_unique<SlowSource>(std::move(events));
          source = made.get();
          return made;
        },
        2, std::move(hooks));
    source->name();
  }
  // Lets the packer go on until this host has been sent so much, or all of it.
  void run_until_sent(int host, std::uint64_t bytes) {
    while (sent[host] < bytes && !is_whole[host] && source->add_piece()) continue;
  }
  void wait(nanoseconds time) {
    bool is_over = false;
    time_.at(time_.now() + time, [&] { is_over = true; });
    while (!is_over) time_.step();
  }

  static constexpr std::size_t frame_header = 5;
  simulation::VirtualTime time_;
  simulation::FakeTimers timers{time_};
  std::uint64_t sent[2] = {0, 0};
  bool is_whole[2] = {false, false};
  std::shared_ptr<const std::string> last_frame[2];
  std::vector<ContextProgress> progress;
  SlowSource* source = nullptr;
  std::optional<ContextDelivery> delivery;
};

}  // namespace

TEST_CASE("a host is sent a window of the context, and more as it takes it") {
  DeliveryBench b;
  REQUIRE(b.delivery->context());
  REQUIRE(b.delivery->wanted(0, 0));
  b.run_until_sent(0, first_window);
  CHECK(b.sent[0] == first_window);
  for (std::uint64_t taken = context_piece_size; !b.is_whole[0]; taken += context_piece_size) {
    REQUIRE(b.delivery->wanted(0, taken));
    b.run_until_sent(0, taken + first_window);
    REQUIRE(b.sent[0] <= taken + context_window);
  }
  CHECK(b.sent[0] == context_size);
  CHECK(b.sent[1] == 0);
}

TEST_CASE("all hosts are sent the same bytes, of which there is one copy") {
  DeliveryBench b;
  REQUIRE(b.delivery->wanted(0, 0));
  REQUIRE(b.delivery->wanted(1, 0));
  b.run_until_sent(0, first_window);
  b.run_until_sent(1, first_window);
  CHECK(b.last_frame[0] == b.last_frame[1]);
}

TEST_CASE("a host cannot have taken what it was not sent, or part of a piece") {
  DeliveryBench b;
  CHECK_FALSE(b.delivery->wanted(0, context_piece_size));
  REQUIRE(b.delivery->wanted(0, 0));
  b.run_until_sent(0, first_window);
  CHECK_FALSE(b.delivery->wanted(0, first_window + context_piece_size));
  CHECK_FALSE(b.delivery->wanted(0, 1));
}

TEST_CASE("a host that is given up is sent nothing more") {
  DeliveryBench b;
  REQUIRE(b.delivery->wanted(0, 0));
  REQUIRE(b.delivery->wanted(1, 0));
  b.delivery->forget(0);
  b.run_until_sent(1, first_window);
  CHECK(b.sent[0] == 0);
}

TEST_CASE("how far the slowest host has come is told now and then") {
  DeliveryBench b;
  REQUIRE(b.delivery->wanted(0, 0));
  REQUIRE(b.delivery->wanted(1, 0));
  b.run_until_sent(0, first_window);
  REQUIRE(b.delivery->wanted(0, context_piece_size));
  CHECK(b.progress.empty());
  b.wait(2s);
  REQUIRE(b.progress.size() == 1);
  CHECK(b.progress[0].hosts == 2);
  CHECK(b.progress[0].least == 0);
  CHECK_FALSE(b.progress[0].of);
  while (b.source->add_piece()) continue;
  b.delivery->forget(1);
  b.wait(10s);
  REQUIRE(b.progress.size() == 2);
  CHECK(b.progress[1].hosts == 1);
  CHECK(b.progress[1].least == context_piece_size);
  CHECK(b.progress[1].of == context_size);
  b.delivery->forget(0);
  b.wait(20s);
  CHECK(b.progress.size() == 2);
}
