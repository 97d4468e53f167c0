// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/context/host_cache.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// What a place of the host holds for a task: its copy of the context, or else a file for the
/// packed one that is to come, or both once it came.
struct PlaceHeld {
  HostCache cache;
  std::optional<HostCache::Incoming> incoming = {};
  std::optional<HostCache::Copy> copy = {};
};

/// Looks for a place of the host that serves a task, best first whatever is in the others: users
/// know where to look for results. Each place is tried once at most.
class PlaceSearch {
 public:
  PlaceSearch(std::vector<std::string> places, Context context, std::string key)
      : places_(std::move(places)), context_(std::move(context)), key_(std::move(key)) {}

  /// The first place that serves: with a copy where any place has the packed context, else with an
  /// empty file for it. None when no place does; `reasons` says why.
  std::optional<PlaceHeld> first(const std::atomic<bool>& cancelled);

  /// Of the packed context, what has come so far.
  struct Received {
    int file = -1;
    std::uint64_t bytes = 0;
    bool is_whole = false;
  };
  /// The next place that serves, after the last one could not go on because of `why`: with what was
  /// received in its file, and with a copy when that is the whole context. What the last place held
  /// is the caller's to forget.
  std::optional<PlaceHeld> next(const Received& received, const Error& why,
                                const std::atomic<bool>& cancelled);

  /// What every place said that was tried and does not serve.
  const std::string& reasons() const { return reasons_; }

 private:
  std::optional<PlaceHeld> search(const Received& received, const std::atomic<bool>& cancelled);
  Result<PlaceHeld> serve(const std::string& place, const Received& received,
                          const std::atomic<bool>& cancelled);
  Result<std::optional<HostCache::Copy>> copy_packed(const HostCache& cache,
                                                     const std::atomic<bool>& cancelled);
  void find_packed();
  void note(const Error& why);

  const std::vector<std::string> places_;
  const Context context_;
  const std::string key_;
  std::size_t next_ = 0;                ///< of the places
  std::optional<HostCache> packed_in_;  ///< a place that has the packed context already
  Descriptor packed_;
  std::string reasons_;
};

}  // namespace train
