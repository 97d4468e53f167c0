// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The JSON Schemas (draft 7) of what users write, made from the tables of fields: what they refuse
/// the readers refuse, and what they accept is refused only for what a schema cannot say (relations
/// between values). End with a newline.
std::string experiment_json_schema();
std::string hosts_json_schema();

}  // namespace train
