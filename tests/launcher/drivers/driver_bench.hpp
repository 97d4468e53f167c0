// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/drivers/task_driver.hpp"
#include "launcher/frames/frame.hpp"
#include "tests/catch.hpp"

namespace train {

/// Links in the order in which they were opened; what is sent over them is kept as messages.
struct ManyLinks final : Transport {
  struct Made {
    LinkEvents events;
    AgentCall call;
    std::vector<Message> sent;
    bool is_closed = false;
    bool is_asking = false;

    template <class M>
    std::vector<M> all() const {
      std::vector<M> found;
      for (const Message& message : sent)
        if (const auto* m = std::get_if<M>(&message)) found.push_back(*m);
      return found;
    }
    void say(const Message& message) const { events.on_bytes(frame_of(message)); }
    void print(std::uint64_t number, std::uint64_t begin, const std::string& bytes) const {
      const OutputChunk chunk{number, 0, OutputStream::out, bytes, std::chrono::seconds(1'000),
                              begin};
      events.on_bytes(encode_frame(FrameKind::output, encode_output(chunk, OutputPacking::none)));
    }
  };
  struct Link final : HostLink {
    explicit Link(Made& of) : made(of) {}
    ~Link() override { made.is_closed = true; }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    void send(std::string bytes) override {
      FrameDecoder decoder(FrameSender::launcher);
      decoder.feed(bytes);
      const auto frame = decoder.next();
      const auto message = decode_message((**frame).payload);
      REQUIRE(message);
      made.sent.push_back(*message);
    }
    std::size_t unsent_bytes() const override { return 0; }
    bool is_asking() const override { return made.is_asking; }
    Made& made;
  };

  std::unique_ptr<HostLink> open(const Host&, const AgentCall& call, LinkEvents events) override {
    return std::make_unique<Link>(links.emplace_back(Made{std::move(events), call, {}, false}));
  }
  std::deque<Made> links;
};

/// Keeps what was printed.
struct KeptOutput final : OutputSink {
  std::uint64_t take(OutputChunk chunk, nanoseconds) override {
    text += chunk.bytes;
    cost += cost_of(chunk);
    return ++taken;
  }
  std::uint64_t written() const override { return is_kept; }
  std::uint64_t synced() const override { return is_kept; }
  void expect_end() override {}
  void expect_another(AttemptId) override {}
  std::string text;
  std::size_t cost = 0;
  std::uint64_t taken = 0;
  std::uint64_t is_kept = 0;
};

/// Timers that a test lets come when it wants.
struct HandTimers final : Timers {
  struct Timer final : Subscription {
    std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  };
  struct Due {
    Instant at;
    std::weak_ptr<bool> wanted;
    std::function<void()> callback;
  };
  Instant now() const override { return time; }
  void post(std::function<void()> callback) override { callback(); }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    auto timer = std::make_unique<Timer>();
    due.push_back({time + delay, timer->wanted, std::move(callback)});
    return timer;
  }
  void pass(nanoseconds delay) {
    time += delay;
    for (std::size_t i = 0; i < due.size(); ++i) {
      if (due[i].at > time || !due[i].callback) continue;
      const auto callback = std::exchange(due[i].callback, nullptr);
      if (!due[i].wanted.expired()) callback();
    }
  }
  Instant time = std::chrono::seconds(1'000);
  std::deque<Due> due;
};

/// Entries that are written when the test says so, or never.
struct HandJournal final : Journal {
  struct Waiting {
    std::string entry;
    bool durable = false;
    std::function<void(Result<void>)> on_written;
  };
  void append(std::string entry, bool durable,
              std::function<void(Result<void>)> on_written) override {
    waiting.push_back({std::move(entry), durable, std::move(on_written)});
  }
  void look(std::function<void()> then) override { looks.push_back(std::move(then)); }
  bool is_displaced() const override { return is_taken; }
  /// All that wait to be told whose it is.
  void report_looks() {
    for (const auto& then : std::exchange(looks, {})) then();
  }
  std::vector<std::function<void()>> looks;
  /// All that wait, and what comes of it.
  void write() {
    while (!waiting.empty()) {
      const Waiting next = std::move(waiting.front());
      waiting.pop_front();
      if (!why_not.empty()) {
        next.on_written(fail(is_taken ? ErrorClass::busy : ErrorClass::no_input, why_not));
        continue;
      }
      entries.push_back(*decode_entry(next.entry));
      next.on_written({});
    }
  }
  template <class Record>
  int count() const {
    int found = 0;
    for (const JournalEntry& entry : entries) found += std::holds_alternative<Record>(entry.record);
    return found;
  }

  std::deque<Waiting> waiting;
  std::vector<JournalEntry> entries;  ///< that are written
  std::string why_not;                ///< no more can be
  bool is_taken = false;              ///< by another supervisor, which is why
};

}  // namespace train
