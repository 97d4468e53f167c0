// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_end.hpp"

#include <functional>
#include <string_view>
#include <utility>

#include "launcher/output/metrics_watch.hpp"

namespace train {

namespace {

OutputChunk chunk_of(int rank, OutputStream stream, std::string bytes) {
  OutputChunk chunk;
  chunk.rank = rank;
  chunk.stream = stream;
  chunk.bytes = std::move(bytes);
  return chunk;
}

OutputChunk gap_of(int rank, OutputStream stream) {
  OutputChunk gap = chunk_of(rank, stream, {});
  gap.dropped = 1;
  return gap;
}

// `is_cut`: the output before this piece is missing, or was not read.
using OnPiece = std::function<void(const LogRecord& record, std::string_view bytes, bool is_cut)>;

// Visits the last `bytes` of a log, from the piece in which they begin; a gap is a piece without
// bytes.
Result<void> for_last_pieces(const LogDirectory& directory, const std::string& log_file,
                             std::uint64_t bytes, const OnPiece& on_piece) {
  if (directory.segments_of(log_file).empty()) return {};
  LogReader reader(directory, log_file);
  if (auto begun = reader.begin_at_last(bytes); !begun) return begun;
  for (std::uint64_t at = 0; true;) {
    const auto next = reader.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) return {};
    const LogRecord record = (*next)->record;
    const auto piece = reader.take();
    if (!piece) return tl::make_unexpected(piece.error());
    // A segment that was removed meanwhile shows as a gap before the next piece.
    if (!*piece) continue;
    on_piece(record, **piece, record.begin != at);
    at = record.end();
  }
}

}  // namespace

Result<std::vector<OutputChunk>> unfinished_report(const LogDirectory& directory,
                                                   const std::string& log_file, int rank) {
  std::string line;
  bool is_lost = false;
  const auto read =
      for_last_pieces(directory, log_file, longest_report_line + 1,
                      [&](const LogRecord& record, std::string_view bytes, bool is_cut) {
                        is_lost = is_lost || is_cut || record.dropped > 0;
                        const std::size_t newline = bytes.rfind('\n');
                        if (newline != bytes.npos) {
                          line.clear();
                          is_lost = false;
                          bytes.remove_prefix(newline + 1);
                        }
                        is_lost = is_lost || line.size() + bytes.size() > longest_report_line;
                        if (!is_lost) line += bytes;
                      });
  if (!read) return tl::make_unexpected(read.error());
  std::vector<OutputChunk> chunks;
  if (is_lost)
    chunks.push_back(gap_of(rank, OutputStream::metrics));
  else if (!line.empty())
    chunks.push_back(chunk_of(rank, OutputStream::metrics, std::move(line)));
  return chunks;
}

Result<std::vector<OutputChunk>> last_printed(const LogDirectory& directory,
                                              const std::string& log_file, int rank,
                                              std::uint64_t bytes) {
  struct Printed {
    OutputStream stream;
    std::string bytes = {};
    bool is_inside_line = false;  ///< whose beginning is missing
  };
  Printed streams[] = {{OutputStream::out}, {OutputStream::err}};
  std::vector<OutputChunk> chunks;
  const auto put = [&] {
    for (Printed& each : streams)
      if (!each.bytes.empty())
        chunks.push_back(chunk_of(rank, each.stream, std::exchange(each.bytes, {})));
  };
  const auto read =
      for_last_pieces(directory, log_file, bytes,
                      [&](const LogRecord& record, std::string_view piece, bool is_cut) {
                        if (is_cut || record.dropped > 0) {
                          put();
                          chunks.push_back(gap_of(rank, OutputStream::out));
                          for (Printed& each : streams) each.is_inside_line = is_cut;
                        }
                        Printed& printed = streams[record.stream == OutputStream::err ? 1 : 0];
                        if (printed.is_inside_line) {
                          const std::size_t newline = piece.find('\n');
                          piece.remove_prefix(newline == piece.npos ? piece.size() : newline + 1);
                          printed.is_inside_line = newline == std::string_view::npos;
                        }
                        printed.bytes += piece;
                      });
  if (!read) return tl::make_unexpected(read.error());
  put();
  return chunks;
}

}  // namespace train
