// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/ssh_formats/secret.hpp"
#include "backends/ssh_formats/signing_key.hpp"

namespace train {

/// Asks the user for a secret. The answer comes from the loop; it is null when the user gave up or
/// there is no terminal.
using AskSecret =
    std::function<void(const std::string& question, std::function<void(std::unique_ptr<Secret>)>)>;

/// A private key in an encrypted file, whose public half is known.
class LockedKey final : public SigningKey {
 public:
  LockedKey(std::string public_blob, std::string origin, std::string path)
      : SigningKey(std::move(public_blob), std::move(origin)), path_(std::move(path)) {}

  /// Always fails: the key is locked.
  Result<std::string> sign(std::string_view data, std::string_view algorithm) override;
  bool is_locked() const override { return true; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Opens encrypted keys with passphrases, each once for all hosts, one question at a time. The work
/// is done on a separate thread, which destruction does not wait for.
class Passphrases {
 public:
  static constexpr int max_tries = 3;

  /// `ask` is empty when the user cannot be asked.
  Passphrases(Loop& loop, AskSecret ask) : loop_(loop), ask_(std::move(ask)), thread_(loop) {}
  ~Passphrases();
  Passphrases(const Passphrases&) = delete;
  Passphrases& operator=(const Passphrases&) = delete;

  /// The opened key, or why it was not opened; called from the loop, as long as this object lives.
  using OnOpened = std::function<void(const Result<std::shared_ptr<SigningKey>>&)>;
  void open(const std::shared_ptr<SigningKey>& locked_key, OnOpened on_opened);

 private:
  struct Waiting {
    std::shared_ptr<SigningKey> key;
    std::vector<OnOpened> on_opened;
    int tries = 0;
  };

  void ask();
  void on_answer(std::unique_ptr<Secret> passphrase);
  void on_tried(const Result<std::shared_ptr<SigningKey>>& result);
  void conclude(Result<std::shared_ptr<SigningKey>> result);
  const LockedKey& current() const;

  Loop& loop_;
  AskSecret ask_;
  std::deque<Waiting> waiting_;  ///< the user is being asked about the first
  std::map<std::string, Result<std::shared_ptr<SigningKey>>> done_;  ///< by path
  std::shared_ptr<std::atomic<bool>> is_cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
  Background thread_;
};

}  // namespace train
