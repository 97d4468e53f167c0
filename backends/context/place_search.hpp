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
  bool is_adopted = false;  ///< the copy is an earlier agent's
};

/// Looks for a place of the host that can be used, in the fixed order of places, so that users know
/// where to look for results. Each place is tried once at most.
class PlaceSearch {
 public:
  PlaceSearch(std::vector<std::string> places, Context context, std::string key)
      : places_(std::move(places)), context_(std::move(context)), key_(std::move(key)) {}

  /// The place where an earlier agent of the task has made a copy; else the first place that can be
  /// used: with a copy when any place has the packed context, else with an empty file for it. None
  /// when no place can be used; `reasons` says why.
  std::optional<PlaceHeld> first(const std::atomic<bool>& cancelled);

  /// What has come of the packed context so far.
  struct Received {
    int file = -1;
    std::uint64_t bytes = 0;
    bool is_whole = false;
  };
  /// The next place that can be used, after the last one failed because of `why`: with what was
  /// received in its file, and with a copy when that is the whole context. The caller drops what it
  /// held in the last place.
  std::optional<PlaceHeld> next(const Received& received, const Error& why,
                                const std::atomic<bool>& cancelled);

  /// Why each place that was tried cannot be used.
  const std::string& reasons() const { return reasons_; }

 private:
  std::optional<PlaceHeld> search(const Received& received, const std::atomic<bool>& cancelled);
  Result<PlaceHeld> serve(const std::string& place, const Received& received,
                          const std::atomic<bool>& cancelled);
  Result<std::optional<HostCache::Copy>> copy_packed(const HostCache& cache,
                                                     const std::atomic<bool>& cancelled);
  std::optional<PlaceHeld> find_copy() const;
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
