// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/link/logins.hpp"

namespace train {

/// The progress of an ssh process.
enum class OpensshStage {
  starting,    ///< reads its files, resolves the name
  connecting,  ///< to one of the addresses
  exchanging,  ///< connected, or its ProxyCommand runs: greetings and keys are exchanged
  logging_in,  ///< the host has proved to own the key that it showed
  logged_in,
};

/// A new host key that ssh has accepted.
struct AcceptedKey {
  std::string host;  ///< as in known_hosts
  std::string key;   ///< "ssh-ed25519 SHA256:..."; of a jump host only its type, "ED25519"
  bool is_jump_host = false;
  bool is_written = true;  ///< false: it could not be added to a file
};

/// Parses ssh's standard error at LogLevel DEBUG1. Relevant lines of ssh are kept as facts. The
/// rest is text for the user: errors, and after the login the output of the program on the host.
/// Memory is bounded for any input.
class OpensshLog {
 public:
  void feed(std::string_view bytes);
  /// The input has ended: a last line without a newline counts.
  void finish();

  OpensshStage stage() const { return stage_; }
  /// How many addresses were tried.
  int connections() const { return connections_; }
  /// Whether a ProxyCommand or ProxyJump makes the connection.
  bool is_proxied() const { return is_proxied_; }
  /// The last host of a ProxyJump, without its user; empty: none.
  const std::string& jump_host() const { return jump_host_; }
  /// The numeric address of the connection, and its port; empty with a proxy.
  const std::string& address() const { return address_; }
  const std::string& port() const { return port_; }
  const std::string& user() const { return user_; }
  /// "ssh-ed25519 SHA256:..."; empty before the host has shown its key.
  const std::string& host_key() const { return host_key_; }
  /// How the login was authenticated; `file` before the login, and with a ControlMaster.
  LoginMeans means() const { return means_; }
  /// The keys that were offered to the host: "/home/me/.ssh/id_ed25519 ED25519". At most 8.
  const std::vector<std::string>& offered_keys() const { return offered_keys_; }
  /// The keys that were accepted since the last call. At most 8 are kept.
  std::vector<AcceptedKey> take_accepted_keys() { return std::exchange(accepted_keys_, {}); }
  /// The last 4 KiB of text for the user, in lines; cleared at the login.
  const std::string& text() const { return text_; }

 private:
  void read_line(std::string_view line);
  void read_debug(std::string_view line);
  void add_accepted_key(std::string_view host, std::string_view type, bool is_written);
  void authenticated(std::string_view method);
  void reach(OpensshStage stage);

  std::string line_;
  std::string text_;
  OpensshStage stage_ = OpensshStage::starting;
  int connections_ = 0;
  bool is_proxied_ = false;
  std::string jump_host_;
  std::string address_;
  std::string port_;
  std::string user_;
  std::string host_key_;
  std::string accepted_key_;  ///< the last one: "me@there ED25519 SHA256:... agent"
  LoginMeans means_ = LoginMeans::file;
  std::vector<std::string> offered_keys_;
  std::vector<AcceptedKey> accepted_keys_;
};

}  // namespace train
