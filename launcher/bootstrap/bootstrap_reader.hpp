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

/// Takes apart what a channel says until the agent speaks. Banners and what rc files print are
/// skipped up to a limit. After an error every further call repeats it.
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
  /// `host` when the host sends without end and says nothing that is meant for us.
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

}  // namespace train
