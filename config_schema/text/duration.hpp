// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace train {

/// For people, in whole seconds: "45 s", "119 s", then in the two largest units: "10 min", "1 h 1
/// min", "1 d". Smaller units are left out.
std::string duration_text(std::chrono::nanoseconds duration);
/// The same for durations that may be shorter than a second: "500 ms".
std::string short_duration_text(std::chrono::milliseconds duration);
/// For columns, of milliseconds: "12.3s", "4m05s", "2h03m", "3d04h".
std::string format_duration(std::int64_t duration);

}  // namespace train
