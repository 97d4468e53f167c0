// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <optional>

#include "config_schema/text/error.hpp"

namespace train {

/// The smallest stack limit (ulimit -s) with which this program is known to work, in bytes. Each
/// thread gets a stack of the limit's size as well. A test launch of two ranks crashed with 160 KiB
/// and worked with 192; single functions have buffers of up to 256 KiB.
constexpr rlim_t least_stack = rlim_t{1} << 20;

/// Class `host` when the stack is limited to less than `least_stack`: this program would crash
/// later. Does not raise the limit, since ranks inherit it.
Result<void> check_stack_limit();

/// From now on a crash of this process leaves no core, which would contain its environment and its
/// keys. Programs that it starts (`start_child`) get the old limit. Call it before there are
/// threads.
void leave_no_core();
/// The core limit for programs that this process starts; `nullopt`: the same as this process's.
const std::optional<rlimit>& core_limit_of_children();

}  // namespace train
