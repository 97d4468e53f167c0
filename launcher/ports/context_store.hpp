// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// The results of looking for a context. Callbacks come from the event loop, never from inside a
/// call to the store; after `on_ready` or `on_failed` there are no more.
struct ContextEvents {
  /// The context is not on this host: call `take`. Called first with 0, then after each full piece
  /// that was taken, with the number of bytes so far.
  std::function<void(std::uint64_t bytes)> on_taken;
  /// The copy that this task may write to; an absolute path.
  std::function<void(const std::string& directory)> on_ready;
  /// Class `host`.
  std::function<void(const Error& why)> on_failed;
};

/// The contexts kept on a host, for the agent of one task.
class ContextStore {
 public:
  virtual ~ContextStore() = default;
  /// Makes this task's copy of a context, or takes over the one that an earlier agent has made. May
  /// be called again after `on_failed`, or before there is an answer: then the new `events` count,
  /// and the packed context is requested from its beginning if it is still needed.
  virtual void find(const Context& context, ContextEvents events) = 0;
  /// The next piece of the packed context; one of less than `context_piece_size` is the last.
  virtual void take(std::string_view piece) = 0;
  /// The task uses its copy: the copy stays when this object is destroyed; otherwise it is removed.
  virtual void keep() = 0;
  /// The start is over: marks contexts in use, from now on every day, and removes those that have
  /// not been used for long.
  virtual void tidy() = 0;
};

}  // namespace train
