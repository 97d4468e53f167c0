// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "launcher/wire/message.hpp"

namespace train {

// The messages in which an agent reports problems, for `message.cpp`: their JSON, and its readers,
// which throw `Malformed`.

nlohmann::json body(const message::Blocked& m);
nlohmann::json body(const message::PortTaken& m);
nlohmann::json body(const message::NoStopFile& m);
nlohmann::json body(const message::AgentFailed& m);

Message read_blocked(const nlohmann::json& value);
Message read_port_taken(const nlohmann::json& value);
Message read_no_stop_file(const nlohmann::json& value);
Message read_agent_failed(const nlohmann::json& value);

}  // namespace train
