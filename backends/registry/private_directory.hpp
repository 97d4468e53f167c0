// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// Makes sure that `path` is a directory of this user that other users cannot enter (0700). Creates
/// it and its parents when they do not exist. A symbolic link, another kind of file and a directory
/// of another user are refused; wider permissions are narrowed. Errors are of class `no_input`.
Result<void> make_private_directory(const std::string& path);

/// The hint of many errors here: what to do when the state directory cannot be used.
std::string elsewhere_hint();
/// The error for a file of the state directory: "cannot DOING 'PATH': REASON", of class `no_input`.
tl::unexpected<Error> could_not(std::string_view doing, const std::string& path, int error);

}  // namespace train
