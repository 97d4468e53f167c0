// SPDX-License-Identifier: Apache-2.0
#include "cli/context_delivery.hpp"

#include <fstream>
#include <random>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

constexpr std::uint64_t first_window = DeliveryWindow::smallest;

// A context of a few windows and two hosts, which take what they are sent when the test says so.
struct Bench {
  Bench() {
    std::mt19937 random(9);
    std::ofstream file(directory.path() + "/weights", std::ios::binary);
    for (int i = 0; i < (9 << 20) / 4; ++i) {
      const std::uint32_t word = random();
      file.write(reinterpret_cast<const char*>(&word), sizeof word);
    }
    file.close();
    ContextDelivery::Hooks hooks;
    hooks.on_named = [this](const ContextSummary&) { loop.stop(); };
    hooks.on_failed = [this](const Error& why) {
      FAIL_CHECK(render(why));
      loop.stop();
    };
    hooks.send = [this](int host, std::shared_ptr<const std::string> frame) {
      sent[host] += frame->size() - frame_header;
      is_whole[host] = frame->size() - frame_header < context_piece_size;
      last_frame[host] = std::move(frame);
      loop.stop();
    };
    hooks.say = [](const std::string&) {};
    delivery.emplace(loop, directory.path(), 2, std::move(hooks));
    loop.run();
  }
  // Lets the packer go on until this host has been sent so much, or all of it.
  void run_until_sent(int host, std::uint64_t bytes) {
    while (sent[host] < bytes && !is_whole[host]) loop.run();
  }

  static constexpr std::size_t frame_header = 5;
  TemporaryDirectory directory;
  Loop loop;
  std::uint64_t sent[2] = {0, 0};
  bool is_whole[2] = {false, false};
  std::shared_ptr<const std::string> last_frame[2];
  std::optional<ContextDelivery> delivery;
};

}  // namespace

TEST_CASE("a host is sent a window of the context, and more as it takes it") {
  Bench b;
  REQUIRE(b.delivery->context());
  REQUIRE(b.delivery->wanted(0, 0));
  b.run_until_sent(0, first_window);
  CHECK(b.sent[0] == first_window);
  for (std::uint64_t taken = context_piece_size; !b.is_whole[0]; taken += context_piece_size) {
    REQUIRE(b.delivery->wanted(0, taken));
    b.run_until_sent(0, taken + first_window);
    REQUIRE(b.sent[0] <= taken + context_window);
  }
  CHECK(b.sent[0] > 9u << 20);
  CHECK(b.sent[1] == 0);
}

TEST_CASE("all hosts are sent the same bytes, of which there is one copy") {
  Bench b;
  REQUIRE(b.delivery->wanted(0, 0));
  REQUIRE(b.delivery->wanted(1, 0));
  b.run_until_sent(0, first_window);
  b.run_until_sent(1, first_window);
  CHECK(b.last_frame[0] == b.last_frame[1]);
}

TEST_CASE("a host cannot have taken what it was not sent, or part of a piece") {
  Bench b;
  CHECK_FALSE(b.delivery->wanted(0, context_piece_size));
  REQUIRE(b.delivery->wanted(0, 0));
  b.run_until_sent(0, first_window);
  CHECK_FALSE(b.delivery->wanted(0, first_window + context_piece_size));
  CHECK_FALSE(b.delivery->wanted(0, 1));
}

TEST_CASE("a host that is given up is sent nothing more") {
  Bench b;
  REQUIRE(b.delivery->wanted(0, 0));
  REQUIRE(b.delivery->wanted(1, 0));
  b.delivery->forget(0);
  b.run_until_sent(1, first_window);
  CHECK(b.sent[0] == 0);
}
