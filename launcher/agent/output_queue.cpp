// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

namespace train {

void OutputQueue::push(int rank, OutputStream stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, max_chunk_bytes);
    chunks_.push_back({++last_number_, rank, stream, std::string(piece)});
    bytes_ += piece.size();
    bytes.remove_prefix(piece.size());
  }
}

std::optional<OutputChunk> OutputQueue::take() {
  if (sent_ == chunks_.size() || bytes_in_flight_ >= limits_.window) return std::nullopt;
  const OutputChunk& chunk = chunks_[sent_++];
  bytes_in_flight_ += chunk.bytes.size();
  return chunk;
}

bool OutputQueue::acknowledge(std::uint64_t number) {
  const std::uint64_t last_sent =
      sent_ == chunks_.size() ? last_number_ : chunks_[sent_].number - 1;
  if (number > last_sent) return false;
  while (!chunks_.empty() && chunks_.front().number <= number) {
    bytes_ -= chunks_.front().bytes.size();
    bytes_in_flight_ -= chunks_.front().bytes.size();
    chunks_.pop_front();
    --sent_;
  }
  return true;
}

}  // namespace train
