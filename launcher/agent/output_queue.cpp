// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

#include <algorithm>
#include <utility>

namespace train {

void OutputQueue::push(int rank, OutputStream stream, std::string_view bytes, Instant now) {
  std::uint64_t& end = ends_[rank];
  const std::size_t appended = append_to_last(rank, stream, bytes);
  end += appended;
  bytes.remove_prefix(appended);
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, max_chunk_bytes);
    chunks_.push_back(
        std::make_shared<OutputChunk>(OutputChunk{0, rank, stream, std::string(piece), now, end}));
    kept_ += cost_of(*chunks_.back());
    end += piece.size();
    bytes.remove_prefix(piece.size());
  }
}

std::size_t OutputQueue::append_to_last(int rank, OutputStream stream, std::string_view bytes) {
  if (chunks_.size() == sent_) return 0;
  OutputChunk& last = *chunks_.back();
  if (last.rank != rank || last.stream != stream) return 0;
  const std::string_view piece = bytes.substr(0, max_chunk_bytes - last.bytes.size());
  last.bytes += piece;
  kept_ += piece.size();
  return piece.size();
}

std::shared_ptr<const OutputChunk> OutputQueue::take() {
  if (chunks_.size() == sent_ || sent_cost_ >= credit_) return nullptr;
  const std::shared_ptr<OutputChunk>& chunk = chunks_[sent_++];
  chunk->number = ++last_number_;
  sent_cost_ += cost_of(*chunk);
  return chunk;
}

bool OutputQueue::acknowledge(std::uint64_t number, std::uint64_t credit) {
  if (number > last_number_) return false;
  credit_ = std::max(credit_, credit);
  while (sent_ > 0 && chunks_.front()->number <= number) {
    kept_ -= cost_of(*chunks_.front());
    chunks_.pop_front();
    --sent_;
  }
  return true;
}

bool OutputQueue::resume(const std::vector<message::OutputPosition>& positions,
                         std::uint64_t credit) {
  std::map<int, std::uint64_t> begins;
  for (const message::OutputPosition& at : positions) {
    const auto end = ends_.find(at.rank);
    if (at.position > (end == ends_.end() ? 0 : end->second)) return false;
    begins[at.rank] = at.position;
  }
  std::deque<std::shared_ptr<OutputChunk>> missing;
  kept_ = 0;
  for (const auto& chunk : chunks_) {
    const auto begin = begins.find(chunk->rank);
    const std::uint64_t known = begin == begins.end() ? 0 : begin->second;
    if (known >= chunk->begin + chunk->bytes.size()) continue;
    if (known > chunk->begin) {
      chunk->bytes.erase(0, static_cast<std::size_t>(known - chunk->begin));
      chunk->begin = known;
    }
    kept_ += cost_of(*chunk);
    missing.push_back(chunk);
  }
  chunks_ = std::move(missing);
  sent_ = 0;
  last_number_ = sent_cost_ = 0;
  credit_ = credit;
  return true;
}

void OutputQueue::clear() {
  chunks_.clear();
  sent_ = kept_ = 0;
}

}  // namespace train
