// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/talks/get_talk.hpp"

namespace train {

/// Of what has this name in an open folder, a link itself; with no name, of what is open there.
/// Empty where it cannot be found out.
get_talk::Identity identity_of(int folder, const std::string& name = {});

}  // namespace train
