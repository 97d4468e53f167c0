// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/picture/picture_text.hpp"
#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// One task for people: how it is or has ended, why, and what to do about it; then what it was, its
/// attempts, what has happened when, where its ranks are, and what each uses and how it has ended.
/// `news` are lines about how it is at this moment. Attempts, events and ranks are folded to a
/// screen or so.
std::string task_to_text(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                         UnixMillis now, const std::string& news = {},
                         const TextOptions& options = {});

}  // namespace train
