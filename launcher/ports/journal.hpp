// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// Where a task records its decisions, one entry after the other.
class Journal {
 public:
  virtual ~Journal() = default;
  /// Calls back, never from inside, once the entry is written or cannot be written. Entries are
  /// written in order: if one is written, all entries before it are. A written entry survives this
  /// process, a `durable` one also a power loss.
  virtual void append(std::string entry, bool durable,
                      std::function<void(Result<void>)> on_written) = 0;
  /// Finds out whether another process owns this journal now, and calls back, never from inside.
  virtual void look(std::function<void()> then) = 0;
  /// Another process has written to this journal, and is the supervisor of the task now: an entry
  /// was not written for that reason, or `look` has found it. Also true if `look` could not find
  /// out.
  virtual bool is_displaced() const = 0;
};

}  // namespace train
