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
    ready,   ///< the following bytes are the agent's
    need,    ///< the binary must be uploaded
    failed,  ///< no place on the host could be used
  };
  Kind kind = Kind::ready;
  std::string machine;  ///< need: `uname -m`
  std::string system;   ///< need: `uname -s`
  std::string reason;   ///< failed: the reason for each place
  /// ready: the launcher's address on this connection; may be empty.
  std::string client_address = {};
  std::string host_address = {};  ///< ready: the host's address on this connection; may be empty

  bool operator==(const BootstrapAnswer&) const = default;
};

/// Finds the answers of the bootstrap command in a host's output before the agent's first byte.
/// Banners and the output of rc files are skipped up to a limit. After an error, every further call
/// repeats it.
class BootstrapReader {
 public:
  /// The maximum number of bytes skipped before an answer, and the maximum length of an answer.
  static constexpr std::size_t max_noise = 64u << 10;
  static constexpr std::size_t max_answer = 16u << 10;

  /// `nonce` is that of the command.
  explicit BootstrapReader(const std::string& nonce);

  /// Appends bytes of the channel. Call `next` afterwards until it returns nothing.
  void feed(std::string_view bytes);
  /// The next whole answer. Nothing if more bytes are needed, or after `ready`. An error of class
  /// `host` if the host prints more than the limits allow without an answer.
  Result<std::optional<BootstrapAnswer>> next();
  /// After `ready`: the first bytes of the agent's stream, once.
  std::string take_rest();
  /// The start of the skipped output, for error texts: at most 500 bytes.
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

/// The launcher's side of the bootstrap, from the exec request to the agent's first byte.
/// Independent of the connection that carries the bytes.
class BootstrapTalk {
 public:
  /// The next step of the launcher.
  enum class Step {
    listen,  ///< wait for more bytes
    upload,  ///< send `upload_header` and the packed binary
    ready,   ///< the following bytes are the agent's: `take_rest` first
  };

  /// `nonce` is that of the command, `machine` the architecture of the binary (`uname -m`).
  BootstrapTalk(const std::string& nonce, std::string machine);

  /// Appends bytes of the host's output. Call `next` afterwards until it returns `listen` or
  /// `ready`.
  void feed(std::string_view bytes) { reader_.feed(bytes); }
  /// Counts the host's output on standard error before the agent's first byte: rc files may print
  /// much there, but not without a limit. An error of class `host` beyond `max_errors`.
  Result<void> take_errors(std::size_t bytes);
  /// An error of class `host` if the host has another architecture or system, has no place for the
  /// binary, asks for it again and again, or prints too much besides answers.
  Result<Step> next();
  /// After `ready`: the first bytes of the agent's stream, once.
  std::string take_rest() { return reader_.take_rest(); }
  /// After `ready`: the two ends of the connection as the host sees them, digits only; empty if the
  /// host does not know them.
  const std::string& client_address() const { return client_address_; }
  const std::string& host_address() const { return host_address_; }
  /// The start of the skipped output, for error texts.
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
