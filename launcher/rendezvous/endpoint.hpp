// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The numeric address as it stands before ":port": "10.0.0.1", "[fd00::1]".
inline std::string in_brackets(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

/// Whether a numeric address is one of the machine itself, which no other reaches.
inline bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

/// "10.0.0.1:29500", "[fd00::1]:29500".
inline std::string endpoint(const std::string& address, int port) {
  return in_brackets(address) + ":" + std::to_string(port);
}

}  // namespace train
