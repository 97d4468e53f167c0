// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// What is known of a context once it was read.
struct ContextSummary {
  Context context;
  std::size_t files = 0;
  std::uint64_t bytes = 0;            ///< of all files
  std::vector<std::string> warnings;  ///< a line each
};

/// A piece of the packed context, as a frame that is shared by all hosts.
struct ContextPiece {
  std::shared_ptr<const std::string> frame;
  std::uint64_t end = 0;  ///< bytes of the packed context up to its end
  bool is_last = false;
};

/// The directory that every host needs. It is read at once, and packed when a host lacks it.
class ContextSource {
 public:
  /// Callbacks come from the event loop, never from inside a call, and never after the source is
  /// destroyed.
  struct Events {
    std::function<void(const ContextSummary&)> on_named;
    std::function<void(const Error&)> on_failed;  ///< instead of `on_named`
    std::function<void()> on_piece;               ///< `pieces` has one more
  };
  using Open = std::function<std::unique_ptr<ContextSource>(Events events)>;

  virtual ~ContextSource() = default;
  /// Starts making the pieces, which come in order. Only after `on_named`; a repeated call has no
  /// effect.
  virtual void pack() = 0;
  virtual const std::vector<ContextPiece>& pieces() const = 0;
};

}  // namespace train
