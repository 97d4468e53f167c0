// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/talks/get_talk.hpp"

namespace train {

/// The identity of the file with this name in an open folder (of a link itself, not of its target);
/// without a name, of the open file. Empty when it cannot be determined.
get_talk::Identity identity_of(int folder, const std::string& name = {});

}  // namespace train
