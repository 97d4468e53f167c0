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

/// Parses the text of a private key file: OpenSSH's own format (ed25519, ecdsa, rsa) or PEM and
/// PKCS8. Null when it is encrypted and `opening` has the wrong passphrase. Errors, of class
/// `host`: an encrypted key without an `opening`, an unsupported kind, a broken file. The caller
/// must wipe the text.
Result<std::shared_ptr<SigningKey>> parse_private_key(std::string_view text, std::string origin,
                                                      const KeyOpening* opening = nullptr);

/// Reads a private key file of at most 64 KiB, which only its owner may be able to read; its bytes
/// are wiped afterwards. `origin` names it in messages. Results as above, and an error when it
/// cannot be read.
Result<std::shared_ptr<SigningKey>> load_private_key(const std::string& path, std::string origin,
                                                     const KeyOpening* opening = nullptr);

/// The public half of an encrypted private key that a passphrase can open; an empty string when the
/// text does not contain it, nothing when a passphrase does not help.
std::optional<std::string> blob_of_encrypted_key(std::string_view text);
std::optional<std::string> load_blob_of_encrypted_key(const std::string& path);

/// Reads a public key file (.pub): its blob, or an empty string when the file is something else.
std::string load_public_blob(const std::string& path);

}  // namespace train
