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
/// context is received or unpacked, the next one is used. Files are accessed only on a thread
/// beside the loop; without a thread nothing is tidied.
class HostContexts final : public ContextStore {
 public:
  /// `places` come from `cache_places`.
  HostContexts(Loop& loop, std::vector<std::string> places, std::string key);
  /// Interrupts the work of the thread, and lets it remove the files that are not kept. Waits for
  /// that for 3 s at most: a file system may hang.
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
  void report_taken();
  void fail_with(const Error& why);
  void touch_daily();

  Loop& loop_;
  const std::vector<std::string> places_;
  const std::string key_;
  ContextEvents events_;
  State state_ = State::searching;
  bool is_working_ = false;
  std::vector<std::string> waiting_;  ///< pieces that arrived while others are written
  std::uint64_t pending_ = 0;         ///< bytes of `waiting_` and of the pieces that are written
  std::uint64_t taken_ = 0;
  std::uint64_t told_ = 0;  ///< the part of `taken_` that was reported
  Instant told_at_{0};
  std::unique_ptr<Subscription> telling_;
  bool is_kept_ = false;
  std::unique_ptr<Subscription> touching_;
  std::shared_ptr<HostContexts*> self_ = std::make_shared<HostContexts*>(this);
  std::shared_ptr<ContextKeeper> keeper_;
  bool has_worked_ = false;  ///< the keeper may have files
  Background background_;    ///< destroyed first, because its results use the other members
};

}  // namespace train
