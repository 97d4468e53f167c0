// SPDX-License-Identifier: Apache-2.0
// Which blocks of the output queue are on the disk, and when they are read back.
#include <algorithm>
#include <utility>

#include "launcher/agent/output_queue.hpp"

namespace train {

namespace {

// Whole pages, so that each block's room can be freed separately.
constexpr std::uint64_t page = 4u << 10;
// This many blocks ahead of the next one are read into memory before their turn.
constexpr std::uint64_t blocks_ahead = 4;
constexpr std::uint64_t most_writing = 1u << 20;
constexpr std::uint64_t released_together = 4u << 20;
// How often a disk without room is tried again.
constexpr nanoseconds try_again = std::chrono::seconds(10);

std::uint64_t slot_of(std::size_t cost) { return (cost + page - 1) / page * page; }

}  // namespace

void OutputQueue::set_rule(const SpoolRule& rule) { rule_ = rule; }

std::vector<SpoolWork> OutputQueue::take_work() { return std::exchange(work_, {}); }

void OutputQueue::answered(const SpoolAnswer& answer, Instant now) {
  now_ = std::max(now_, now);
  std::visit([this](const auto& a) { handle(a); }, answer);
  release();
  spill();
  look_for_room();
}

// Half of the memory is reserved for new output and for the next output to send.
void OutputQueue::spill() {
  if (rule_.limit == 0 || memory_ - writing_ <= capacity_ / 2 || disk_ == Disk::opening) return;
  if (disk_ == Disk::unused) {
    disk_ = Disk::opening;
    work_.emplace_back(spool_work::Open{rule_.limit});
    return;
  }
  resume_disk();
  while (!is_disk_used_up_ && memory_ - writing_ > capacity_ / 2 && writing_ < most_writing) {
    const auto number = next_to_spill();
    if (!number) return;
    if (on_disk_ + slot_of(block(*number).cost) > limit_)
      is_disk_used_up_ = true;
    else
      write(*number);
  }
}

// Once the disk is used up, a part of it has to be free again, so that the reported state changes
// seldom.
void OutputQueue::resume_disk() {
  if (limit_ > 0 && now_ >= next_try_ && on_disk_ <= limit_ - limit_ / 8) is_disk_used_up_ = false;
}

// Sent blocks are needed again only after a new connection, so they go first; then the blocks that
// are sent last.
std::optional<std::uint64_t> OutputQueue::next_to_spill() {
  for (spill_sent_ = std::max(spill_sent_, first_block_); spill_sent_ < next_block_; ++spill_sent_)
    if (is_to_spill(spill_sent_)) return spill_sent_;
  spill_from_ = std::max(spill_from_, next_block_ + blocks_ahead);
  for (; spill_from_ < end_of_blocks() && !is_open(spill_from_); ++spill_from_)
    if (is_to_spill(spill_from_)) return spill_from_;
  return std::nullopt;
}

bool OutputQueue::is_to_spill(std::uint64_t number) {
  const Block& candidate = block(number);
  return candidate.is_in_memory && !candidate.offset && !candidate.chunks.empty();
}

void OutputQueue::write(std::uint64_t number) {
  Block& to_write = block(number);
  const std::uint64_t size = slot_of(to_write.cost);
  to_write.offset = next_offset_;
  to_write.is_writing = true;
  writing_ += to_write.cost;
  on_disk_ += size;
  next_offset_ += size;
  work_.emplace_back(spool_work::Write{number, *to_write.offset, size, to_write.chunks});
}

void OutputQueue::give_back(Block& from) {
  if (!from.offset) return;
  const std::uint64_t size = slot_of(from.cost);
  on_disk_ -= size;
  if (on_disk_ > 0) {
    release_room(*from.offset, size);
  } else {
    work_.emplace_back(spool_work::Clear{});
    next_offset_ = 0;
    released_ = {};
  }
  from.offset.reset();
  from.is_reading = false;
  if (std::exchange(from.is_writing, false)) writing_ -= from.cost;
}

// Each release takes the file system about as long as reading a block, so adjacent blocks are
// released together.
void OutputQueue::release_room(std::uint64_t offset, std::uint64_t size) {
  if (released_.size > 0 && released_.offset + released_.size != offset)
    work_.emplace_back(std::exchange(released_, {}));
  if (released_.size == 0) released_.offset = offset;
  released_.size += size;
  if (released_.size >= std::min(released_together, limit_ / 16))
    work_.emplace_back(std::exchange(released_, {}));
}

void OutputQueue::read_ahead() {
  const std::uint64_t end = std::min(end_of_blocks(), next_block_ + blocks_ahead);
  for (std::uint64_t number = next_block_; number < end; ++number) {
    Block& wanted = block(number);
    if (wanted.is_in_memory || wanted.is_reading || is_known_to_supervisor(wanted)) continue;
    // The next block is read even if there is no memory for it; otherwise the queue would be stuck.
    if (number > next_block_ && memory_ >= capacity_) return;
    wanted.is_reading = true;
    work_.emplace_back(spool_work::Read{number, *wanted.offset, slot_of(wanted.cost)});
  }
}

void OutputQueue::handle(const spool_answer::Opened& answer) {
  disk_ = Disk::open;
  limit_ = std::min(rule_.limit, answer.limit);
  is_disk_used_up_ = limit_ == 0;
}

void OutputQueue::handle(const spool_answer::Written& answer) {
  if (answer.block < first_block_ || answer.block >= end_of_blocks()) return;
  Block& written = block(answer.block);
  if (!written.is_writing) return;
  written.is_writing = false;
  writing_ -= written.cost;
  if (answer.is_kept) {
    if (written.is_passed || answer.block >= next_block_ + blocks_ahead) drop_from_memory(written);
    return;
  }
  give_back(written);
  is_disk_used_up_ = true;
  next_try_ = now_ + try_again;
  spill_sent_ = std::min(spill_sent_, answer.block);
  spill_from_ = std::min(spill_from_, answer.block);
}

// A block that cannot be read back becomes a gap in the output.
void OutputQueue::handle(const spool_answer::Read& answer) {
  if (answer.block < first_block_ || answer.block >= end_of_blocks()) return;
  Block& read = block(answer.block);
  if (!read.is_reading) return;
  read.is_reading = false;
  if (!answer.is_whole) {
    may_have_gaps_ = true;
    return drop_contents(read, answer.block);
  }
  read.chunks = answer.chunks;
  read.is_in_memory = true;
  memory_ += read.cost;
}

}  // namespace train
