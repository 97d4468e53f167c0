// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

#include <utility>

namespace train {

void OutputQueue::push(int rank, OutputStream stream, std::string_view bytes, Instant now) {
  bytes.remove_prefix(append_to_last(rank, stream, bytes));
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, max_chunk_bytes);
    waiting_.push_back({++last_number_, rank, stream, std::string(piece), now});
    kept_ += cost_of(waiting_.back());
    bytes.remove_prefix(piece.size());
  }
}

std::size_t OutputQueue::append_to_last(int rank, OutputStream stream, std::string_view bytes) {
  if (waiting_.empty()) return 0;
  OutputChunk& last = waiting_.back();
  if (last.rank != rank || last.stream != stream) return 0;
  const std::string_view piece = bytes.substr(0, max_chunk_bytes - last.bytes.size());
  last.bytes += piece;
  kept_ += piece.size();
  return piece.size();
}

std::optional<OutputChunk> OutputQueue::take() {
  if (waiting_.empty() || in_flight_ >= limits_.window) return std::nullopt;
  OutputChunk chunk = std::move(waiting_.front());
  waiting_.pop_front();
  sent_.push_back({chunk.number, cost_of(chunk)});
  in_flight_ += sent_.back().cost;
  return chunk;
}

void OutputQueue::clear() {
  waiting_.clear();
  sent_.clear();
  kept_ = in_flight_ = 0;
}

bool OutputQueue::acknowledge(std::uint64_t number) {
  const std::uint64_t last_sent = last_number_ - waiting_.size();
  if (number > last_sent) return false;
  while (!sent_.empty() && sent_.front().number <= number) {
    kept_ -= sent_.front().cost;
    in_flight_ -= sent_.front().cost;
    sent_.pop_front();
  }
  return true;
}

}  // namespace train
