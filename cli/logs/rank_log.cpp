// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/rank_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/terminal/talk.hpp"

namespace train {

RankLog::RankLog(const LogDirectory& directory, int rank, std::string file, LineStyle style,
                 std::optional<OutputStream> stream, LineFolder* folder)
    : directory_(&directory),
      rank_(rank),
      file_(std::move(file)),
      reader_(directory, file_),
      style_(style),
      stream_(stream),
      folder_(folder),
      prefix_(fmt::format("[{}] ", rank)) {}

// Searches from the end, in growing steps: usually only the end of a long log is wanted.
Result<void> RankLog::begin_near(const LineChoice& choice) {
  constexpr std::uint64_t first_look = 4u << 10;
  constexpr std::uint64_t growth = 4;
  if (!choice.since_us && !choice.last) return {};
  for (std::uint64_t bytes = first_look;; bytes *= growth) {
    const auto enough = has_enough(bytes, choice);
    if (!enough) return tl::make_unexpected(enough.error());
    if (*enough) return reader_.begin_at_last(bytes);
  }
}

// Whether the last `bytes` contain all lines of the choice, or are the whole log.
Result<bool> RankLog::has_enough(std::uint64_t bytes, const LineChoice& choice) const {
  RankLog end(*directory_, rank_, file_, style_, stream_);
  if (auto begun = end.reader_.begin_at_last(bytes); !begun)
    return tl::make_unexpected(begun.error());
  const auto first = end.reader_.peek();  // of either stream
  if (!first) return tl::make_unexpected(first.error());
  const auto segments = directory_->segments_of(file_);
  if (!*first || segments.empty() || (*first)->record.begin <= segments.front()) return true;
  if (choice.since_us && (*first)->record.time_us < *choice.since_us)
    if (auto whole = has_whole_lines(bytes, *choice.since_us); !whole || *whole) return whole;
  if (!choice.last) return false;
  // Two more: the first line of each stream may have begun before.
  const std::uint64_t wanted = *choice.last + 2;
  LineGate gate(choice.since_us, LineGate::skip_all);
  std::string nothing;
  while (gate.count() < wanted) {
    const auto next = end.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) return false;
    if (auto read = end.append_next(**next, gate, nothing); !read)
      return tl::make_unexpected(read.error());
  }
  return true;
}

// Whether all lines that ended at or after `since_us` begin within the last `bytes`, that is,
// whether a line of the same stream ends there before them. Stops after 4 MiB of younger records: a
// stream may have no earlier line.
Result<bool> RankLog::has_whole_lines(std::uint64_t bytes, std::int64_t since_us) const {
  constexpr std::uint64_t most_looked_back = 4u << 20;
  RankLog end(*directory_, rank_, file_, style_, stream_);
  if (auto begun = end.reader_.begin_at_last(bytes); !begun)
    return tl::make_unexpected(begun.error());
  std::optional<std::uint64_t> begin;
  // Whether a line of the stream has ended. An unwanted stream counts as ended; for raw bytes both
  // streams are one.
  bool out_has_ended = stream_ == OutputStream::err && !style_.is_bytes;
  bool err_has_ended = stream_ == OutputStream::out || style_.is_bytes;
  while (!out_has_ended || !err_has_ended) {
    const auto next = end.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) break;
    const LogRecord record = (*next)->record;
    if (!begin) begin = record.begin;
    const bool is_err = record.stream == OutputStream::err;
    bool& has_ended = is_err && !style_.is_bytes ? err_has_ended : out_has_ended;
    if (record.time_us >= since_us && record.begin - *begin >= most_looked_back) break;
    if (!has_ended && record.time_us >= since_us) return false;
    if (has_ended) {
      end.reader_.pass();
      continue;
    }
    const auto text = end.reader_.take();
    if (!text) return tl::make_unexpected(text.error());
    if (*text && (*text)->find('\n') != std::string_view::npos) has_ended = true;
  }
  return true;
}

Result<std::optional<LogReader::Next>> RankLog::peek() {
  while (true) {
    auto next = reader_.peek();
    const bool is_of_other_stream = next && *next && stream_ && (*next)->record.dropped == 0 &&
                                    (*next)->record.stream != *stream_;
    if (!is_of_other_stream) return next;
    reader_.pass();
  }
}

Result<void> RankLog::append_next(const LogReader::Next& next, LineGate& gate, std::string& text) {
  const auto bytes = reader_.take();
  if (!bytes) return tl::make_unexpected(bytes.error());
  if (!*bytes) return {};
  const std::int64_t time_us = next.record.time_us;
  if (next.gap > 0)
    append_gap(fmt::format("{} bytes of output are not kept", next.gap), time_us, gate, text);
  last_time_us_ = time_us;
  if (next.record.dropped > 0) {
    append_gap(fmt::format("{} bytes of output were dropped for want of room", next.record.dropped),
               time_us, gate, text);
    return {};
  }
  if (style_.is_bytes) {
    append_bytes(**bytes, time_us, gate, text);
    return {};
  }
  LineSplitter& lines = next.record.stream == OutputStream::out ? out_ : err_;
  lines.add(**bytes, [&](std::string_view line) { append_line(line, time_us, gate, text); });
  return {};
}

void RankLog::append_line(std::string_view line, std::int64_t time_us, LineGate& gate,
                          std::string& text) {
  if (gate.pass(time_us)) put(line, time_us, text);
}

void RankLog::put(std::string_view line, std::int64_t time_us, std::string& text) {
  if (folder_ != nullptr) {
    folder_->add(0, rank_, OutputStream::out, for_terminal(line), time_us,
                 LineFolder::Moment(time_us));
    return;
  }
  if (style_.has_times) {
    times_.append(text, time_us);
    text += ' ';
  }
  text += prefix_;
  append_for_terminal(text, line);
  text += '\n';
}

void RankLog::append_rewritten(std::vector<std::string>& lines) const {
  for (const LineSplitter* stream : {&out_, &err_})
    if (stream->rest().find('\r') != std::string_view::npos)
      lines.push_back(prefix_ + for_terminal(stream->rest()));
}

// Holds a line back until it is known whether it passes; after the first line that passes, nothing
// is held back.
void RankLog::append_bytes(std::string_view bytes, std::int64_t time_us, LineGate& gate,
                           std::string& text) {
  constexpr std::size_t most_held = 64u << 10;
  while (!is_passing_ && !bytes.empty()) {
    if (gate.is_open(time_us)) break;
    const std::size_t newline = bytes.find('\n');
    has_begun_ = newline == bytes.npos;
    if (has_begun_) {
      begun_ += bytes;
      if (begun_.size() > most_held) begun_.erase(0, begun_.size() - most_held);
      return;
    }
    (void)gate.pass(time_us);  // only counts the line: the gate is closed, so it does not pass
    begun_.clear();
    bytes.remove_prefix(newline + 1);
  }
  if (bytes.empty()) return;
  is_passing_ = true;
  has_begun_ = false;
  text += std::exchange(begun_, {});
  text += bytes;
}

void RankLog::append_end(LineGate& gate, std::string& text) {
  for (LineSplitter* lines : {&out_, &err_})
    lines->end([&](std::string_view line) { append_line(line, last_time_us_, gate, text); });
  if (!std::exchange(has_begun_, false)) return;
  if (gate.pass(last_time_us_)) text += begun_;
  begun_.clear();
}

void RankLog::append_gap(const std::string& said, std::int64_t time_us, LineGate& gate,
                         std::string& text) {
  for (LineSplitter* lines : {&out_, &err_})
    lines->end([&](std::string_view line) { append_line(line, last_time_us_, gate, text); });
  if (!is_passing_ && !gate.is_open(time_us)) return;
  if (style_.is_bytes) {
    talk(terminal_text("rank {}: {} here", rank_, said));
    return;
  }
  put(fmt::format("... {} ...", said), time_us, text);
}

}  // namespace train
