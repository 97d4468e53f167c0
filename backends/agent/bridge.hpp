// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
namespace train {

/// Copies bytes from `input` to `peer` (a stream socket) and from `peer` to `output`, both ways at
/// once, and holds at most 64 KiB each way. Returns when `peer` has ended and all that it sent was
/// written to `output`; or when nobody reads `output` any more, after what `input` had by then was
/// handed to `peer`. At the end of `input`, `peer` is shut down for writing. SIGPIPE must be
/// ignored. The descriptors stay open and are non-blocking meanwhile.
void bridge(int input, int output, int peer);

/// The same to a peer that may be about to end: `unheard` (64 KiB at most) is said to it first.
/// False: it has ended without a word, both ends of the bridge are still there, and all that it was
/// told is in `unheard`, to be said to another one.
bool bridge_unless_unheard(int input, int output, int peer, std::string& unheard);

}  // namespace train
