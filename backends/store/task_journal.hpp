// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/event_loop/background.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "launcher/ports/journal.hpp"

namespace train {

/// The journal of a task of this process, in its store: written by a thread beside the loop, one
/// entry after the other. Waits for a locked registry for a minute at most. After an entry that
/// could not be written, no other is written, so that the journal has no gaps.
class TaskJournal final : public Journal {
 public:
  TaskJournal(Loop& loop, std::shared_ptr<SqliteTaskStore> store, std::string task_id);

  void append(std::string entry, bool durable,
              std::function<void(Result<void>)> on_written) override;
  void look(std::function<void()> then) override;
  bool is_displaced() const override { return *is_displaced_; }

 private:
  Loop& loop_;
  std::shared_ptr<SqliteTaskStore> store_;
  std::string task_id_;
  // Written by the thread; the last write happens before the failure is reported to the loop.
  std::shared_ptr<Result<void>> trouble_ = std::make_shared<Result<void>>();
  std::shared_ptr<bool> is_displaced_ = std::make_shared<bool>(false);
  Background background_;
};

}  // namespace train
