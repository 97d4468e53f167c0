// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// `agent get KEY`: sends a file or folder that a rank of the agent has left, as
/// launcher/talks/get_talk.hpp has it, on these descriptors, until the asker has gone. The agent
/// need not run any more. `places` are those of `cache_places`, where the copy of its context lies.
///
/// Only the first path is followed through links; every folder in it is opened by itself. What is
/// neither file, folder nor link is left out and told, as is what cannot be read, or changes while
/// it is: a file that only grows is sent as long as it was at first. It is read piece by piece, as
/// the asker takes it.
void send_results(const std::vector<std::string>& places, const std::string& key, int input,
                  int output);

}  // namespace train
