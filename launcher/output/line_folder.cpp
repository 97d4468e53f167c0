// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_folder.hpp"

#include <algorithm>

namespace train {

namespace {

// What is kept for a line beside its text, about.
constexpr std::size_t bytes_of_group = 256;

std::size_t size_of(const std::string& text, std::size_t ranks) {
  return text.size() + bytes_of_group + ranks * sizeof(int);
}

}  // namespace

void LineFolder::add(int trial, int rank, OutputStream stream, std::string text,
                     std::int64_t printed_us, Moment now) {
  while (!groups_.empty() && is_due(groups_.front(), now)) pass_on_first();
  const auto known = texts_.try_emplace(Key(trial, stream, std::move(text))).first;
  std::deque<std::uint64_t>& numbers = known->second;
  std::uint64_t& next = next_[{trial, rank}];
  const auto joined = std::lower_bound(numbers.begin(), numbers.end(), next);
  if (joined != numbers.end()) {
    next = *joined + 1;
    groups_[*joined - first_].ranks.push_back(rank);
    held_ += sizeof(int);
  } else {
    numbers.push_back(first_ + groups_.size());
    next = numbers.back() + 1;
    groups_.push_back({known, {rank}, printed_us, now});
    held_ += size_of(std::get<std::string>(known->first), 1);
  }
  while (held_ > most_held) pass_on_first();
}

std::vector<FoldedLine> LineFolder::take(Moment now) {
  while (!groups_.empty() && is_due(groups_.front(), now)) pass_on_first();
  return std::exchange(ready_, {});
}

std::vector<FoldedLine> LineFolder::take_all() {
  while (!groups_.empty()) pass_on_first();
  return std::exchange(ready_, {});
}

// A clock that was set back says nothing about how long a line was held.
bool LineFolder::is_due(const Group& group, Moment now) const {
  return group.ranks.size() == ranks_ || now - group.since >= hold || group.since - now >= hold;
}

void LineFolder::pass_on_first() {
  Group& group = groups_.front();
  const auto& [trial, stream, text] = group.text->first;
  held_ -= size_of(text, group.ranks.size());
  std::sort(group.ranks.begin(), group.ranks.end());
  ready_.push_back({trial, stream, std::move(group.ranks), group.printed_us, text});
  group.text->second.pop_front();
  if (group.text->second.empty()) texts_.erase(group.text);
  groups_.pop_front();
  ++first_;
  if (groups_.empty()) next_.clear();  // no line can be joined, whatever a rank has printed
}

}  // namespace train
