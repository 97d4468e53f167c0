// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// One task as a JSON document that follows config_schema/fields/task.schema.json, with what has
/// happened to it, its plan and its configuration, and what its launcher says `now`, as JSON;
/// empty: nothing; `search`: `{"search": {...}, "trials": [...]}` of a task with several trials.
/// Ends with a newline. Bytes that are no UTF-8 are replaced.
std::string task_to_json(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                         const std::string& now = {}, const std::string& search = {});

/// `{"tasks": [...], "hosts": [...]}` of the same schema, without plans and configurations. `held`
/// are more tasks and `hosts` the hosts, as JSON arrays. Ends with a newline.
std::string tasks_to_json(const std::vector<TaskRecord>& tasks, const std::string& held = "[]",
                          const std::string& hosts = "[]");

}  // namespace train
