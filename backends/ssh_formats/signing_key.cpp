// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/signing_key.hpp"

#include "backends/ssh_formats/wire_encoding.hpp"

namespace train {

std::vector<std::string> signature_algorithms(std::string_view key_type) {
  if (key_type == "ssh-rsa") return {"rsa-sha2-512", "rsa-sha2-256"};
  if (key_type == "ssh-ed25519" || key_type == "ecdsa-sha2-nistp256" ||
      key_type == "ecdsa-sha2-nistp384" || key_type == "ecdsa-sha2-nistp521")
    return {std::string(key_type)};
  return {};
}

std::string blob_for_algorithm(std::string_view public_blob, std::string_view algorithm) {
  WireReader reader(public_blob);
  reader.string();
  return wire_string(algorithm).append(reader.rest());
}

}  // namespace train
