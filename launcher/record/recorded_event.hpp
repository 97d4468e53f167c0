// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// An event of a task, as recorded by its launchers.
struct RecordedEvent {
  enum class What {
    created,           ///< the task was launched
    supervised,        ///< a launcher has taken charge: the first one, or one that resumed the task
    attempt_begun,     ///< its hosts are being prepared for this attempt
    ranks_started,     ///< they are about to be told to start
    attempt_failing,   ///< something failed, or the user requested the end: ranks are stopped
    attempt_hopeless,  ///< a log policy has ruled out further attempts
    attempt_over,      ///< nothing of the attempt is left, and another one follows
    trial_over,        ///< no further attempt of this trial follows, but the task continues
    search_decided,    ///< the search has decided about a trial
    stop_requested,    ///< by the user, or because `max_runtime` has passed
    task_over,         ///< the last event
  };
  What what = What::created;
  std::optional<UnixMillis> at = {};  ///< nothing: unknown
  std::optional<int> attempt = {};    ///< nothing: not about an attempt
  std::optional<int> rank = {};       ///< the rank that failed first
  std::string host = {};              ///< the host to blame; empty: none, or unknown
  std::string words = {};             ///< for people, on one line; not escaped

  bool operator==(const RecordedEvent&) const = default;
};

/// The events of the task as a whole: for a search, whose trials are reported elsewhere.
std::vector<RecordedEvent> outside_of_trials(const std::vector<RecordedEvent>& events);

/// "created", "ranks_started", ...
std::string_view to_string(RecordedEvent::What what);

}  // namespace train
