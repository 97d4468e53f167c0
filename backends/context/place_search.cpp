// SPDX-License-Identifier: Apache-2.0
#include "backends/context/place_search.hpp"

#include <utility>

namespace train {

std::optional<PlaceHeld> PlaceSearch::first(const std::atomic<bool>& cancelled) {
  if (auto held = find_copy()) return held;
  find_packed();
  return search({}, cancelled);
}

// The ranks resume with the results of the previous attempt, in whichever place they are.
std::optional<PlaceHeld> PlaceSearch::find_copy() const {
  for (const std::string& place : places_) {
    auto cache = HostCache::open(place, HostCache::Make::nothing);
    if (!cache || cache->runs() < 0) continue;
    if (auto copy = cache->adopt(key_))
      return PlaceHeld{std::move(*cache), std::nullopt, std::move(copy), true};
  }
  return std::nullopt;
}

std::optional<PlaceHeld> PlaceSearch::next(const Received& received, const Error& why,
                                           const std::atomic<bool>& cancelled) {
  note(why);
  return search(received, cancelled);
}

std::optional<PlaceHeld> PlaceSearch::search(const Received& received,
                                             const std::atomic<bool>& cancelled) {
  while (next_ < places_.size() && !cancelled) {
    auto held = serve(places_[next_++], received, cancelled);
    if (held) return std::move(*held);
    note(held.error());
  }
  return std::nullopt;
}

// Looks in all places: a later one may have it, from a time when a better one was full.
void PlaceSearch::find_packed() {
  for (const std::string& place : places_) {
    auto cache = HostCache::open(place, HostCache::Make::nothing);
    if (cache) packed_ = cache->find(context_);
    if (!packed_) continue;
    packed_in_ = std::move(*cache);
    return;
  }
}

// Nothing when the packed context is missing or damaged; a damaged one is removed, and received
// again.
Result<std::optional<HostCache::Copy>> PlaceSearch::copy_packed(
    const HostCache& cache, const std::atomic<bool>& cancelled) {
  if (!packed_) return std::nullopt;
  auto copy = cache.copy(packed_.get(), context_, key_, cancelled);
  if (copy && !*copy) {
    packed_in_->remove(context_);
    packed_.reset();
  }
  return copy;
}

Result<PlaceHeld> PlaceSearch::serve(const std::string& place, const Received& received,
                                     const std::atomic<bool>& cancelled) {
  auto cache = HostCache::open(place);
  if (!cache) return tl::make_unexpected(cache.error());
  auto copy = copy_packed(*cache, cancelled);
  if (!copy) return tl::make_unexpected(copy.error());
  if (*copy) return PlaceHeld{std::move(*cache), std::nullopt, std::move(*copy)};
  auto incoming = cache->begin(context_);
  if (!incoming) return tl::make_unexpected(incoming.error());
  auto filled = cache->fill(*incoming, received.file, received.bytes, cancelled);
  if (filled && received.is_whole) {
    copy = cache->copy(incoming->file.get(), context_, key_, cancelled);
    if (!copy) filled = tl::make_unexpected(copy.error());
  }
  if (!filled) {
    cache->forget(*incoming);
    return tl::make_unexpected(filled.error());
  }
  return PlaceHeld{std::move(*cache), std::move(*incoming), std::move(*copy)};
}

void PlaceSearch::note(const Error& why) {
  if (!reasons_.empty()) reasons_ += "; ";
  reasons_ += why.diagnostics.front().message;
}

}  // namespace train
