// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Output of the ranks of one host on its way to the launcher, in numbered chunks that count until
/// they are acknowledged. No queue is bounded, never blocks and never loses anything: this one is
/// bounded and loses nothing, so its owner stops reading the ranks' pipes while it is full.
class OutputQueue {
 public:
  struct Limits {
    std::size_t capacity = 4u << 20;  ///< bytes of memory kept before the queue is full
    std::size_t window = 1u << 20;    ///< of these, sent and not acknowledged
  };

  OutputQueue() : OutputQueue(Limits()) {}
  explicit OutputQueue(Limits limits) : limits_(limits) {}

  /// How much may be sent and not acknowledged from now on.
  void set_window(std::size_t window) { limits_.window = window; }

  /// Appends what a rank printed, in chunks of at most `max_chunk_bytes`; small pieces are put
  /// together while they wait.
  void push(int rank, OutputStream stream, std::string_view bytes, Instant now);
  /// The next chunk to send, while the window has room.
  std::optional<OutputChunk> take();
  /// Everything up to `number` has arrived. A number that was never sent is refused.
  bool acknowledge(std::uint64_t number);

  /// Forgets everything: nobody is there to read it.
  void clear();

  bool full() const { return kept_ >= limits_.capacity; }
  /// Nothing is waiting to be sent or acknowledged.
  bool empty() const { return waiting_.empty() && sent_.empty(); }

 private:
  /// How many of the bytes found room in the last chunk, which was not sent yet.
  std::size_t append_to_last(int rank, OutputStream stream, std::string_view bytes);

  struct SentChunk {
    std::uint64_t number = 0;
    std::size_t cost = 0;
  };

  Limits limits_;
  std::deque<OutputChunk> waiting_;
  std::deque<SentChunk> sent_;  ///< and not acknowledged
  std::size_t kept_ = 0;        ///< cost of all chunks, waiting and sent
  std::size_t in_flight_ = 0;   ///< cost of those that were sent
  std::uint64_t last_number_ = 0;
};

}  // namespace train
