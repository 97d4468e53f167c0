// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// What became of a context that was looked for. Callbacks come from the event loop, never from
/// inside a call to the store; after `on_ready` or `on_failed` there are no more.
struct ContextEvents {
  /// It is not on this host: `take` it. Comes first with 0, then again and again, after a full
  /// piece was taken, with the number of bytes so far.
  std::function<void(std::uint64_t bytes)> on_taken;
  /// The copy that this task may write to; absolute.
  std::function<void(const std::string& directory)> on_ready;
  /// Class `host`.
  std::function<void(const Error& why)> on_failed;
};

/// The contexts that a host keeps, for the agent of one task.
class ContextStore {
 public:
  virtual ~ContextStore() = default;
  /// Makes this task's copy of a context, or takes over the one that an earlier agent has made.
  /// Again after `on_failed`, or before there is an answer: then `events` count, and what is still
  /// to come of the packed context is asked for from its beginning.
  virtual void find(const Context& context, ContextEvents events) = 0;
  /// The next piece of the packed context; one of less than `context_piece_size` is the last.
  virtual void take(std::string_view piece) = 0;
  /// The task uses its copy, which stays when this object goes; else it goes too.
  virtual void keep() = 0;
  /// The start is over: there is time to mark what is in use, from now on every day, and to remove
  /// what nobody has used for long.
  virtual void tidy() = 0;
};

}  // namespace train
