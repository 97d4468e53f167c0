// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// Makes sure that `path` is a directory of this user that nobody else can enter (0700): creates
/// it, and its parents, when it is not there. A symbolic link, another kind of file and a directory
/// of another user are refused; wider permissions are narrowed. Errors are of class `no_input`.
Result<void> make_private_directory(const std::string& path);

/// What to do when the state directory cannot be used: the next step of many errors here.
std::string elsewhere_hint();
/// What is returned for a file of that directory: "cannot read 'PATH': REASON", of class
/// `no_input`.
tl::unexpected<Error> could_not(std::string_view doing, const std::string& path, int error);

}  // namespace train
