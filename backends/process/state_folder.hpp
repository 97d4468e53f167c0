// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The folder of this user in a place where all users may write (/tmp), opened, with a shared lock.
struct StateFolder {
  std::string path;
  Descriptor descriptor;
};

/// Finds the folder, or makes it. It is `train-UID` in the first place; if another user has taken
/// that name, it is `train-UID-XXXXXX` (six random letters and digits) in the first place where it
/// can be made. A folder is valid only if it belongs to this user alone (own_folder.hpp), whatever
/// its name. At most 100,000 names of a place are examined.
///
/// All callers find the same folder, also when several make it at the same moment, when the name
/// `train-UID` becomes free later, and when a maker is killed: a folder with a random name has
/// priority over `train-UID`; of several of these, the one that has `KEY.lock` comes first, then
/// the first by name. An error of class `host` says what is wrong with each place.
Result<StateFolder> find_state_folder(const std::vector<std::string>& places,
                                      const std::string& key);

}  // namespace train
