// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include "config_schema/text/error.hpp"

namespace train {

/// The smallest limit of the stack (ulimit -s) that this program is relied on with, in bytes. Each
/// thread gets a stack of that size as well. A launch of two ranks on this machine crashed with 160
/// KiB and worked with 192; single functions have up to 256 KiB for what they read.
constexpr rlim_t least_stack = rlim_t{1} << 20;

/// Class `host` when the stack is limited to less than `least_stack`: this program would crash
/// somewhere later. The limit is not raised here, since ranks inherit it.
Result<void> check_stack_limit();

}  // namespace train
