// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_queue.hpp"

#include <algorithm>
#include <utility>

namespace train {

namespace {

// Size of one write to the disk: large enough to be efficient, small compared to the memory.
constexpr std::size_t most_block_cost = 256u << 10;
constexpr std::size_t blocks_in_memory = 16;
// If a block has output of more ranks than this, their end positions are not kept in memory.
constexpr std::size_t most_ends = 16;

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

RankOfAttempt source_of(AttemptId of, int rank, OutputStream stream) {
  return {of, rank, stream == OutputStream::metrics};
}

// Any one of the streams of this source.
OutputStream stream_of(const RankOfAttempt& rank) {
  return rank.is_of_metrics ? OutputStream::metrics : OutputStream::out;
}

}  // namespace

OutputQueue::OutputQueue(std::size_t capacity)
    : capacity_(capacity),
      block_cost_(std::min(most_block_cost, capacity / blocks_in_memory)),
      memory_step_(capacity / 4) {}

void OutputQueue::push(const RankOfAttempt& printer, OutputStream stream, std::string_view bytes,
                       Instant now) {
  const RankOfAttempt rank = source_of(printer.of, printer.rank, stream);
  now_ = std::max(now_, now);
  Rank& known = ranks_[rank];
  const std::uint64_t begin = known.end;
  known.end += bytes.size();
  if (is_dropping_ && !ending_.contains(rank.of)) {
    may_have_gaps_ = true;
    return tails_[rank].add(stream, bytes, begin, now_);
  }
  const std::size_t appended = append_to_last(rank, stream, bytes);
  for (std::size_t at = appended; at < bytes.size(); at += max_chunk_bytes)
    append(rank, stream, bytes.substr(at, max_chunk_bytes), begin + at, now);
  spill();
  look_for_room();
}

// Bounded by the number of ranks, so there is always room for it.
void OutputQueue::keep(std::map<RankOfAttempt, OutputTail>::iterator tail) {
  for (const OutputTail::Piece& piece : tail->second.take())
    append(tail->first, piece.stream, piece.bytes, piece.begin, piece.at);
  tails_.erase(tail);
}

void OutputQueue::keep_last_words_of(AttemptId of, int rank) {
  for (const bool is_of_metrics : {false, true})
    if (const auto tail = tails_.find({of, rank, is_of_metrics}); tail != tails_.end()) keep(tail);
  spill();
  look_for_room();
}

void OutputQueue::keep_the_rest_of(AttemptId of) {
  ending_.insert(of);
  for (auto tail = tails_.lower_bound({of, 0, false});
       tail != tails_.end() && tail->first.of == of;)
    keep(tail++);
  spill();
  look_for_room();
}

// The last block takes more chunks as long as only this loop uses it.
bool OutputQueue::is_open(std::uint64_t number) const {
  return number + 1 == end_of_blocks() && blocks_.back().is_in_memory && !blocks_.back().offset &&
         !blocks_.back().is_passed;
}

std::size_t OutputQueue::append_to_last(const RankOfAttempt& rank, OutputStream stream,
                                        std::string_view bytes) {
  if (blocks_.empty() || !is_open(end_of_blocks() - 1) || blocks_.back().chunks.empty()) return 0;
  Block& last_block = blocks_.back();
  const bool is_sent =
      next_block_ + 1 == end_of_blocks() && next_chunk_ == last_block.chunks.size();
  if (is_sent || next_block_ == end_of_blocks()) return 0;
  OutputChunk& last = *last_block.chunks.back();
  const bool is_same = last.rank == rank.rank && last.of == rank.of && last.stream == stream;
  const std::uint64_t begin = ranks_[rank].end - bytes.size();
  if (!is_same || last.begin + last.bytes.size() != begin) return 0;
  const std::size_t longest = std::min(max_chunk_bytes, block_cost_);
  if (last.bytes.size() >= longest) return 0;
  const std::string_view piece = bytes.substr(0, longest - last.bytes.size());
  last.bytes += piece;
  last_block.cost += piece.size();
  memory_ += piece.size();
  note_end(last_block, rank, begin + piece.size());
  return piece.size();
}

void OutputQueue::append(const RankOfAttempt& rank, OutputStream stream, std::string_view piece,
                         std::uint64_t begin, Instant now) {
  const bool has_open = !blocks_.empty() && is_open(end_of_blocks() - 1);
  if (!has_open || blocks_.back().cost >= block_cost_) blocks_.emplace_back();
  Block& last = blocks_.back();
  // Its number is another once it is sent.
  auto chunk = std::make_shared<OutputChunk>(
      OutputChunk{1, rank.rank, stream, std::string(piece), now, begin, rank.of});
  last.cost += cost_of(*chunk);
  memory_ += cost_of(*chunk);
  last.chunks.push_back(std::move(chunk));
  add_once(last.attempts, rank.of);
  note_end(last, rank, begin + piece.size());
}

void OutputQueue::note_end(Block& block, const RankOfAttempt& rank, std::uint64_t end) {
  if (block.ends.size() > most_ends) return;
  const auto known = std::find_if(block.ends.begin(), block.ends.end(),
                                  [&](const auto& entry) { return entry.first == rank; });
  if (known == block.ends.end())
    block.ends.emplace_back(rank, end);
  else
    known->second = end;
}

// Output of forgotten attempts is not needed.
bool OutputQueue::is_known_to_supervisor(const Block& block) const {
  if (block.attempts.empty()) return true;
  if (block.ends.size() > most_ends) return false;
  return std::all_of(block.ends.begin(), block.ends.end(), [&](const auto& entry) {
    const auto rank = ranks_.find(entry.first);
    return rank == ranks_.end() || rank->second.passed >= entry.second;
  });
}

std::shared_ptr<const OutputChunk> OutputQueue::take() {
  while (sent_cost_ < credit_) {
    if (next_block_ == end_of_blocks()) return take_last();
    Block& next = block(next_block_);
    if (next_chunk_ == 0 && is_known_to_supervisor(next) && !is_open(next_block_)) {
      if (last_number_ == 0 && !next.ends.empty()) asks_after_ = next.ends.front().first;
      go_to_next_block();
      continue;
    }
    if (!next.is_in_memory) {
      read_ahead();
      return nullptr;
    }
    if (next_chunk_ < next.chunks.size()) {
      if (auto chunk = take_from(next)) return chunk;
    } else if (is_open(next_block_)) {
      return take_last();
    } else {
      go_to_next_block();
    }
  }
  return nullptr;
}

// Null if the chunk need not be sent.
std::shared_ptr<const OutputChunk> OutputQueue::take_from(Block& from) {
  const std::shared_ptr<OutputChunk>& chunk = from.chunks[next_chunk_];
  const auto known = ranks_.find(source_of(chunk->of, chunk->rank, chunk->stream));
  if (known == ranks_.end()) {
    ++next_chunk_;
    return nullptr;
  }
  Rank& rank = known->second;
  if (chunk->begin > rank.passed) return number(gap_before(*chunk, rank), &from);
  const std::uint64_t end = chunk->begin + chunk->bytes.size();
  ++next_chunk_;
  if (rank.passed >= end) {
    if (last_number_ == 0) asks_after_ = known->first;
    return nullptr;
  }
  const std::uint64_t begin = std::exchange(rank.passed, end);
  if (begin == chunk->begin && !from.is_writing) return number(chunk, &from);
  auto rest = std::make_shared<OutputChunk>(*chunk);
  rest->bytes.erase(0, static_cast<std::size_t>(begin - chunk->begin));
  rest->begin = begin;
  return number(std::move(rest), &from);
}

std::shared_ptr<OutputChunk> OutputQueue::gap_before(const OutputChunk& chunk, Rank& rank) const {
  OutputChunk gap;
  gap.rank = chunk.rank;
  gap.of = chunk.of;
  gap.stream = chunk.stream;
  gap.at = chunk.at;
  gap.begin = std::exchange(rank.passed, chunk.begin);
  gap.dropped = chunk.begin - gap.begin;
  return std::make_shared<OutputChunk>(std::move(gap));
}

// After all chunks. What came on earlier connections is acknowledged together with the first chunk
// of this one, so there has to be at least one.
std::shared_ptr<const OutputChunk> OutputQueue::take_last() {
  if (auto gap = take_last_gap()) return gap;
  const auto rank = asks_after_ ? ranks_.find(*asks_after_) : ranks_.end();
  if (rank == ranks_.end()) return nullptr;
  OutputChunk empty;
  empty.rank = rank->first.rank;
  empty.of = rank->first.of;
  empty.stream = stream_of(rank->first);
  empty.at = now_;
  empty.begin = rank->second.passed;
  return number(std::make_shared<OutputChunk>(std::move(empty)), nullptr);
}

// Dropped output that no chunk follows yet.
std::shared_ptr<const OutputChunk> OutputQueue::take_last_gap() {
  if (!may_have_gaps_ || is_dropping_) return nullptr;
  for (auto& [key, rank] : ranks_) {
    if (rank.passed == rank.end) continue;
    OutputChunk behind;
    behind.rank = key.rank;
    behind.of = key.of;
    behind.stream = stream_of(key);
    behind.at = now_;
    behind.begin = rank.end;
    return number(gap_before(behind, rank), nullptr);
  }
  may_have_gaps_ = false;
  return nullptr;
}

std::shared_ptr<const OutputChunk> OutputQueue::number(std::shared_ptr<OutputChunk> chunk,
                                                       Block* block) {
  chunk->number = ++last_number_;
  asks_after_.reset();
  if (block != nullptr) block->last_number = last_number_;
  last_numbers_[chunk->of] = last_number_;
  sent_cost_ += cost_of(*chunk);
  return chunk;
}

void OutputQueue::go_to_next_block() {
  Block& passed = block(next_block_);
  passed.is_passed = true;
  if (passed.offset && !passed.is_writing) drop_from_memory(passed);
  ++next_block_;
  next_chunk_ = 0;
  read_ahead();
}

bool OutputQueue::acknowledge(std::uint64_t number, std::uint64_t credit, std::uint64_t synced) {
  if (number > last_number_ || synced > number) return false;
  credit_ = std::max(credit_, credit);
  acknowledged_ = std::max(acknowledged_, number);
  synced_ = std::max(synced_, synced);
  release();
  spill();
  look_for_room();
  return true;
}

// What was sent only on earlier connections counts as synced together with the first chunk of this
// one.
bool OutputQueue::is_released(const Block& block, std::uint64_t number) const {
  if (block.attempts.empty()) return true;
  const bool is_passed = block.is_passed || (number == next_block_ && block.is_in_memory &&
                                             next_chunk_ == block.chunks.size());
  return is_passed && synced_ >= std::max<std::uint64_t>(block.last_number, 1);
}

void OutputQueue::release() {
  while (!blocks_.empty() && is_released(blocks_.front(), first_block_)) {
    drop_contents(blocks_.front(), first_block_);
    blocks_.pop_front();
    if (next_block_ == first_block_++) {
      next_block_ = first_block_;
      next_chunk_ = 0;
    }
  }
}

bool OutputQueue::resume(const std::vector<message::OutputPosition>& positions,
                         std::uint64_t credit) {
  for (const message::OutputPosition& at : positions) {
    const auto rank = ranks_.find(RankOfAttempt{at.of, at.rank, at.is_of_metrics});
    if (at.position > (rank == ranks_.end() ? 0 : rank->second.end)) return false;
  }
  for (auto& [key, rank] : ranks_) rank.passed = 0;
  for (const message::OutputPosition& at : positions)
    if (const auto rank = ranks_.find(RankOfAttempt{at.of, at.rank, at.is_of_metrics});
        rank != ranks_.end())
      rank->second.passed = at.position;
  for (Block& each : blocks_) {
    each.is_passed = false;
    each.last_number = 0;
  }
  next_block_ = first_block_;
  next_chunk_ = 0;
  spill_from_ = spill_sent_ = first_block_;
  may_have_gaps_ = true;
  asks_after_.reset();
  last_numbers_.clear();
  last_number_ = acknowledged_ = synced_ = sent_cost_ = 0;
  credit_ = credit;
  return true;
}

void OutputQueue::drop_from_memory(Block& from) {
  if (!from.is_in_memory) return;
  from.is_in_memory = false;
  from.chunks = {};
  memory_ -= from.cost;
}

// Leaves a block to which nothing was ever added.
void OutputQueue::drop_contents(Block& from, std::uint64_t number) {
  drop_from_memory(from);
  give_back(from);
  from.is_in_memory = true;
  from.cost = 0;
  from.ends.clear();
  if (number == next_block_) next_chunk_ = 0;
}

void OutputQueue::clear() {
  for (std::uint64_t number = first_block_; number < end_of_blocks(); ++number)
    drop_contents(block(number), number);
  first_block_ = next_block_ = end_of_blocks();
  next_chunk_ = 0;
  blocks_.clear();
  for (auto& [key, rank] : ranks_) rank.passed = rank.end;
  last_numbers_.clear();
  asks_after_.reset();
  is_full_ = is_dropping_ = may_have_gaps_ = false;
  tails_.clear();
}

void OutputQueue::forget(AttemptId of) {
  std::erase_if(ranks_, [of](const auto& entry) { return entry.first.of == of; });
  std::erase_if(tails_, [of](const auto& entry) { return entry.first.of == of; });
  last_numbers_.erase(of);
  ending_.erase(of);
  for (std::uint64_t number = first_block_; number < end_of_blocks(); ++number)
    if (std::erase(block(number).attempts, of) > 0 && block(number).attempts.empty())
      drop_contents(block(number), number);
  release();
  look_for_room();
}

bool OutputQueue::empty() const {
  for (const auto& [key, rank] : ranks_)
    if (rank.passed != rank.end) return false;
  return std::all_of(last_numbers_.begin(), last_numbers_.end(),
                     [this](const auto& entry) { return entry.second <= acknowledged_; });
}

bool OutputQueue::empty(AttemptId of) const {
  for (auto rank = ranks_.lower_bound({of, 0, false}); rank != ranks_.end() && rank->first.of == of;
       ++rank)
    if (rank->second.passed != rank->second.end) return false;
  const auto last = last_numbers_.find(of);
  return last == last_numbers_.end() || last->second <= acknowledged_;
}

std::uint64_t OutputQueue::kept() const {
  std::uint64_t kept = 0;
  for (const Block& each : blocks_)
    if (each.is_in_memory || each.offset) kept += each.cost;
  return kept;
}

// A hysteresis between full and not full, so that the state changes seldom.
void OutputQueue::look_for_room() {
  if (memory_ >= capacity_) {
    is_full_ = true;
  } else if (memory_ + memory_step_ <= capacity_) {
    is_full_ = is_dropping_ = false;
    while (!tails_.empty()) keep(tails_.begin());
  }
  if (!rule_.drops || !is_out_of_disk() || !is_full_) return;
  is_full_ = false;
  is_dropping_ = true;
}

}  // namespace train
