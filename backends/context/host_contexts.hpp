// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/context/place_search.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/ports/context_store.hpp"

namespace train {

/// The contexts of a host in its `HostCache`s, for the agent `key`. A place that runs full while a
/// context comes, or while it is unpacked, hands over to the next one. What takes long is done on a
/// thread of its own, with all signals blocked.
class HostContexts final : public ContextStore {
 public:
  /// `places` as `cache_places` gives them.
  HostContexts(Loop& loop, std::vector<std::string> places, std::string key);
  /// Ends the thread, in the middle of what it does, and removes what is not to stay.
  ~HostContexts() override;
  HostContexts(const HostContexts&) = delete;
  HostContexts& operator=(const HostContexts&) = delete;

  void find(const Context& context, ContextEvents events) override;
  void take(std::string_view piece) override;
  void keep() override;
  void tidy() override;

 private:
  /// moving: to the next place, with what was received
  enum class State { searching, receiving, moving, unpacking, over };
  using Done = std::function<void(HostContexts&)>;

  Result<void> in_background(std::function<Done()> job);
  void in_background_or_fail(std::function<Done()> job);
  void found();
  void receive(std::string_view piece);
  void tell_taken();
  void move(const Error& why);
  void moved();
  void unpack();
  void finished();
  void fail_with(const Error& why);
  Error no_place() const;
  void forget(PlaceHeld& held) const;
  void touch_daily();

  Loop& loop_;
  const std::vector<std::string> places_;
  const std::string key_;
  Context context_;
  ContextEvents events_;
  State state_ = State::searching;
  std::optional<PlaceSearch> search_;
  std::optional<PlaceHeld> held_;
  std::uint64_t taken_ = 0;
  std::uint64_t told_ = 0;  ///< of those
  Instant told_at_{0};
  std::unique_ptr<Subscription> telling_;
  std::deque<std::string> waiting_;  ///< pieces that came while moving
  std::uint64_t waiting_bytes_ = 0;
  bool is_kept_ = false;
  std::unique_ptr<Subscription> touching_;
  std::optional<PlaceHeld> unheard_;  ///< the thread's, until the loop hears of its end
  std::atomic<bool> cancelled_{false};
  std::thread thread_;
  std::shared_ptr<HostContexts*> self_ = std::make_shared<HostContexts*>(this);
};

}  // namespace train
