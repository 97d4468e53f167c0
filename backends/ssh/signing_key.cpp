// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/signing_key.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "backends/posix/files.hpp"
#include "backends/ssh/wire_encoding.hpp"

namespace train {

namespace {

constexpr std::size_t max_key_file = 64u << 10;

struct Wiped {
  std::string text;
  ~Wiped() { OPENSSL_cleanse(text.data(), text.size()); }
};

Descriptor open_to_read(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// Reads into memory that was reserved before, so that no copy of it stays behind in freed memory.
bool read_bounded(const Descriptor& file, std::string& text, std::size_t limit) {
  text.resize(limit + 1);
  const ssize_t size = read_whole(file.get(), text.data(), text.size());
  if (size < 0) return false;
  text.resize(static_cast<std::size_t>(size));
  return text.size() <= limit;
}

}  // namespace

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

Result<std::shared_ptr<SigningKey>> load_private_key(const std::string& path, std::string origin,
                                                     const KeyOpening* opening) {
  const auto trouble = [&origin](std::string_view what, std::string hint) {
    return fail(ErrorClass::host, fmt::format("{} {}", origin, what), std::move(hint));
  };
  const Descriptor file = open_to_read(path);
  if (!file)
    return trouble(fmt::format("cannot be read: {}", std::strerror(errno)),
                   "name a private key that this user can read");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return trouble("is not a file", "name a private key file");
  if (status.st_uid == ::getuid() && (status.st_mode & 077) != 0)
    return trouble("can be read by other users", "protect it: chmod 600 " + path);
  Wiped bytes;
  if (!read_bounded(file, bytes.text, max_key_file))
    return trouble("is not a private key", "name a private key file");
  return parse_private_key(bytes.text, std::move(origin), opening);
}

std::optional<std::string> load_blob_of_encrypted_key(const std::string& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return std::nullopt;
  Wiped bytes;
  if (!read_bounded(file, bytes.text, max_key_file)) return std::nullopt;
  return blob_of_encrypted_key(bytes.text);
}

std::string load_public_blob(const std::string& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return {};
  Wiped bytes;  // it may be the private half after all
  if (!read_bounded(file, bytes.text, max_key_file)) return {};
  const std::string& text = bytes.text;
  const std::size_t start = text.find(' ');
  if (start == std::string::npos) return {};
  const std::size_t end = text.find_first_of(" \r\n", start + 1);
  auto blob = base64_decode(std::string_view(text).substr(start + 1, end - start - 1));
  return blob && key_type(*blob) == std::string_view(text).substr(0, start) ? *blob : "";
}

}  // namespace train
