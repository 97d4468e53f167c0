// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// Something that has happened to a task, as its launchers have written it down.
struct RecordedEvent {
  enum class What {
    created,           ///< the task was launched
    supervised,        ///< a launcher has begun to attend it: the first, or one that took it over
    attempt_begun,     ///< its hosts are prepared for this attempt
    ranks_started,     ///< they are about to be told to start
    attempt_failing,   ///< something has failed, or the user wants the end: the ranks are stopped
    attempt_hopeless,  ///< a log policy has found that no other attempt is worth it
    attempt_over,      ///< nothing of the attempt is left, and another one follows
    trial_over,        ///< no attempt of this trial follows, and the task goes on
    search_decided,    ///< what the search has decided about a trial
    stop_requested,    ///< by the user, or since `max_runtime` is over
    task_over,         ///< nothing follows
  };
  What what = What::created;
  std::optional<UnixMillis> at = {};  ///< nothing: not known
  std::optional<int> attempt = {};    ///< nothing: of none
  std::optional<int> rank = {};       ///< that has failed first
  std::string host = {};              ///< that is to blame; empty: none, or not known
  std::string words = {};             ///< for people, on one line; not escaped

  bool operator==(const RecordedEvent&) const = default;
};

/// Those that are about the task as a whole: of a search, which tells of its trials elsewhere.
std::vector<RecordedEvent> outside_of_trials(const std::vector<RecordedEvent>& events);

/// "created", "ranks_started", ...
std::string_view to_string(RecordedEvent::What what);

}  // namespace train
