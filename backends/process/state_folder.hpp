// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The folder of this user in places where everybody may write (/tmp), opened, with a shared lock.
struct StateFolder {
  std::string path;
  Descriptor descriptor;
};

/// Finds the folder, or makes it: `train-UID` in the first place. Anybody may have taken that name;
/// then it is `train-UID-XXXXXX`, six random letters and digits, in the first place that takes it.
/// Whose a folder is decides, not its name: this user's alone (own_folder.hpp). At most 100,000
/// names of a place are looked at.
///
/// All callers find the same one, also when several make it at the same moment, when whoever took
/// the name lets go of it, and when makers are killed: a folder with a random name comes before
/// `train-UID` from then on; of several (what a killed maker left) the one that has `KEY.lock`,
/// then the first by name. Error, of class `host`: what is wrong with each place.
Result<StateFolder> find_state_folder(const std::vector<std::string>& places,
                                      const std::string& key);

}  // namespace train
