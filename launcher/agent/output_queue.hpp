// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "launcher/agent/output_tail.hpp"
#include "launcher/agent/spool.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// Whose output it is, or whose metrics.
struct RankOfAttempt {
  AttemptId of;
  int rank = 0;
  bool is_of_metrics = false;

  auto operator<=>(const RankOfAttempt&) const = default;
};

/// Output of the ranks of one host on its way to the launcher: kept until it is synced there,
/// whatever becomes of the connection and of the launcher, and bounded: in memory, then on the
/// host's disk. "Bounded", "never blocks" and "never loses" exclude each other, so where both are
/// used up, its owner stops reading the ranks' pipes, or, where the user wants that, what comes is
/// dropped: it has positions, and the launcher is told of the gap. The newest of each rank is kept
/// even then, and follows the gap.
///
/// Decides what is written to the disk and read again; its owner carries that out beside its loop,
/// and tells the answers.
class OutputQueue {
 public:
  /// Bytes of memory kept before the queue is full, where it may not use the disk.
  static constexpr std::size_t usual_capacity = 4u << 20;

  explicit OutputQueue(std::size_t capacity = usual_capacity);

  /// What may be kept on the disk. Without this: nothing.
  void set_rule(const SpoolRule& rule);
  /// Appends what a rank printed or reported, in chunks of at most `max_chunk_bytes`; small pieces
  /// are put together while they wait.
  void push(const RankOfAttempt& rank, OutputStream stream, std::string_view bytes, Instant now);
  /// The next chunk to send on this connection, numbered, while there is credit; else null. It is
  /// as it stands until `resume`. One without bytes asks to be acknowledged as synced, together
  /// with all that came on earlier connections.
  std::shared_ptr<const OutputChunk> take();
  /// What was sent on this connection up to `number` is written down, up to `synced` also synced,
  /// and so much may be sent on it in all. A number that was never sent is refused.
  bool acknowledge(std::uint64_t number, std::uint64_t credit, std::uint64_t synced);
  /// There is a new connection: what is kept is sent again, but for what lies before the positions.
  /// A position behind all that the rank has printed is refused.
  bool resume(const std::vector<message::OutputPosition>& positions, std::uint64_t credit);

  /// What is to be done with the file now, in this order.
  std::vector<SpoolWork> take_work();
  void answered(const SpoolAnswer& answer, Instant now);

  /// Forgets everything: nobody is there to read it.
  void clear();
  /// The same for one attempt, of which nothing more is pushed.
  void forget(AttemptId of);
  /// This rank has ended, and all that it had printed was pushed: the last of it is not dropped.
  void keep_last_words_of(AttemptId of, int rank);
  /// The ranks of this attempt are being killed: nothing of what is left in their pipes is dropped,
  /// and no more is to be pushed than that while there is no room.
  void keep_the_rest_of(AttemptId of);

  /// No more is to be pushed. Once full, it is so until there is room for a while.
  bool full() const { return is_full_; }
  /// It is not full, and drops nothing.
  bool has_room() const { return !is_full_ && !is_dropping_; }
  /// It is full, or drops, because there is no room on the disk either.
  bool out_of_room() const { return is_full_ && is_out_of_disk(); }
  /// Bytes that are kept, in memory or on the disk.
  std::uint64_t kept() const;
  /// Nothing waits to be sent, or to be acknowledged as written; the second: of one attempt.
  bool empty() const;
  bool empty(AttemptId of) const;

 private:
  struct Rank {
    std::uint64_t end = 0;     ///< bytes that it has printed
    std::uint64_t passed = 0;  ///< of them, the launcher was sent so many, or has them anyway
  };
  /// Chunks that lie beside each other, in memory, on the disk or in both.
  struct Block {
    SpooledChunks chunks;
    bool is_in_memory = true;
    bool is_writing = false;
    bool is_reading = false;
    bool is_passed = false;  ///< on this connection all of it was sent, or need not be
    std::size_t cost = 0;
    std::optional<std::uint64_t> offset;  ///< on the disk
    std::uint64_t last_number = 0;        ///< of what was sent of it on this connection
    std::vector<AttemptId> attempts;      ///< whose output is in it
    /// Where the last chunk of each rank ends. Of too many ranks, none: it is read to know.
    std::vector<std::pair<RankOfAttempt, std::uint64_t>> ends;
  };

  Block& block(std::uint64_t number) { return blocks_[number - first_block_]; }
  std::uint64_t end_of_blocks() const { return first_block_ + blocks_.size(); }
  bool is_open(std::uint64_t number) const;
  std::size_t append_to_last(const RankOfAttempt& rank, OutputStream stream,
                             std::string_view bytes);
  void append(const RankOfAttempt& rank, OutputStream stream, std::string_view piece,
              std::uint64_t begin, Instant now);
  void note_end(Block& block, const RankOfAttempt& rank, std::uint64_t end);
  void keep(std::map<RankOfAttempt, OutputTail>::iterator tail);
  bool is_known_to_launcher(const Block& block) const;
  std::shared_ptr<const OutputChunk> take_from(Block& block);
  std::shared_ptr<const OutputChunk> take_last();
  std::shared_ptr<const OutputChunk> take_last_gap();
  std::shared_ptr<const OutputChunk> number(std::shared_ptr<OutputChunk> chunk, Block* block);
  std::shared_ptr<OutputChunk> gap_before(const OutputChunk& chunk, Rank& rank) const;
  void pass(Block& block);
  void go_to_next_block();
  void release();
  bool is_released(const Block& block, std::uint64_t number) const;
  void drop_contents(Block& block, std::uint64_t number);
  void drop_from_memory(Block& block);
  void give_back(Block& block);
  // The disk.
  void spill();
  std::optional<std::uint64_t> next_to_spill();
  bool is_to_spill(std::uint64_t number);
  void write(std::uint64_t number);
  void release_room(std::uint64_t offset, std::uint64_t size);
  void read_ahead();
  void may_use_disk_again();
  bool is_out_of_disk() const { return rule_.limit == 0 || is_disk_used_up_; }
  void handle(const spool_answer::Opened& answer);
  void handle(const spool_answer::Written& answer);
  void handle(const spool_answer::Read& answer);
  void look_for_room();

  std::size_t capacity_;
  std::size_t block_cost_;
  std::size_t memory_step_;  ///< what has to become free before more is taken
  std::deque<Block> blocks_;
  std::uint64_t first_block_ = 1;  ///< the number of the first of them
  std::map<RankOfAttempt, Rank> ranks_;
  std::size_t memory_ = 0;  ///< cost of what is in memory
  bool is_full_ = false;
  bool is_dropping_ = false;
  bool may_have_gaps_ = false;  ///< behind all chunks
  std::set<AttemptId> ending_;
  std::map<RankOfAttempt, OutputTail> tails_;  ///< of what is being dropped
  // The next chunk to send.
  std::uint64_t next_block_ = 1;
  std::size_t next_chunk_ = 0;
  // The disk.
  enum class Disk { unused, opening, open };
  Disk disk_ = Disk::unused;
  SpoolRule rule_;
  std::uint64_t limit_ = 0;  ///< of the file, once it is open
  std::uint64_t on_disk_ = 0;
  std::uint64_t next_offset_ = 0;
  std::uint64_t writing_ = 0;     ///< bytes
  bool is_disk_used_up_ = false;  ///< and not enough was given back since
  Instant next_try_{0};           ///< of a disk that refused a write
  std::uint64_t spill_from_ = 1;  ///< blocks before it that were not sent are on the disk
  std::uint64_t spill_sent_ = 1;  ///< blocks before it that were sent are on the disk
  std::vector<SpoolWork> work_;
  spool_work::Release released_;  ///< not asked for yet
  Instant now_{0};
  // Of this connection:
  /// Something of this rank came on an earlier one, and nothing was sent since.
  std::optional<RankOfAttempt> asks_after_;
  std::map<AttemptId, std::uint64_t> last_numbers_;
  std::uint64_t last_number_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t synced_ = 0;
  std::uint64_t sent_cost_ = 0;
  std::uint64_t credit_ = 0;
};

}  // namespace train
