// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// Whether `name` matches a pattern of ssh_config(5) or known_hosts, with `*` and `?`. Linear in
/// time.
bool matches_name_pattern(std::string_view pattern, std::string_view name);

/// A line of a known_hosts file that applies to a host.
struct KnownKey {
  std::string type;  ///< "ssh-ed25519"
  std::string blob;  ///< encoded as in RFC 4253
  std::string file;
  int line = 0;
  bool revoked = false;    ///< @revoked: this key must not be accepted
  bool authority = false;  ///< @cert-authority: signs host certificates, which are not read here

  bool operator==(const KnownKey&) const = default;
};

/// The known keys of hosts (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): plain, hashed and
/// `[host]:port` names, patterns with `*`, `?` and `!`, and the markers. libssh2's own reader does
/// not support patterns, markers or line numbers. Invalid lines are skipped, as in ssh.
class KnownHosts {
 public:
  /// Adds the lines of one file; `file` is its name in messages.
  void add(std::string_view text, const std::string& file);
  /// Reads and adds a file of at most 64 MiB; a missing file has no keys.
  void add_file(const std::string& path);
  /// The keys of a host in file order: those of `[host]:port`, or, when there are none and the port
  /// is not 22, those of the bare name, as in ssh.
  std::vector<KnownKey> keys_of(std::string_view host, int port) const;

 private:
  struct Line {
    std::string names;  ///< patterns; empty when the name is hashed
    std::string salt;
    std::string hash;
    std::string type;
    std::string blob_base64;
    std::size_t file = 0;
    int number = 0;
    bool revoked = false;
    bool authority = false;
  };
  std::vector<KnownKey> keys_named(const std::string& name) const;
  static bool parse_names(std::string_view word, Line& line);
  static bool matches(const Line& line, std::string_view name);

  std::vector<std::string> files_;
  std::vector<Line> lines_;
};

enum class HostKeyVerdict {
  trusted,
  unknown,  ///< no key of this type is known
  changed,  ///< another key of this type is known
  revoked,
};

/// Whether the known keys of a host allow the key that it has shown, and the deciding line (null
/// for `unknown`).
struct HostKeyDecision {
  HostKeyVerdict verdict = HostKeyVerdict::unknown;
  const KnownKey* line = nullptr;
};
HostKeyDecision judge_host_key(const std::vector<KnownKey>& known, std::string_view shown_blob);

/// A line of a known_hosts file: `name` ("node01", "[node01]:2222") has this key. With a `salt` of
/// 20 random bytes the name is hashed.
std::string known_hosts_line(std::string_view name, std::string_view blob,
                             std::string_view salt = {});

/// The name of a host in known_hosts files: "node01", or "[node01]:2222" when the port is not 22.
std::string known_hosts_name(std::string_view host, int port);

/// Adds a line to a known_hosts file. Creates the file, readable only by its owner, and its folder
/// (but no parents of the folder). Errors, of class `host`, say why it cannot be written.
Result<void> append_known_host(const std::string& path, const std::string& line);

/// The host-key algorithms to request, best first: those with known keys, in file order, then the
/// others. Only the key of the first algorithm in common can be checked, so known ones must come
/// first.
std::vector<std::string> host_key_preference(const std::vector<KnownKey>& known);

}  // namespace train
