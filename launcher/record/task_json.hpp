// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// One task as a JSON document that follows config_schema/fields/task.schema.json, with its events,
/// its plan and its configuration. `now` is the launcher's report as JSON, or empty; `search` is
/// `{"search": {...}, "trials": [...]}` for a task with several trials. Ends with a newline.
/// Invalid UTF-8 is replaced.
std::string task_to_json(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                         const std::string& now = {}, const std::string& search = {});

/// An event of the task as one line of JSON that follows config_schema/fields/event.schema.json,
/// with a newline. `trial`: nothing: it is about the task. The line of `task_over` has the end of
/// the task from its record.
std::string event_to_json(const TaskRecord& task, const RecordedEvent& event,
                          std::optional<int> trial);

/// `{"tasks": [...], "hosts": [...]}` of the same schema, without plans and configurations. `held`
/// are further tasks and `hosts` the hosts, as JSON arrays. Ends with a newline.
std::string tasks_to_json(const std::vector<TaskRecord>& tasks, const std::string& held = "[]",
                          const std::string& hosts = "[]");

}  // namespace train
