// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

/// Copies bytes from `input` to `peer` (a stream socket) and from `peer` to `output`, both ways at
/// once, and holds at most 64 KiB each way. Returns when `peer` has ended and all that it sent was
/// written to `output`; or when nobody reads `output` any more, after what `input` had by then was
/// handed to `peer`. At the end of `input`, `peer` is shut down for writing. SIGPIPE must be
/// ignored. The descriptors stay open and are non-blocking meanwhile.
void bridge(int input, int output, int peer);

}  // namespace train
