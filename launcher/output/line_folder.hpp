// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "launcher/wire/output_chunk.hpp"

namespace train {

/// A line that one rank or several have printed.
struct FoldedLine {
  int trial = 0;
  OutputStream stream = OutputStream::out;
  std::vector<int> ranks;     ///< in ascending order
  std::int64_t printed_us{};  ///< when the first of them has printed it
  std::string text;

  bool operator==(const FoldedLine&) const = default;
};

/// Folds equal lines that many ranks of a trial print on the same stream at about the same time.
/// Each line is held until all ranks have printed it, or until `hold` has passed; a line of another
/// rank that comes meanwhile joins it. The lines of each rank keep their order: a line never joins
/// one that stands before an earlier line of its rank. No line is lost. When more than a few MiB
/// are held, the oldest lines are passed on early.
class LineFolder {
 public:
  using Moment = std::chrono::microseconds;  ///< on any clock; it may be set back
  static constexpr std::chrono::milliseconds hold{150};
  static constexpr std::size_t most_held = 4u << 20;  ///< bytes, with what is kept for each line

  /// `ranks`: how many ranks can print a line at most; 0: not known.
  explicit LineFolder(std::size_t ranks) : ranks_(ranks) {}

  /// Adds a line that arrives now.
  void add(int trial, int rank, OutputStream stream, std::string text, std::int64_t printed_us,
           Moment now);
  /// The lines that are not held any longer, in order.
  std::vector<FoldedLine> take(Moment now);
  /// The same and all others.
  std::vector<FoldedLine> take_all();
  /// Whether `take_all` would return anything.
  bool holds_lines() const { return !groups_.empty() || !ready_.empty(); }

 private:
  using Key = std::tuple<int, OutputStream, std::string>;  ///< trial, stream and text
  /// The numbers of the groups with this text, in ascending order.
  using Texts = std::map<Key, std::deque<std::uint64_t>>;
  struct Group {
    Texts::iterator text;
    std::vector<int> ranks;
    std::int64_t printed_us = 0;
    Moment since{0};
  };

  bool is_due(const Group& group, Moment now) const;
  void pass_on_first();

  std::size_t ranks_;
  Texts texts_;
  std::deque<Group> groups_;  ///< in the order in which they are passed on
  std::uint64_t first_ = 0;   ///< the number of the first of them
  std::size_t held_ = 0;      ///< bytes
  /// By trial and rank: the lowest number of a group that its next line may join.
  std::map<std::pair<int, int>, std::uint64_t> next_;
  std::vector<FoldedLine> ready_;
};

}  // namespace train
