// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// One answer of the bootstrap command.
struct BootstrapAnswer {
  enum class Kind {
    ready,   ///< what follows on the stream is the agent's
    need,    ///< the binary must be uploaded
    failed,  ///< no place on the host took it
  };
  Kind kind = Kind::ready;
  std::string machine;              ///< need: `uname -m`
  std::string system;               ///< need: `uname -s`
  std::string reason;               ///< failed: what each place said
  std::string client_address = {};  ///< ready: the launcher's on this connection; may be empty
  std::string host_address = {};    ///< ready: the host's on this connection; may be empty

  bool operator==(const BootstrapAnswer&) const = default;
};

/// Finds the answers of the bootstrap command in what a host prints until the agent speaks. Banners
/// and what rc files print are skipped up to a limit. After an error every further call repeats it.
class BootstrapReader {
 public:
  /// Most bytes that are skipped before an answer, and longest answer.
  static constexpr std::size_t max_noise = 64u << 10;
  static constexpr std::size_t max_answer = 16u << 10;

  /// `nonce` is the one of the command.
  explicit BootstrapReader(const std::string& nonce);

  /// Appends bytes of the channel. To be followed by `next` until that has nothing more.
  void feed(std::string_view bytes);
  /// The next whole answer; nothing when more bytes are needed, or after `ready`; an error of class
  /// `host` when the host prints more than the limits allow and no answer in it.
  Result<std::optional<BootstrapAnswer>> next();
  /// After `ready`: the first bytes of the agent's stream, once.
  std::string take_rest();
  /// The start of what was no answer, for error texts: at most 500 bytes.
  std::string noise() const;

 private:
  std::optional<BootstrapAnswer> parse(std::string_view line) const;
  void skip(std::size_t count);

  std::string marker_;
  std::string buffer_;
  std::string noise_;
  std::size_t skipped_ = 0;
  bool ready_ = false;
  std::optional<Error> broken_;
};

/// The launcher's side of the bootstrap: what it does from the exec request until the agent speaks,
/// whatever connection carries the bytes.
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
  /// Counts what the host prints on standard error, until the agent speaks: rc files may say much
  /// there, but not without end. An error, of class `host`, beyond `max_errors`.
  Result<void> take_errors(std::size_t bytes);
  /// An error, of class `host`, when the host is of another kind, has no place for the binary, asks
  /// for it again and again, or prints too much that is no answer.
  Result<Step> next();
  /// After `ready`: the first bytes of the agent's stream, once.
  std::string take_rest() { return reader_.take_rest(); }
  /// After `ready`: the two ends of the connection as the host sees them, digits only; empty when
  /// it does not know.
  const std::string& client_address() const { return client_address_; }
  const std::string& host_address() const { return host_address_; }
  /// The start of what was no answer, for error texts.
  std::string noise() const { return reader_.noise(); }

 private:
  static constexpr std::size_t max_errors = 16u << 20;

  Result<Step> on_need(const BootstrapAnswer& answer);

  BootstrapReader reader_;
  std::string machine_;
  std::string client_address_;
  std::string host_address_;
  int uploads_ = 0;
  std::size_t errors_ = 0;
};

}  // namespace train
