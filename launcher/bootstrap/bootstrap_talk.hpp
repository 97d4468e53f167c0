// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launcher/bootstrap/bootstrap_reader.hpp"

namespace train {

/// The launcher's side of what is said from the exec request until the agent speaks, whatever
/// connection carries it.
class BootstrapTalk {
 public:
  /// What the launcher has to do.
  enum class Step {
    listen,  ///< nothing, until more bytes have come
    upload,  ///< send `upload_header` and the packed binary
    ready,   ///< what follows is the agent's: `take_rest` first
  };

  /// `nonce` is the one of the command, `machine` what the binary is made for (`uname -m`).
  BootstrapTalk(const std::string& nonce, std::string machine);

  /// Appends bytes of the host's output. To be followed by `next` until that says `listen` or
  /// `ready`.
  void feed(std::string_view bytes) { reader_.feed(bytes); }
  /// An error, of class `host`, when the host is of another kind, has no place for the binary, asks
  /// for it without end, or says nothing that is meant for us.
  Result<Step> next();
  /// After `ready`: the first bytes of the agent's stream, once.
  std::string take_rest() { return reader_.take_rest(); }
  /// After `ready`: the two ends of the connection as the host sees them, digits only; empty when
  /// it does not know.
  const std::string& client_address() const { return client_address_; }
  const std::string& host_address() const { return host_address_; }
  /// The start of what was not meant for us, for error texts.
  std::string noise() const { return reader_.noise(); }

 private:
  Result<Step> on_need(const BootstrapAnswer& answer);

  BootstrapReader reader_;
  std::string machine_;
  std::string client_address_;
  std::string host_address_;
  int uploads_ = 0;
};

}  // namespace train
