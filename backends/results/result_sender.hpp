// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// `agent get KEY`: sends a file or folder that a rank of the agent has left, with the protocol of
/// launcher/talks/get_talk.hpp, on these descriptors, until the client has gone. The agent need not
/// run any more. `places` are those of `cache_places`, where the copy of its context lies.
///
/// Links are followed only in the path that the user names; every folder below it is opened on its
/// own. What is neither file, folder nor link is skipped and reported. A file that cannot be read,
/// or changes while it is read, is reported as well; a file that only grows is sent with its first
/// length. Files are read piece by piece, as the client takes them.
void send_results(const std::vector<std::string>& places, const std::string& key, int input,
                  int output);

}  // namespace train
