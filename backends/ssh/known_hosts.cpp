// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/known_hosts.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include "backends/ssh/name_patterns.hpp"
#include "backends/ssh/wire_encoding.hpp"

namespace train {

namespace {

constexpr std::size_t max_file = 64u << 20;

std::string_view take_word(std::string_view& text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t\r"), text.size());
  text.remove_prefix(start);
  const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

// HMAC-SHA1 (RFC 2104), with the digest looked up once: every line of a hashed file is tried for
// every host, and OpenSSL's own HMAC spends most of its time on looking it up.
class HmacSha1 {
 public:
  std::string operator()(std::string_view key, std::string_view text) const {
    constexpr std::size_t block = 64;
    std::string padded = key.size() > block ? digest(key) : std::string(key);
    padded.resize(block, '\0');
    std::string inner, outer;
    for (const char c : padded) {
      inner += static_cast<char>(c ^ 0x36);
      outer += static_cast<char>(c ^ 0x5c);
    }
    return digest(outer + digest(inner.append(text)));
  }

 private:
  struct FreeDigest {
    void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
  };
  struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  std::string digest(std::string_view text) const {
    std::string value(20, '\0');
    const bool is_made =
        sha1_ && context_ && EVP_DigestInit_ex(context_.get(), sha1_.get(), nullptr) == 1 &&
        EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1 &&
        EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(value.data()),
                           nullptr) == 1;
    return is_made ? value : std::string();
  }

  std::unique_ptr<EVP_MD, FreeDigest> sha1_{EVP_MD_fetch(nullptr, "SHA1", nullptr)};
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_{EVP_MD_CTX_new()};
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

}  // namespace

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
    line.names = lower_case(word);
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
  const std::string bare = lower_case(host);
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
  const std::string name = lower_case(host);
  return port == default_port ? name : "[" + name + "]:" + std::to_string(port);
}

std::string known_hosts_line(std::string_view name, std::string_view blob, std::string_view salt) {
  const std::string shown =
      salt.empty() ? std::string(name)
                   : "|1|" + base64_encode(salt) + "|" + base64_encode(HmacSha1()(salt, name));
  return shown + " " + key_type(blob) + " " + base64_encode(blob);
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
