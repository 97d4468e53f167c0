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

/// The files of one task on a host: finds, receives and unpacks its context, and finally keeps or
/// removes it. Every call may block on a disk or a network file system. Calls come one after the
/// other, from any thread but the loop's.
class ContextKeeper {
 public:
  /// `places` come from `cache_places`; `key` is the agent's.
  ContextKeeper(std::vector<std::string> places, std::string key)
      : places_(std::move(places)), key_(std::move(key)) {}

  /// The progress: received bytes of the packed context, and the absolute path of the copy when it
  /// is complete.
  struct Progress {
    std::uint64_t taken = 0;
    std::optional<std::string> copy = {};
  };
  /// Adopts the copy of an earlier agent of the task; or else makes a copy if the packed context is
  /// on the host; or else creates a file to receive it. The error, of class `host`, names every
  /// place. Called once.
  Result<Progress> find(const Context& context);
  /// Takes the next pieces of the packed context; after the last one (context_piece_size) the copy
  /// is made. When a place runs full, the next one is used. After an error, of class `host`, no
  /// more pieces can be taken.
  Result<Progress> take(const std::vector<std::string>& pieces);

  /// Marks copy and program as in use, so that other hosts that share the place do not remove them.
  void touch() const;
  /// Removes old files from all places.
  void tidy() const;
  /// The last call. Without `keep_copy`, all files of the task are removed, except for an adopted
  /// copy.
  void end(bool keep_copy);

  /// Ends a running call early, which makes its result invalid. From any thread.
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
