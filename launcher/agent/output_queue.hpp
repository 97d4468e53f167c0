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

/// The rank whose output or metrics these are.
struct RankOfAttempt {
  AttemptId of;
  int rank = 0;
  bool is_of_metrics = false;

  auto operator<=>(const RankOfAttempt&) const = default;
};

/// Output of the ranks of one host on its way to the supervisor. It is kept until the supervisor
/// has synced it, whatever happens to the connection or the supervisor. It is bounded: first in
/// memory, then on the host's disk. "Bounded", "never blocks" and "never loses" exclude each other:
/// when both are used up, the owner stops reading the ranks' pipes, or, if the user prefers, new
/// output is dropped. Dropped output still has positions, and the supervisor is told of the gap.
/// The newest output of each rank is kept even then, and is sent after the gap.
///
/// The queue decides what is written to the disk and read back; its owner carries that out outside
/// of the event loop and reports the answers.
class OutputQueue {
 public:
  /// Bytes of memory kept before the queue is full, if it may not use the disk.
  static constexpr std::size_t usual_capacity = 4u << 20;

  explicit OutputQueue(std::size_t capacity = usual_capacity);

  /// Sets how much may be kept on the disk. Without a rule: nothing.
  void set_rule(const SpoolRule& rule);
  /// Appends what a rank printed or reported, in chunks of at most `max_chunk_bytes`. Small pieces
  /// are merged while they wait.
  void push(const RankOfAttempt& rank, OutputStream stream, std::string_view bytes, Instant now);
  /// The next chunk to send on this connection, numbered, while there is credit; else null. The
  /// chunk does not change until `resume`. A chunk without bytes asks the supervisor to acknowledge
  /// as synced what was sent on earlier connections.
  std::shared_ptr<const OutputChunk> take();
  /// The supervisor has written what was sent on this connection up to `number`, and synced it up
  /// to `synced`; `credit` is how much may be sent on this connection in all. A number that was
  /// never sent is refused (false).
  bool acknowledge(std::uint64_t number, std::uint64_t credit, std::uint64_t synced);
  /// A new connection begins: what is kept is sent again, except for what lies before the
  /// positions. A position beyond the rank's output is refused (false).
  bool resume(const std::vector<message::OutputPosition>& positions, std::uint64_t credit);

  /// The work to do on the spool file now, in this order.
  std::vector<SpoolWork> take_work();
  void answered(const SpoolAnswer& answer, Instant now);

  /// Forgets everything: there is no reader any more.
  void clear();
  /// Forgets one attempt, of which no more output is pushed.
  void forget(AttemptId of);
  /// This rank has ended, and all its output was pushed: its last output is not dropped.
  void keep_last_words_of(AttemptId of, int rank);
  /// The ranks of this attempt are being killed: nothing left in their pipes is dropped, and only
  /// that is to be pushed while there is no room.
  void keep_the_rest_of(AttemptId of);

  /// The owner must not push more. A full queue stays full until a part of its memory is free
  /// again.
  bool full() const { return is_full_; }
  /// The queue is neither full nor dropping output.
  bool has_room() const { return !is_full_ && !is_dropping_; }
  /// The queue is full, and there is no room on the disk either.
  bool out_of_room() const { return is_full_ && is_out_of_disk(); }
  /// Bytes kept, in memory or on the disk.
  std::uint64_t kept() const;
  /// All output was sent and acknowledged as written; the second form: of one attempt.
  bool empty() const;
  bool empty(AttemptId of) const;

 private:
  struct Rank {
    std::uint64_t end = 0;  ///< bytes that it has printed
    /// Bytes of it that the supervisor was sent on this connection, or has anyway.
    std::uint64_t passed = 0;
  };
  /// Consecutive chunks: in memory, on the disk, or both.
  struct Block {
    SpooledChunks chunks;
    bool is_in_memory = true;
    bool is_writing = false;
    bool is_reading = false;
    bool is_passed = false;  ///< all of it was sent on this connection, or need not be
    std::size_t cost = 0;
    std::optional<std::uint64_t> offset;  ///< on the disk
    /// Number of the last chunk sent from it on this connection.
    std::uint64_t last_number = 0;
    std::vector<AttemptId> attempts;  ///< whose output is in it
    /// Where the last chunk of each rank ends. With too many ranks it is not recorded, and the
    /// block is read to find out.
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
  bool is_known_to_supervisor(const Block& block) const;
  std::shared_ptr<const OutputChunk> take_from(Block& block);
  std::shared_ptr<const OutputChunk> take_last();
  std::shared_ptr<const OutputChunk> take_last_gap();
  std::shared_ptr<const OutputChunk> number(std::shared_ptr<OutputChunk> chunk, Block* block);
  std::shared_ptr<OutputChunk> gap_before(const OutputChunk& chunk, Rank& rank) const;
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
  void resume_disk();
  bool is_out_of_disk() const { return rule_.limit == 0 || is_disk_used_up_; }
  void handle(const spool_answer::Opened& answer);
  void handle(const spool_answer::Written& answer);
  void handle(const spool_answer::Read& answer);
  void look_for_room();

  std::size_t capacity_;
  std::size_t block_cost_;
  std::size_t memory_step_;  ///< what has to become free before the queue is no longer full
  std::deque<Block> blocks_;
  std::uint64_t first_block_ = 1;  ///< the number of the first of them
  std::map<RankOfAttempt, Rank> ranks_;
  std::size_t memory_ = 0;  ///< cost of what is in memory
  bool is_full_ = false;
  bool is_dropping_ = false;
  bool may_have_gaps_ = false;  ///< behind all chunks
  std::set<AttemptId> ending_;
  /// Newest output of ranks whose output is being dropped.
  std::map<RankOfAttempt, OutputTail> tails_;
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
  bool is_disk_used_up_ = false;  ///< and not enough was freed since
  Instant next_try_{0};           ///< when a disk that refused a write is tried again
  std::uint64_t spill_from_ = 1;  ///< blocks before it that were not sent are on the disk
  std::uint64_t spill_sent_ = 1;  ///< blocks before it that were sent are on the disk
  std::vector<SpoolWork> work_;
  spool_work::Release released_;  ///< not requested yet
  Instant now_{0};
  // Of this connection:
  // Output of this rank came on an earlier connection, and no chunk was sent since.
  std::optional<RankOfAttempt> asks_after_;
  std::map<AttemptId, std::uint64_t> last_numbers_;
  std::uint64_t last_number_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t synced_ = 0;
  std::uint64_t sent_cost_ = 0;
  std::uint64_t credit_ = 0;
};

}  // namespace train
