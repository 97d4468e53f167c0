// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/context_delivery.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace train {

namespace {

constexpr std::chrono::seconds first_report{1};
constexpr std::chrono::seconds next_report{10};

}  // namespace

ContextDelivery::ContextDelivery(Timers& timers, const ContextSource::Open& open, int hosts,
                                 Hooks hooks)
    : timers_(timers), hooks_(std::move(hooks)), streams_(static_cast<std::size_t>(hosts)) {
  source_ = open({[this](const ContextSummary& summary) {
                    context_ = summary.context;
                    hooks_.on_named(summary);
                  },
                  [this](const Error& why) { hooks_.on_failed(why); },
                  [this] {
                    for (std::size_t host = 0; host < streams_.size(); ++host)
                      if (streams_[host].is_served) serve(static_cast<int>(host));
                  }});
}

bool ContextDelivery::wanted(int host, std::uint64_t taken) {
  Stream& stream = streams_[static_cast<std::size_t>(host)];
  // The delivery begins, or begins again for another agent or in another attempt.
  if (taken == 0) stream = Stream{};
  // Hosts acknowledge full pieces; a host cannot have taken more than was sent.
  if (taken > stream.sent || taken % context_piece_size != 0) return false;
  stream.taken = taken;
  stream.window.taken(taken, timers_.now());
  stream.is_served = true;
  if (taken == 0) source_->pack();
  if (!progress_) progress_ = timers_.after(first_report, [this] { report_progress(); });
  serve(host);
  return true;
}

void ContextDelivery::serve(int host) {
  Stream& stream = streams_[static_cast<std::size_t>(host)];
  const std::vector<ContextPiece>& pieces = source_->pieces();
  while (stream.is_served && stream.next < pieces.size() && stream.sent < stream.window.end()) {
    const ContextPiece& piece = pieces[stream.next++];
    stream.sent = piece.end;
    stream.window.sent(piece.end, timers_.now());
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
  const auto& pieces = source_->pieces();
  const bool is_packed = !pieces.empty() && pieces.back().is_last;
  hooks_.on_progress({count, least, is_packed ? std::optional(pieces.back().end) : std::nullopt});
  progress_ = timers_.after(next_report, [this] { report_progress(); });
}

}  // namespace train
