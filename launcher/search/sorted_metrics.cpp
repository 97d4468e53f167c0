// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/sorted_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace train {

namespace {

constexpr std::size_t longest_chunk = 1024;

// The first chunk whose last element is not before the metric.
template <class Iterator>
Iterator chunk_of(Iterator begin, Iterator end, double metric) {
  return std::partition_point(begin, end, [&](const auto& chunk) { return chunk.back() < metric; });
}

}  // namespace

std::size_t SortedMetrics::insert(double metric) {
  if (std::isnan(metric)) {
    ++nans_;
    return size() - 1;
  }
  ++numbers_;
  if (chunks_.empty()) chunks_.emplace_back();
  auto chunk = chunks_.begin();
  if (!chunk->empty()) chunk = chunk_of(chunks_.begin(), chunks_.end(), metric);
  if (chunk == chunks_.end()) --chunk;
  std::size_t position = 0;
  for (auto before = chunks_.begin(); before != chunk; ++before) position += before->size();
  const auto place = std::lower_bound(chunk->begin(), chunk->end(), metric);
  position += static_cast<std::size_t>(place - chunk->begin());
  chunk->insert(place, metric);
  if (chunk->size() > longest_chunk) {
    const auto middle = chunk->begin() + longest_chunk / 2;
    std::vector<double> upper(middle, chunk->end());
    chunk->erase(middle, chunk->end());
    chunks_.insert(chunk + 1, std::move(upper));
  }
  return position;
}

bool SortedMetrics::append(double metric) {
  if (std::isnan(metric)) {
    ++nans_;
    return true;
  }
  if (nans_ > 0 || (!chunks_.empty() && metric < chunks_.back().back())) return false;
  if (chunks_.empty() || chunks_.back().size() >= longest_chunk) chunks_.emplace_back();
  chunks_.back().push_back(metric);
  ++numbers_;
  return true;
}

void SortedMetrics::remove(double metric) {
  if (std::isnan(metric)) {
    if (nans_ > 0) --nans_;
    return;
  }
  const auto chunk = chunk_of(chunks_.begin(), chunks_.end(), metric);
  if (chunk == chunks_.end()) return;
  const auto place = std::lower_bound(chunk->begin(), chunk->end(), metric);
  if (place == chunk->end() || *place != metric) return;
  chunk->erase(place);
  --numbers_;
  if (chunk->empty()) chunks_.erase(chunk);
}

double SortedMetrics::at(std::size_t position) const {
  for (const auto& chunk : chunks_) {
    if (position < chunk.size()) return chunk[position];
    position -= chunk.size();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> SortedMetrics::all() const {
  std::vector<double> all;
  for (const auto& chunk : chunks_) all.insert(all.end(), chunk.begin(), chunk.end());
  all.insert(all.end(), nans_, std::numeric_limits<double>::quiet_NaN());
  return all;
}

}  // namespace train
