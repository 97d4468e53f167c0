// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <optional>

#include "config_schema/text/error.hpp"

namespace train {

/// The smallest limit of the stack (ulimit -s) that this program is relied on with, in bytes. Each
/// thread gets a stack of that size as well. A launch of two ranks on this machine crashed with 160
/// KiB and worked with 192; single functions have up to 256 KiB for what they read.
constexpr rlim_t least_stack = rlim_t{1} << 20;

/// Class `host` when the stack is limited to less than `least_stack`: this program would crash
/// somewhere later. The limit is not raised here, since ranks inherit it.
Result<void> check_stack_limit();

/// From here on a crash of this process leaves no core, which would hold its environment and its
/// keys. Programs that it starts (`start_child`) get the limit as it was. Call it before there are
/// threads.
void leave_no_core();
/// The limit of cores for programs that this process starts; nothing where it is the process's own.
const std::optional<rlimit>& core_limit_of_children();

}  // namespace train
