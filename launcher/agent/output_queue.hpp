// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "launcher/wire/message.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Output of the ranks of one host on its way to the launcher: kept until it is acknowledged,
/// whatever becomes of the connection, and bounded. "Bounded", "never blocks" and "never loses"
/// exclude each other: this one never loses, so its owner stops reading the ranks' pipes while it
/// is full.
class OutputQueue {
 public:
  /// Bytes of memory kept before the queue is full.
  static constexpr std::size_t usual_capacity = 4u << 20;

  explicit OutputQueue(std::size_t capacity = usual_capacity) : capacity_(capacity) {}

  /// Appends what a rank printed, in chunks of at most `max_chunk_bytes`; small pieces are put
  /// together while they wait.
  void push(int rank, OutputStream stream, std::string_view bytes, Instant now);
  /// The next chunk to send on this connection, numbered, while there is credit; else null. It is
  /// as it stands until `resume`.
  std::shared_ptr<const OutputChunk> take();
  /// What was sent on this connection up to `number` is written down, and so much may be sent on it
  /// in all. A number that was never sent is refused.
  bool acknowledge(std::uint64_t number, std::uint64_t credit);
  /// There is a new connection: what is kept is sent again, but for what lies before the positions.
  /// A position behind all that the rank has printed is refused.
  bool resume(const std::vector<message::OutputPosition>& positions, std::uint64_t credit);

  /// Forgets everything: nobody is there to read it.
  void clear();

  bool full() const { return kept_ >= capacity_; }
  /// Nothing is waiting to be sent or acknowledged.
  bool empty() const { return chunks_.empty(); }

 private:
  /// How many of the bytes found room in the last chunk, which was not sent yet.
  std::size_t append_to_last(int rank, OutputStream stream, std::string_view bytes);

  std::size_t capacity_;
  std::deque<std::shared_ptr<OutputChunk>> chunks_;  ///< the first of them were sent
  std::size_t sent_ = 0;                             ///< how many
  std::size_t kept_ = 0;                             ///< cost of all
  std::map<int, std::uint64_t> ends_;                ///< bytes that each rank has printed
  // Of this connection:
  std::uint64_t last_number_ = 0;
  std::uint64_t sent_cost_ = 0;
  std::uint64_t credit_ = 0;
};

}  // namespace train
