// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/context/place_search.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// The files of one task on a host: its context is looked for, received, unpacked and, in the end,
/// kept or removed. Every call may block on a disk or a network file system. Calls come one after
/// the other, from any thread but the loop's.
class ContextKeeper {
 public:
  /// `places` as `cache_places` gives them; `key` is the agent's.
  ContextKeeper(std::vector<std::string> places, std::string key)
      : places_(std::move(places)), key_(std::move(key)) {}

  /// How far it is: how many bytes of the packed context came, or the absolute path of the copy.
  struct Progress {
    std::uint64_t taken = 0;
    std::optional<std::string> copy = {};
  };
  /// Takes over the copy of an earlier agent of the task; or makes one where the packed context is
  /// there; else a file for it. An error of class `host`
  /// names every place. Once.
  Result<Progress> find(const Context& context);
  /// Takes the next pieces of the packed context; after the last one (context_piece_size) there is
  /// a copy. When a place runs full, the next one takes over. After an error, of class `host`,
  /// nothing more can be taken.
  Result<Progress> take(const std::vector<std::string>& pieces);

  /// Marks copy and program as in use, so that no host that shares the place finds them old.
  void touch() const;
  /// Removes what is old from all places.
  void tidy() const;
  /// The last call. Without `keep_copy`, everything of the task is removed, but for a copy that was
  /// taken over.
  void end(bool keep_copy);

  /// From any thread: whatever runs ends early, and its result is of no use.
  void cancel() { cancelled_ = true; }

 private:
  Result<void> take_piece(const std::string& piece);
  Result<void> move(const PlaceSearch::Received& received, const Error& why);
  Result<Progress> unpack();
  Result<Progress> finished();
  Error no_place() const;
  void forget();

  const std::vector<std::string> places_;
  const std::string key_;
  Context context_;
  std::optional<PlaceSearch> search_;
  std::optional<PlaceHeld> held_;
  std::uint64_t taken_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace train
