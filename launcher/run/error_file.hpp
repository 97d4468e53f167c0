// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// What a rank wrote into TORCHELASTIC_ERROR_FILE, as one line: torch's JSON has a `message` that
/// is a string, or an object with a `message` string
/// (torch.distributed.elastic.multiprocessing.errors), also where the text was cut off below it.
/// Anything else: the text as it is, cut to one short line. Empty for nothing.
std::string message_of_error_file(std::string_view text);

}  // namespace train
