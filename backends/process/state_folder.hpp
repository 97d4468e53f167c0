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

/// Finds the folder, or makes it. It is `train-UID` in the first place; where somebody else has
/// taken that name, it is `train-UID-XXXXXX` (six random letters and digits) in the first place
/// that takes it. A folder counts when it belongs to this user alone (own_folder.hpp), whatever its
/// name. At most 100,000 names of a place are looked at.
///
/// All callers find the same folder, also when several make it at the same moment, when the name
/// `train-UID` becomes free later, and when a maker is killed: a folder with a random name comes
/// before `train-UID`; of several of these, the one that has `KEY.lock` comes first, then the first
/// by name. Error, of class `host`: what is wrong with each place.
Result<StateFolder> find_state_folder(const std::vector<std::string>& places,
                                      const std::string& key);

}  // namespace train
