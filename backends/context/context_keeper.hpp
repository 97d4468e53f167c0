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

/// What is done with the files of a host for one task: its context is looked for, received,
/// unpacked and, in the end, kept or removed. Every call may take as long as a disk or a network
/// file system likes; they come one after the other, from any thread that is not the loop's.
class ContextKeeper {
 public:
  /// `places` as `cache_places` gives them; `key` is the agent's.
  ContextKeeper(std::vector<std::string> places, std::string key)
      : places_(std::move(places)), key_(std::move(key)) {}

  /// How far it is: what was taken of the packed context, or the copy of it, absolute.
  struct Progress {
    std::uint64_t taken = 0;
    std::optional<std::string> copy = {};
  };
  /// Makes the copy where the packed context is there; else a file for it. An error of class `host`
  /// names every place. Once.
  Result<Progress> find(const Context& context);
  /// The next pieces of the packed context; after the last one (context_piece_size) there is a
  /// copy. A place that runs full hands over to the next one. An error is of class `host`, and the
  /// end.
  Result<Progress> take(const std::vector<std::string>& pieces);

  /// Copy and program are in use: they are not old, whatever tidies there, on whatever host.
  void touch() const;
  /// Removes what is old from all places.
  void tidy() const;
  /// Nothing more comes. Without `keep_copy` nothing of the task's stays.
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
