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

/// The files of a task in a place of the host: its copy of the context, or a file to receive the
/// packed context, or both after it was received.
struct PlaceHeld {
  HostCache cache;
  std::optional<HostCache::Incoming> incoming = {};
  std::optional<HostCache::Copy> copy = {};
  bool is_adopted = false;  ///< the copy was made by an earlier agent
};

/// Looks for a usable place of the host, in the fixed order of places, so that users know where to
/// find results. Each place is tried at most once.
class PlaceSearch {
 public:
  PlaceSearch(std::vector<std::string> places, Context context, std::string key)
      : places_(std::move(places)), context_(std::move(context)), key_(std::move(key)) {}

  /// The place where an earlier agent of the task has made a copy; else the first usable place:
  /// with a copy if any place has the packed context, else with an empty file for it. None when no
  /// place is usable; `reasons` says why.
  std::optional<PlaceHeld> first(const std::atomic<bool>& cancelled);

  /// The received part of the packed context.
  struct Received {
    int file = -1;
    std::uint64_t bytes = 0;
    bool is_whole = false;
  };
  /// The next usable place, after the last one failed because of `why`: its file has the received
  /// bytes, and there is a copy if these are the whole context. The caller removes its files in the
  /// last place.
  std::optional<PlaceHeld> next(const Received& received, const Error& why,
                                const std::atomic<bool>& cancelled);

  /// Why each tried place is not usable.
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
  std::size_t next_ = 0;                ///< index in `places_`
  std::optional<HostCache> packed_in_;  ///< a place that already has the packed context
  Descriptor packed_;
  std::string reasons_;
};

}  // namespace train
