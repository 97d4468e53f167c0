// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/picture/picture_text.hpp"

namespace train {

/// What the terminal takes, where standard output is one; else what is the same everywhere.
TextOptions text_options();

}  // namespace train
