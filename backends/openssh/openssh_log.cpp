// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_log.hpp"

#include <algorithm>
#include <optional>

namespace train {

namespace {

constexpr std::size_t max_line = 4u << 10;
constexpr std::size_t max_text = 4u << 10;
constexpr std::size_t max_fact = 200;
constexpr std::size_t max_offered = 8;
constexpr std::size_t max_accepted = 8;

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string fact(std::string_view text) { return std::string(text.substr(0, max_fact)); }

// The text between the last `before` and the first `after` that follows it.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.rfind(before);
  if (start == text.npos) return {};
  text.remove_prefix(start + before.size());
  return text.substr(0, text.find(after));
}

// Lines of ssh that are not about problems.
bool is_chatter(std::string_view line) {
  return line.starts_with("Transferred: sent ") || line.starts_with("Bytes per second: sent ") ||
         line.starts_with("OpenSSH_");
}

}  // namespace

void OpensshLog::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    line_ += bytes.substr(0, std::min(end, max_line - line_.size()));
    if (end == bytes.size()) return;
    bytes.remove_prefix(end + 1);
    read_line(line_);
    line_.clear();
  }
}

void OpensshLog::finish() {
  if (!line_.empty()) read_line(line_);
  line_.clear();
}

void OpensshLog::read_line(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  if (take_prefix(line, "debug1: ")) return read_debug(line);
  if (line.starts_with("Authenticated to ")) return authenticated(between(line, "using \"", "\""));
  if (stage_ != OpensshStage::logged_in) {
    // "node02' (ED25519) to the list of known hosts."
    if (take_prefix(line, "Warning: Permanently added '"))
      return add_accepted_key(line.substr(0, line.find('\'')), between(line, "' (", ")"), true);
    if (line.starts_with("Failed to add the host to the list of known hosts ("))
      add_accepted_key({}, {}, false);
  }
  if (line.empty() || is_chatter(line)) return;
  text_.append(line).push_back('\n');
  if (text_.size() > max_text) text_.erase(0, text_.size() - max_text);
}

void OpensshLog::read_debug(std::string_view line) {
  // After the login, the program on the host writes to the same stream.
  if (stage_ == OpensshStage::logged_in) return;
  if (take_prefix(line, "Connecting to ")) {
    // "gpu-a [10.77.1.3] port 22."
    address_ = fact(between(line, " [", "] port "));
    port_ = fact(between(line, " port ", "."));
    ++connections_;
    stage_ = OpensshStage::connecting;
  } else if (line == "Connection established.") {
    reach(OpensshStage::exchanging);
  } else if (take_prefix(line, "Setting implicit ProxyCommand from ProxyJump: ")) {
    // The line is "ssh -l me -J a -W '[%h]:%p' b". Jump hosts print such a line later, about their
    // own jump hosts.
    if (jump_host_.empty()) jump_host_ = fact(line.substr(line.rfind(' ') + 1));
  } else if (line.starts_with("Executing proxy command: ")) {
    is_proxied_ = true;
    reach(OpensshStage::exchanging);
  } else if (take_prefix(line, "Authenticating to ")) {
    user_ = fact(between(line, " as '", "'"));
  } else if (take_prefix(line, "Server host key: ") ||
             take_prefix(line, "Server host certificate: ")) {
    host_key_ = fact(line.substr(0, line.find(',')));
    reach(OpensshStage::logging_in);
  } else if (take_prefix(line, "Offering public key: ")) {
    if (offered_keys_.size() < max_offered)
      offered_keys_.push_back(fact(line.substr(0, line.find(" SHA256:"))));
  } else if (take_prefix(line, "Server accepts key: ")) {
    accepted_key_ = line;
  } else if (line.starts_with("Entering interactive session.") ||
             line.starts_with("mux_client_request_session: master session id: ")) {
    reach(OpensshStage::logged_in);
  }
}

// `accepted_key_` is "me@there ED25519-SK SHA256:... agent"; the comment at its beginning may
// contain anything.
void OpensshLog::authenticated(std::string_view method) {
  if (stage_ == OpensshStage::logged_in) return;  // this line is from the host
  const std::string_view key = accepted_key_;
  const std::string_view type = key.substr(0, key.rfind(" SHA256:"));
  if (method.starts_with("gssapi-"))
    means_ = LoginMeans::kerberos;
  else if (method == "publickey" && key.ends_with(" agent"))
    means_ = LoginMeans::agent;
  else if (method == "publickey" && (type.ends_with("-SK") || type.ends_with("-SK-CERT")))
    means_ = LoginMeans::security_key;
  reach(OpensshStage::logged_in);
}

// A key that was accepted before the host has shown its own belongs to a jump host.
void OpensshLog::add_accepted_key(std::string_view host, std::string_view type, bool is_written) {
  if (accepted_keys_.size() >= max_accepted) return;
  const bool is_jump_host = host_key_.empty();
  accepted_keys_.push_back(
      {fact(host), is_jump_host ? fact(type) : host_key_, is_jump_host, is_written});
}

void OpensshLog::reach(OpensshStage stage) {
  if (stage <= stage_) return;
  stage_ = stage;
  if (stage == OpensshStage::logged_in) text_.clear();
}

}  // namespace train
