// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
namespace train {

/// Copies bytes from `input` to `peer` (a stream socket) and from `peer` to `output`, both ways at
/// once, and buffers at most 64 KiB each way. Returns when `peer` has ended and all its bytes were
/// written to `output`; or when `output` has no reader any more, after the bytes that `input` held
/// by then were passed to `peer`. At the end of `input`, `peer` is shut down for writing. SIGPIPE
/// must be ignored. The descriptors stay open and are non-blocking during the call.
void bridge(int input, int output, int peer);

/// The same for a peer that may be about to end: `unheard` (64 KiB at most) is sent to it first.
/// False when the peer has ended without sending anything while `input` and `output` are still
/// open: then `unheard` holds all bytes that were sent to it, to be sent to another peer.
bool bridge_unless_unheard(int input, int output, int peer, std::string& unheard);

}  // namespace train
