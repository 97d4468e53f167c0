// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/live/held_tasks.hpp"
#include "launcher/live/live_hosts.hpp"

namespace train {

// Parts of documents of config_schema/fields/task.schema.json. `now_ms` is Unix time.

/// An array of hosts, with their slots and who holds them.
std::string live_hosts_to_json(const std::vector<LiveHost>& hosts, std::int64_t now_ms);

/// An array of tasks as a list has them.
std::string held_tasks_to_json(const std::vector<HeldTask>& tasks, std::int64_t now_ms);

/// `{"hosts": [...]}`, with a final newline.
std::string live_hosts_document(const std::vector<LiveHost>& hosts, std::int64_t now_ms);

}  // namespace train
