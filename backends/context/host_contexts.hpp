// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/context/host_cache.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/ports/context_store.hpp"

namespace train {

/// The contexts of a host in its `HostCache`s, for the agent `key`. What takes long is done on a
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
  /// What the thread hands over: a copy, or a file to be filled, or neither.
  struct Found {
    std::optional<HostCache> cache;
    std::optional<HostCache::Copy> copy;
    std::optional<HostCache::Incoming> incoming;
    std::string reasons;  ///< what each place said that cannot be used
  };
  using Done = std::function<void(HostContexts&)>;

  void in_background(std::function<Done()> job);
  static Result<Found> serve(const std::string& place, const Context& context,
                             const std::string& key, const std::atomic<bool>& cancelled);
  static Found search(const std::vector<std::string>& places, const Context& context,
                      const std::string& key, const std::atomic<bool>& cancelled);
  void found(Found result);
  void unpack();
  void finished(std::optional<HostCache::Copy> copy);
  void fail_with(const Error& why);
  void touch_daily();

  Loop& loop_;
  const std::vector<std::string> places_;
  const std::string key_;
  Context context_;
  ContextEvents events_;
  std::optional<HostCache> cache_;
  std::optional<HostCache::Incoming> incoming_;
  std::optional<HostCache::Copy> copy_;
  std::uint64_t taken_ = 0;
  bool is_unpacking_ = false;
  bool is_kept_ = false;
  std::unique_ptr<Subscription> touching_;
  Found unheard_;  ///< the thread's, until the loop hears of its end
  std::atomic<bool> cancelled_{false};
  std::thread thread_;
  std::shared_ptr<HostContexts*> self_ = std::make_shared<HostContexts*>(this);
};

}  // namespace train
