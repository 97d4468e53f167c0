// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/context/context.hpp"
#include "launcher/context/delivery_window.hpp"
#include "launcher/ports/context_source.hpp"
#include "launcher/ports/timers.hpp"

namespace train {

/// Progress of a context that is being sent.
struct ContextProgress {
  std::size_t hosts = 0;                 ///< hosts being sent it, at least 1
  std::uint64_t least = 0;               ///< bytes that the slowest of them has
  std::optional<std::uint64_t> of = {};  ///< bytes of the packed context, once it is packed
};

/// Delivers a directory to the hosts of a task that lack it. The directory is read while the hosts
/// are connected, packed when the first host asks for it, and sent to each host as far as its
/// window allows.
class ContextDelivery {
 public:
  /// Callbacks come from the loop, never from inside a call, except for `send`.
  struct Hooks {
    std::function<void(const ContextSummary&)> on_named;
    std::function<void(const Error&)> on_failed;
    std::function<void(int host, std::shared_ptr<const std::string> frame)> send;
    /// Progress, reported every now and then if the delivery takes long.
    std::function<void(const ContextProgress&)> on_progress;
  };

  ContextDelivery(Timers& timers, const ContextSource::Open& open, int hosts, Hooks hooks);

  /// Set once `on_named` was called.
  const std::optional<Context>& context() const { return context_; }
  /// A host asks for more: it has taken this many bytes of the packed context, first 0. False if it
  /// was not sent that many.
  bool wanted(int host, std::uint64_t taken);
  /// Nothing more goes to this host, unless it asks again from the beginning.
  void forget(int host) { streams_[static_cast<std::size_t>(host)] = {}; }

 private:
  struct Stream {
    bool is_served = false;   ///< the host has asked, and was not sent everything yet
    std::size_t next = 0;     ///< of the pieces
    std::uint64_t sent = 0;   ///< bytes of the packed context
    std::uint64_t taken = 0;  ///< of those
    DeliveryWindow window = {};
  };
  void serve(int host);
  void report_progress();

  Timers& timers_;
  Hooks hooks_;
  std::optional<Context> context_;
  std::vector<Stream> streams_;
  std::unique_ptr<Subscription> progress_;
  std::unique_ptr<ContextSource> source_;  ///< last: its callbacks use the others
};

}  // namespace train
