// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_journal.hpp"

#include <utility>

namespace train {

namespace {

// Each try waits up to 5 s for the lock of the registry.
constexpr int most_tries = 12;

// Retries while the registry is locked, which does not last; an entry that another launcher has
// taken is not retried.
Result<void> append_patiently(SqliteTaskStore& store, const std::string& id,
                              const std::string& entry, bool durable) {
  Result<void> written;
  for (int tries = 0; tries < most_tries; ++tries) {
    written = store.append_journal(id, entry, durable);
    const bool is_locked = !written && written.error().error_class == ErrorClass::busy;
    if (!is_locked || store.was_displaced(id)) break;
  }
  return written;
}

// A task whose registry cannot be read counts as taken over.
bool is_taken_patiently(SqliteTaskStore& store, const std::string& id) {
  Result<bool> found = false;
  for (int tries = 0; tries < most_tries; ++tries) {
    found = store.find_displaced(id);
    if (found || found.error().error_class != ErrorClass::busy) break;
  }
  return found.value_or(true);
}

}  // namespace

TaskJournal::TaskJournal(Loop& loop, std::shared_ptr<SqliteTaskStore> store, std::string task_id)
    : loop_(loop), store_(std::move(store)), task_id_(std::move(task_id)), background_(loop) {}

void TaskJournal::append(std::string entry, bool durable,
                         std::function<void(Result<void>)> on_written) {
  const auto written = std::make_shared<Result<void>>();
  const auto told = std::make_shared<std::function<void(Result<void>)>>(std::move(on_written));
  const auto started = background_.run(
      [store = store_, id = task_id_, entry = std::move(entry), durable, written,
       trouble = trouble_, is_displaced = is_displaced_] {
        if (*trouble) {
          *trouble = append_patiently(*store, id, entry, durable);
          *is_displaced = !*trouble && store->was_displaced(id);
        }
        *written = *trouble;
      },
      [written, told] { (*told)(*written); });
  // Without a thread, the entry was not written and will not be.
  if (!started) loop_.post([why = started.error(), told] { (*told)(tl::make_unexpected(why)); });
}

void TaskJournal::look(std::function<void()> then) {
  const auto told = std::make_shared<std::function<void()>>(std::move(then));
  const auto started = background_.run(
      [store = store_, id = task_id_, is_displaced = is_displaced_] {
        *is_displaced = *is_displaced || is_taken_patiently(*store, id);
      },
      [told] { (*told)(); });
  if (started) return;
  *is_displaced_ = true;
  loop_.post([told] { (*told)(); });
}

}  // namespace train
