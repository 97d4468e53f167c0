// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/picture/picture_text.hpp"

namespace train {

/// The options that fit the terminal on standard output; fixed defaults if it is not a terminal.
TextOptions text_options();

}  // namespace train
