// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

/// Opens /dev/null for each of stdin, stdout and stderr that the caller closed. Without it the
/// next file to be opened, such as the task registry, would get that number, and with it all that
/// is written to the terminal.
void open_closed_standard_streams();

}  // namespace train
