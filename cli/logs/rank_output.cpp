// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/rank_output.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/terminal/talk.hpp"
#include "launcher/output/rank_list.hpp"

namespace train {

Result<Tee> parse_tee(const std::string& text, const std::string& flag) {
  if (text == "all") return Tee{};
  if (text == "none") return Tee{.mode = Tee::Mode::none, .ranks = {}};
  constexpr std::string_view prefix = "rank:";
  if (text.starts_with(prefix))
    if (auto ranks = parse_rank_list(std::string_view(text).substr(prefix.size())))
      return Tee{.mode = Tee::Mode::ranks, .ranks = std::move(*ranks)};
  return fail(ErrorClass::usage, fmt::format("{} does not know '{}'", flag, text),
              "use all, none, or a list of ranks: rank:0,4-7");
}

void RankOutput::fold_lines(Timers& timers, std::size_t ranks) {
  timers_ = &timers;
  folder_.emplace(ranks);
}

void RankOutput::look_for_room() {
  if (terminal_.full())
    is_behind_ = true;
  else
    has_room();
}

void RankOutput::add(const OutputChunk& chunk, std::int64_t time_us) {
  look_for_room();
  time_us_ = time_us;
  RankStreams& streams = streams_of(chunk.of.trial, chunk.rank);
  std::string text;
  if (streams.is_shown) text.reserve(chunk.bytes.size() + chunk.bytes.size() / 4);
  LineSplitter& lines = chunk.stream == OutputStream::out ? streams.out : streams.err;
  lines.add(chunk.bytes, [&](std::string_view line) { show(streams, chunk.stream, line, text); });
  pass_on(chunk.stream, std::move(text));
  show_folded();
}

// New output continues an unfinished line.
void RankOutput::remember(int trial, int rank, std::string_view errors) {
  RankStreams& streams = streams_of(trial, rank);
  streams.err.add(errors, [&](std::string_view line) { streams.errors.add(line); });
}

// Reports the skipped lines at their place in the output, so that the next line is not taken for
// their continuation.
void RankOutput::has_room() {
  is_behind_ = false;
  if (not_shown_ > 0) show_all_folded();
  if (const std::uint64_t lines = std::exchange(not_shown_, 0); lines > 0)
    terminal_.write(Terminal::Stream::err,
                    talk_text(terminal_text(
                        "{} line{} of output {} not shown here, because they were read too "
                        "slowly; {} prints everything",
                        lines, lines == 1 ? "" : "s", lines == 1 ? "was" : "were", elsewhere_)));
}

std::string RankOutput::prefix_of(int trial, const std::string& ranks) const {
  return prefix_ == Prefix::trial_and_rank ? fmt::format("[{}/{}] ", trial, ranks)
                                           : fmt::format("[{}] ", ranks);
}

RankOutput::RankStreams& RankOutput::streams_of(int trial, int rank) {
  const auto [found, is_new] = streams_.try_emplace({trial, rank});
  if (is_new) {
    RankStreams& streams = found->second;
    // Trials of one rank each are to each other what ranks of one trial are.
    const bool is_trial = prefix_ == Prefix::trial;
    streams.trial = is_trial ? 0 : trial;
    streams.rank = is_trial ? trial : rank;
    streams.prefix = prefix_of(streams.trial, std::to_string(streams.rank));
    streams.is_shown = tee_.shows(rank);
  }
  return found->second;
}

void RankOutput::end() {
  has_room();  // last lines and the notice about skipped ones are few
  end(streams_.begin(), streams_.end());
}

// There can be many trials, so this one checks for room.
void RankOutput::end(int trial) {
  look_for_room();
  end(streams_.lower_bound({trial, 0}), streams_.lower_bound({trial + 1, 0}));
}

void RankOutput::forget(int trial) {
  streams_.erase(streams_.lower_bound({trial, 0}), streams_.lower_bound({trial + 1, 0}));
}

void RankOutput::end(Streams::iterator first, Streams::iterator last) {
  for (; first != last; ++first) {
    RankStreams& streams = first->second;
    for (const OutputStream stream : {OutputStream::out, OutputStream::err}) {
      std::string text;
      LineSplitter& lines = stream == OutputStream::out ? streams.out : streams.err;
      lines.end([&](std::string_view line) { show(streams, stream, line, text); });
      pass_on(stream, std::move(text));
    }
  }
  show_all_folded();
}

void RankOutput::show(RankStreams& streams, OutputStream stream, std::string_view line,
                      std::string& text) {
  if (stream == OutputStream::err) streams.errors.add(line);
  if (!streams.is_shown) return;
  if (is_behind_) {
    ++not_shown_;
    return;
  }
  if (folder_) {  // lines that look the same are folded
    folder_->add(streams.trial, streams.rank, stream,
                 tee_.raw ? std::string(line) : for_terminal(line), time_us_, now());
    return;
  }
  append_head(text, streams.prefix, time_us_);
  if (tee_.raw)
    text += line;
  else
    append_for_terminal(text, line);
  text += '\n';
}

void RankOutput::append_head(std::string& text, const std::string& prefix, std::int64_t time_us) {
  if (tee_.has_times) {
    times_.append(text, time_us);
    text += ' ';
  }
  text += prefix;
}

LineFolder::Moment RankOutput::now() const {
  return std::chrono::duration_cast<LineFolder::Moment>(timers_->now());
}

// Looks for lines that are due a few times while one is held.
void RankOutput::show_folded() {
  if (!folder_) return;
  show_folded(folder_->take(now()));
  if (folder_->holds_lines() && !next_look_)
    next_look_ = timers_->after(LineFolder::hold / 3, [this] { look(); });
}

void RankOutput::look() {
  next_look_.reset();
  show_folded();
}

void RankOutput::show_all_folded() {
  if (folder_) show_folded(folder_->take_all());
}

void RankOutput::show_folded(const std::vector<FoldedLine>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const FoldedLine& line = lines[i];
    append_head(text, prefix_of(line.trial, rank_list_text(line.ranks)), line.printed_us);
    text.append(line.text).append("\n");
    const bool is_last = i + 1 == lines.size() || lines[i + 1].stream != line.stream;
    if (is_last) pass_on(line.stream, std::exchange(text, {}));
  }
}

void RankOutput::pass_on(OutputStream stream, std::string text) {
  if (text.empty()) return;
  const bool to_stdout = stream == OutputStream::out && !tee_.all_to_stderr;
  terminal_.write(to_stdout ? Terminal::Stream::out : Terminal::Stream::err, std::move(text));
}

std::vector<std::string> RankOutput::rewritten_lines(std::size_t most) const {
  std::vector<std::string> lines;
  for (const auto& [key, streams] : streams_)
    for (const LineSplitter* stream : {&streams.out, &streams.err}) {
      if (lines.size() == most) return lines;
      if (streams.is_shown && stream->rest().find('\r') != std::string_view::npos)
        lines.push_back(streams.prefix + for_terminal(stream->rest()));
    }
  return lines;
}

std::vector<std::string> RankOutput::last_errors(int trial, int rank) const {
  std::vector<std::string> lines;
  if (const auto found = streams_.find({trial, rank}); found != streams_.end())
    for (const std::string& line : found->second.errors.lines())
      lines.push_back(for_terminal(line));
  return lines;
}

}  // namespace train
