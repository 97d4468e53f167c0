// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// Where a task writes down what it decides, one entry after the other.
class Journal {
 public:
  virtual ~Journal() = default;
  /// Calls back, never from inside, once the entry is written or cannot be. Entries are written in
  /// the order in which they came: one that is written has all before it written as well. A written
  /// entry outlives this process, a `durable` one also a loss of power.
  virtual void append(std::string entry, bool durable,
                      std::function<void(Result<void>)> on_written) = 0;
  /// Finds out whether this journal is another process's now, and calls back, never from inside.
  virtual void look(std::function<void()> then) = 0;
  /// Another process has written into this journal since, which is the supervisor of the task now:
  /// an entry was not written for that, or `look` has found it, or could not find out.
  virtual bool is_anothers() const = 0;
};

}  // namespace train
