// SPDX-License-Identifier: Apache-2.0
#include "cli/context_delivery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/context/context_files.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds first_report{1};
constexpr std::chrono::seconds next_report{10};

}  // namespace

ContextDelivery::ContextDelivery(Loop& loop, const std::string& directory, int hosts, Hooks hooks)
    : loop_(loop),
      hooks_(std::move(hooks)),
      streams_(static_cast<std::size_t>(hosts)),
      packer_(loop, directory, own_output_files(),
              {[this](const ContextSummary& summary) {
                 context_ = summary.context;
                 hooks_.on_named(summary);
               },
               [this](const Error& why) { hooks_.on_failed(why); },
               [this] {
                 for (std::size_t host = 0; host < streams_.size(); ++host)
                   if (streams_[host].is_served) serve(static_cast<int>(host));
               }}) {}

bool ContextDelivery::wanted(int host, std::uint64_t taken) {
  Stream& stream = streams_[static_cast<std::size_t>(host)];
  // Hosts answer for full pieces; more than was sent nobody has taken.
  if (taken > stream.sent || taken % context_piece_size != 0) return false;
  stream.taken = taken;
  stream.window.taken(taken, loop_.now());
  stream.is_served = true;
  if (taken == 0) packer_.pack();
  if (!progress_) progress_ = loop_.after(first_report, [this] { report_progress(); });
  serve(host);
  return true;
}

void ContextDelivery::serve(int host) {
  Stream& stream = streams_[static_cast<std::size_t>(host)];
  const std::vector<ContextPiece>& pieces = packer_.pieces();
  while (stream.is_served && stream.next < pieces.size() && stream.sent < stream.window.end()) {
    const ContextPiece& piece = pieces[stream.next++];
    stream.sent = piece.end;
    stream.window.sent(piece.end, loop_.now());
    stream.is_served = !piece.is_last;
    hooks_.send(host, piece.frame);
  }
}

void ContextDelivery::report_progress() {
  std::uint64_t least = UINT64_MAX;
  std::size_t count = 0;
  for (const Stream& stream : streams_) {
    if (!stream.is_served) continue;
    ++count;
    least = std::min(least, stream.taken);
  }
  if (count == 0) return;  // no host waits any more
  const auto& pieces = packer_.pieces();
  const bool is_packed = !pieces.empty() && pieces.back().is_last;
  hooks_.say(fmt::format("the context is on its way to {} host{}; {} {}{}", count,
                         count == 1 ? "" : "s", count == 1 ? "it has" : "the slowest has",
                         size_text(least), is_packed ? " of " + size_text(pieces.back().end) : ""));
  progress_ = loop_.after(next_report, [this] { report_progress(); });
}

}  // namespace train
