// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/known_hosts.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "backends/posix/descriptor.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t max_file = 64u << 20;
constexpr mode_t owner_only = 0600;
constexpr mode_t owner_only_folder = 0700;

std::string_view take_word(std::string_view& text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t\r"), text.size());
  text.remove_prefix(start);
  const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

// HMAC-SHA1, fetched once and reused: every line of a hashed file is compared with every host, and
// fetching takes longer than computing.
class HmacSha1 {
 public:
  HmacSha1() {
    std::string digest = "SHA1";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
        OSSL_PARAM_construct_end()};
    if (context_ && EVP_MAC_CTX_set_params(context_.get(), parameters) != 1) context_.reset();
  }

  // Empty when OpenSSL has no SHA-1.
  std::string operator()(std::string_view key, std::string_view text) const {
    std::string value(20, '\0');
    const bool is_made =
        context_ && EVP_MAC_init(context_.get(), bytes_of(key), key.size(), nullptr) == 1 &&
        EVP_MAC_update(context_.get(), bytes_of(text), text.size()) == 1 &&
        EVP_MAC_final(context_.get(), reinterpret_cast<unsigned char*>(value.data()), nullptr,
                      value.size()) == 1;
    return is_made ? value : std::string();
  }

 private:
  struct Free {
    void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
    void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
  };

  std::unique_ptr<EVP_MAC, Free> mac_{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  std::unique_ptr<EVP_MAC_CTX, Free> context_{mac_ ? EVP_MAC_CTX_new(mac_.get()) : nullptr};
};

bool matches_patterns(std::string_view names, std::string_view name) {
  bool found = false;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    std::string_view pattern = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    const bool is_negative = pattern.starts_with('!');
    if (is_negative) pattern.remove_prefix(1);
    if (!matches_name_pattern(pattern, name)) continue;
    if (is_negative) return false;
    found = true;
  }
  return found;
}

// Whether the last line of the file has no newline: an appended line would become a part of it.
bool lacks_line_end(int fd) {
  char last = '\n';
  const off_t size = ::lseek(fd, 0, SEEK_END);
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

// Appends with a single write, so that lines of other processes do not interleave. Returns 0 or
// errno.
int append(int fd, const std::string& text) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  const std::string whole = (lacks_line_end(fd) ? "\n" : "") + text + "\n";
  const ssize_t count = ::write(fd, whole.data(), whole.size());
  if (count < 0) return errno;
  return static_cast<std::size_t>(count) == whole.size() ? 0 : ENOSPC;
}

}  // namespace

// On a mismatch, only the last star is extended by one character, which keeps the time linear.
bool matches_name_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

void KnownHosts::add(std::string_view text, const std::string& file) {
  files_.push_back(file);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));

    Line line;
    line.file = files_.size() - 1;
    line.number = number;
    std::string_view word = take_word(rest);
    if (word.empty() || word.starts_with('#')) continue;
    if (word.starts_with('@')) {
      line.revoked = word == "@revoked";
      line.authority = word == "@cert-authority";
      if (!line.revoked && !line.authority) continue;
      word = take_word(rest);
    }
    if (!parse_names(word, line)) continue;
    line.type = take_word(rest);
    line.blob_base64 = take_word(rest);
    if (!line.blob_base64.empty()) lines_.push_back(std::move(line));
  }
}

// Hashed names are "|1|SALT|HASH".
bool KnownHosts::parse_names(std::string_view word, Line& line) {
  if (!word.starts_with('|')) {
    line.names = to_lower(word);
    return true;
  }
  const std::size_t bar = word.find('|', 3);
  if (!word.starts_with("|1|") || bar == std::string_view::npos) return false;
  line.salt = base64_decode(word.substr(3, bar - 3)).value_or("");
  line.hash = base64_decode(word.substr(bar + 1)).value_or("");
  return !line.salt.empty() && !line.hash.empty();
}

bool KnownHosts::matches(const Line& line, std::string_view name) {
  thread_local const HmacSha1 hmac;
  return line.hash.empty() ? matches_patterns(line.names, name)
                           : hmac(line.salt, name) == line.hash;
}

void KnownHosts::add_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 65536> piece{};
  while (file && text.size() < max_file) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  add(text, path);
}

std::vector<KnownKey> KnownHosts::keys_of(std::string_view host, int port) const {
  const std::string bare = to_lower(host);
  const std::string name = known_hosts_name(bare, port);
  auto keys = keys_named(name);
  return keys.empty() && name != bare ? keys_named(bare) : keys;
}

std::vector<KnownKey> KnownHosts::keys_named(const std::string& name) const {
  std::vector<KnownKey> keys;
  for (const Line& line : lines_) {
    if (!matches(line, name)) continue;
    auto blob = base64_decode(line.blob_base64);
    if (!blob || key_type(*blob) != line.type) continue;
    keys.push_back({line.type, std::move(*blob), files_[line.file], line.number, line.revoked,
                    line.authority});
  }
  return keys;
}

std::string known_hosts_name(std::string_view host, int port) {
  constexpr int default_port = 22;
  const std::string name = to_lower(host);
  return port == default_port ? name : "[" + name + "]:" + std::to_string(port);
}

std::string known_hosts_line(std::string_view name, std::string_view blob, std::string_view salt) {
  const std::string shown =
      salt.empty() ? std::string(name)
                   : "|1|" + base64_encode(salt) + "|" + base64_encode(HmacSha1()(salt, name));
  return shown + " " + key_type(blob) + " " + base64_encode(blob);
}

Result<void> append_known_host(const std::string& path, const std::string& line) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (!folder.empty()) (void)::mkdir(folder.c_str(), owner_only_folder);  // open reports a failure
  Descriptor file(
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, owner_only));
  int error = file ? append(file.get(), line) : errno;
  if (file && ::close(file.release()) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  return fail(ErrorClass::host,
              fmt::format("the host key cannot be added to {}: {}", path, system_reason(error)),
              "make the file writable, or add the key yourself");
}

HostKeyDecision judge_host_key(const std::vector<KnownKey>& known, std::string_view shown_blob) {
  HostKeyDecision decision;
  const std::string type = key_type(shown_blob);
  for (const KnownKey& key : known) {
    if (key.revoked) {
      if (key.blob == shown_blob) return {HostKeyVerdict::revoked, &key};
    } else if (key.authority || decision.verdict == HostKeyVerdict::trusted) {
      continue;
    } else if (key.blob == shown_blob) {
      decision = {HostKeyVerdict::trusted, &key};
    } else if (key.type == type && !decision.line) {
      decision = {HostKeyVerdict::changed, &key};
    }
  }
  return decision;
}

std::vector<std::string> host_key_preference(const std::vector<KnownKey>& known) {
  std::vector<std::string> order;
  const auto add = [&order](const std::string& name) {
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  };
  const auto add_type = [&add](const std::string& type) {
    if (type == "ssh-rsa")
      for (const char* name : {"rsa-sha2-512", "rsa-sha2-256"}) add(name);
    add(type);
  };
  for (const KnownKey& key : known)
    if (!key.revoked && !key.authority) add_type(key.type);
  for (const char* type : {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                           "ecdsa-sha2-nistp521", "ssh-rsa"})
    add_type(type);
  return order;
}

}  // namespace train
