// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/ssh_formats/encrypted_section.hpp"
#include "backends/ssh_formats/signing_key.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Reads the text of a private key file: OpenSSH's own format (ed25519, ecdsa, rsa) or PEM and
/// PKCS8. Null when it is encrypted and `opening` does not open it. Errors, of class `host`: a key
/// that is encrypted, without an `opening`; a kind that is not supported, a broken file. The text
/// is the caller's to wipe.
Result<std::shared_ptr<SigningKey>> parse_private_key(std::string_view text, std::string origin,
                                                      const KeyOpening* opening = nullptr);

/// Reads a private key file of at most 64 KiB, which nobody but its owner may read; its bytes are
/// wiped afterwards. `origin` names it in messages. Results as above, and when it cannot be read.
Result<std::shared_ptr<SigningKey>> load_private_key(const std::string& path, std::string origin,
                                                     const KeyOpening* opening = nullptr);

/// The public half of a private key that is encrypted, so that a passphrase opens it; an empty
/// string where the text does not tell it, nothing when a passphrase is of no use.
std::optional<std::string> blob_of_encrypted_key(std::string_view text);
std::optional<std::string> load_blob_of_encrypted_key(const std::string& path);

/// Reads the public half in `path` (a .pub file): its blob, or an empty string when the file is
/// something else.
std::string load_public_blob(const std::string& path);

}  // namespace train
