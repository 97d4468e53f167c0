// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The numeric address as it stands before ":port": "10.0.0.1", "[fd00::1]".
inline std::string in_brackets(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

/// "10.0.0.1:29500", "[fd00::1]:29500".
inline std::string endpoint(const std::string& address, int port) {
  return in_brackets(address) + ":" + std::to_string(port);
}

}  // namespace train
