// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace train {

/// Copies bytes from `input` to `peer` (a stream socket) and from `peer` to `output`, both ways at
/// once, holding at most 64 KiB each way. Returns
/// - when `peer` has ended and all of it was written to `output`, or
/// - when `output` can take no more: after all that `input` held by then was handed to `peer`.
/// The end of `input` is passed on as half a close. SIGPIPE must be ignored. The descriptors stay
/// open and are non-blocking meanwhile.
void bridge(int input, int output, int peer);

}  // namespace train
