// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// That this host has a network interface of exactly this name, up and with an address: the
/// libraries that ranks talk with take no other. Class `host`, with the interfaces that are there.
Result<void> check_interface(const std::string& name);

}  // namespace train
