// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output_tail.hpp"

#include <algorithm>
#include <utility>

namespace train {

void OutputTail::add(OutputStream stream, std::string_view bytes, std::uint64_t begin, Instant at) {
  if (bytes.empty()) return;
  Stream& kept = streams_[stream == OutputStream::err ? 1 : 0];
  if (bytes.size() > least_kept) {
    begin += bytes.size() - least_kept;
    bytes.remove_prefix(bytes.size() - least_kept);
  }
  Piece* const last = kept.pieces.empty() ? nullptr : &kept.pieces.back();
  const bool continues = last != nullptr && last->begin + last->bytes.size() == begin &&
                         last->bytes.size() + bytes.size() <= least_kept;
  if (continues)
    last->bytes += bytes;
  else
    kept.pieces.push_back({stream, begin, std::string(bytes), at});
  kept.bytes += bytes.size();
  while (kept.bytes - kept.pieces.front().bytes.size() >= least_kept ||
         kept.pieces.size() > most_pieces) {
    kept.bytes -= kept.pieces.front().bytes.size();
    kept.pieces.pop_front();
  }
}

std::vector<OutputTail::Piece> OutputTail::take() {
  std::vector<Piece> all;
  for (Stream& kept : streams_) {
    std::move(kept.pieces.begin(), kept.pieces.end(), std::back_inserter(all));
    kept = {};
  }
  std::sort(all.begin(), all.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  return all;
}

}  // namespace train
