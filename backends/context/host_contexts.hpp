// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/context/context_keeper.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/ports/context_store.hpp"

namespace train {

/// The contexts of a host in its `HostCache`s, for the agent `key`. When a place runs full while a
/// context comes or is unpacked, the next one takes over. Files are touched on a thread beside the
/// loop only; without a thread nothing is tidied.
class HostContexts final : public ContextStore {
 public:
  /// `places` as `cache_places` gives them.
  HostContexts(Loop& loop, std::vector<std::string> places, std::string key);
  /// Stops the thread in the middle of its work, and has what is not to stay removed. Waits for
  /// that for a few seconds at most: a file system may never answer.
  ~HostContexts() override;
  HostContexts(const HostContexts&) = delete;
  HostContexts& operator=(const HostContexts&) = delete;

  void find(const Context& context, ContextEvents events) override;
  void take(std::string_view piece) override;
  void keep() override;
  void tidy() override;

 private:
  enum class State { searching, receiving, unpacking, over };
  using Progress = ContextKeeper::Progress;

  void start_over();
  void work(std::function<Result<Progress>(ContextKeeper&)> job);
  void progressed(const Result<Progress>& progress);
  void take_waiting();
  void tell_taken();
  void fail_with(const Error& why);
  void touch_daily();

  Loop& loop_;
  const std::vector<std::string> places_;
  const std::string key_;
  ContextEvents events_;
  State state_ = State::searching;
  bool is_working_ = false;
  std::vector<std::string> waiting_;  ///< pieces that came while others are written
  std::uint64_t pending_ = 0;         ///< bytes of those, and of those that are written
  std::uint64_t taken_ = 0;
  std::uint64_t told_ = 0;  ///< of those
  Instant told_at_{0};
  std::unique_ptr<Subscription> telling_;
  bool is_kept_ = false;
  std::unique_ptr<Subscription> touching_;
  std::shared_ptr<HostContexts*> self_ = std::make_shared<HostContexts*>(this);
  std::shared_ptr<ContextKeeper> keeper_;
  bool has_worked_ = false;  ///< the keeper may hold something
  Background background_;    ///< destroyed first, because its results use the other members
};

}  // namespace train
