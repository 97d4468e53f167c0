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

/// A line of a known_hosts file that speaks of a host.
struct KnownKey {
  std::string type;  ///< "ssh-ed25519"
  std::string blob;  ///< as RFC 4253 encodes it
  std::string file;
  int line = 0;
  bool revoked = false;    ///< @revoked: this key must not be accepted
  bool authority = false;  ///< @cert-authority: signs host certificates, which are not read here

  bool operator==(const KnownKey&) const = default;
};

/// What is known of the hosts' keys (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): plain, hashed and
/// `[host]:port` names, patterns with `*`, `?` and `!`, and the markers. libssh2's own reader knows
/// neither patterns, nor markers, nor line numbers. Lines that make no sense are skipped, as ssh
/// does.
class KnownHosts {
 public:
  /// Adds the lines of one file, which `file` names in messages.
  void add(std::string_view text, const std::string& file);
  /// Reads and adds a file of at most 64 MiB; one that does not exist holds no key.
  void add_file(const std::string& path);
  /// The keys of a host in file order: of `[host]:port`, and, when there is none and the port is
  /// not 22, of the bare name, as ssh does.
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

/// Whether the known keys of a host allow the key that it showed, and the line that decided (null
/// for `unknown`).
struct HostKeyDecision {
  HostKeyVerdict verdict = HostKeyVerdict::unknown;
  const KnownKey* line = nullptr;
};
HostKeyDecision judge_host_key(const std::vector<KnownKey>& known, std::string_view shown_blob);

/// The line of a known_hosts file that says that `name` ("node01", "[node01]:2222") has this key.
/// With a `salt` of 20 random bytes the name is hashed.
std::string known_hosts_line(std::string_view name, std::string_view blob,
                             std::string_view salt = {});

/// "node01", or "[node01]:2222" when the port is not 22: a host's name in known_hosts files.
std::string known_hosts_name(std::string_view host, int port);

/// Adds a line to a known_hosts file. The file is made, readable for its owner only, with its
/// folder if that is all that is missing. Errors, of class `host`, say why it cannot be written.
Result<void> append_known_host(const std::string& path, const std::string& line);

/// The host-key algorithms to ask a host for, best first: those whose keys are known, in file
/// order, then the others. Only what is asked for first can be checked.
std::vector<std::string> host_key_preference(const std::vector<KnownKey>& known);

}  // namespace train
