// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/encrypted_section.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>

#include "backends/ssh_formats/bcrypt_pbkdf.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"

namespace train {

namespace {

// About an hour of work; ssh-keygen makes 16 rounds.
constexpr std::uint32_t max_rounds = 100'000;
constexpr std::size_t iv_bytes = 16;

struct Cipher {
  std::string_view name;
  const EVP_CIPHER* (*make)();
  std::size_t key_bytes;
};
constexpr Cipher ciphers[] = {
    {"aes256-ctr", EVP_aes_256_ctr, 32}, {"aes192-ctr", EVP_aes_192_ctr, 24},
    {"aes128-ctr", EVP_aes_128_ctr, 16}, {"aes256-cbc", EVP_aes_256_cbc, 32},
    {"aes192-cbc", EVP_aes_192_cbc, 24}, {"aes128-cbc", EVP_aes_128_cbc, 16}};

const Cipher* find_cipher(std::string_view name) {
  const auto found = std::find_if(std::begin(ciphers), std::end(ciphers),
                                  [name](const Cipher& cipher) { return cipher.name == name; });
  return found == std::end(ciphers) ? nullptr : found;
}

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

}  // namespace

bool is_known_cipher(std::string_view cipher) { return find_cipher(cipher) != nullptr; }

std::optional<LockedBytes> decrypt_section(std::string_view cipher_name, std::string_view kdf,
                                           std::string_view kdf_options, std::string_view section,
                                           const KeyOpening& opening) {
  const Cipher* cipher = find_cipher(cipher_name);
  WireReader options(kdf_options);
  const auto salt = options.string();
  const auto rounds = options.number();
  if (!cipher || kdf != "bcrypt" || !rounds || *rounds == 0 || *rounds > max_rounds ||
      section.size() % iv_bytes != 0)
    return std::nullopt;
  std::array<char, 32 + iv_bytes> key{};
  const bool is_made = bcrypt_pbkdf(opening.passphrase.text(), *salt, *rounds, key.data(),
                                    cipher->key_bytes + iv_bytes, opening.is_cancelled);
  const std::string_view material(key.data(), key.size());
  const std::unique_ptr<EVP_CIPHER_CTX, FreeContext> context(EVP_CIPHER_CTX_new());
  LockedBytes text(section.size());
  int size = 0;
  const bool is_decrypted =
      is_made && context &&
      EVP_DecryptInit_ex(context.get(), cipher->make(), nullptr, bytes_of(material),
                         bytes_of(material.substr(cipher->key_bytes))) == 1 &&
      EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1 &&
      EVP_DecryptUpdate(context.get(), reinterpret_cast<unsigned char*>(text.bytes().data()), &size,
                        bytes_of(section), static_cast<int>(section.size())) == 1;
  OPENSSL_cleanse(key.data(), key.size());
  if (!is_decrypted) return std::nullopt;
  return text;
}

}  // namespace train
