// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

namespace train {

void OutputQueue::push(int rank, OutputStream stream, std::string_view bytes) {
  bytes.remove_prefix(append_to_last(rank, stream, bytes));
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, max_chunk_bytes);
    chunks_.push_back({++last_number_, rank, stream, std::string(piece)});
    kept_ += cost_of(chunks_.back());
    bytes.remove_prefix(piece.size());
  }
}

std::size_t OutputQueue::append_to_last(int rank, OutputStream stream, std::string_view bytes) {
  if (sent_ == chunks_.size()) return 0;
  OutputChunk& last = chunks_.back();
  if (last.rank != rank || last.stream != stream) return 0;
  const std::string_view piece = bytes.substr(0, max_chunk_bytes - last.bytes.size());
  last.bytes += piece;
  kept_ += piece.size();
  return piece.size();
}

std::optional<OutputChunk> OutputQueue::take() {
  if (sent_ == chunks_.size() || in_flight_ >= limits_.window) return std::nullopt;
  const OutputChunk& chunk = chunks_[sent_++];
  in_flight_ += cost_of(chunk);
  return chunk;
}

void OutputQueue::clear() {
  chunks_.clear();
  sent_ = kept_ = in_flight_ = 0;
}

bool OutputQueue::acknowledge(std::uint64_t number) {
  const std::uint64_t last_sent =
      sent_ == chunks_.size() ? last_number_ : chunks_[sent_].number - 1;
  if (number > last_sent) return false;
  while (!chunks_.empty() && chunks_.front().number <= number) {
    kept_ -= cost_of(chunks_.front());
    in_flight_ -= cost_of(chunks_.front());
    chunks_.pop_front();
    --sent_;
  }
  return true;
}

}  // namespace train
