// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/picture/picture_text.hpp"
#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// One task as text for people: its state or end, the cause, and the next step; then what it was,
/// its attempts, its events, where its ranks are, and their usage and ends. `news` are lines about
/// its present state. Attempts, events and ranks are folded to about a screen.
std::string task_to_text(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                         UnixMillis now, const std::string& news = {},
                         const TextOptions& options = {});

/// Commands that show more, or start again, for a task that has ended badly.
std::vector<std::string> next_commands(const TaskRecord& task,
                                       const std::vector<RecordedEvent>& events);

}  // namespace train
