// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/passphrases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/ssh_formats/private_key_file.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

tl::unexpected<Error> locked(const LockedKey& key, std::string_view why) {
  return fail(ErrorClass::host, fmt::format("{} is encrypted{}", key.origin(), why),
              fmt::format("load it into ssh-agent: eval $(ssh-agent); ssh-add {}", key.origin()));
}

}  // namespace

Result<std::string> LockedKey::sign(std::string_view, std::string_view) {
  return locked(*this, "");
}

Passphrases::~Passphrases() { *is_cancelled_ = true; }

// Every key here is a LockedKey.
const LockedKey& Passphrases::current() const {
  return static_cast<const LockedKey&>(*waiting_.front().key);
}

void Passphrases::open(const std::shared_ptr<SigningKey>& locked_key, OnOpened on_opened) {
  const auto& path = static_cast<const LockedKey&>(*locked_key).path();
  // The key was opened, or given up, during the login to this host.
  if (const auto done = done_.find(path); done != done_.end()) {
    loop_.post([on_opened = std::move(on_opened), result = done->second,
                alive = std::weak_ptr(is_alive_)] {
      if (!alive.expired()) on_opened(result);
    });
    return;
  }
  const auto known = std::find_if(waiting_.begin(), waiting_.end(), [&path](const Waiting& other) {
    return static_cast<const LockedKey&>(*other.key).path() == path;
  });
  if (known != waiting_.end()) return known->on_opened.push_back(std::move(on_opened));
  waiting_.push_back({locked_key, {std::move(on_opened)}});
  if (waiting_.size() == 1) ask();
}

void Passphrases::ask() {
  constexpr std::size_t longest_name = 200;
  const std::string name = printable(current().origin(), longest_name);
  const bool is_first = waiting_.front().tries++ == 0;
  ask_(fmt::format("{} for the key {}: ", is_first ? "passphrase" : "that was wrong; passphrase",
                   name),
       [this, alive = std::weak_ptr(is_alive_)](std::unique_ptr<Secret> passphrase) {
         if (!alive.expired()) on_answer(std::move(passphrase));
       });
}

void Passphrases::on_answer(std::unique_ptr<Secret> passphrase) {
  if (!passphrase || passphrase->text().empty())
    return conclude(locked(current(), ", and its passphrase was not given"));
  const auto opened = std::make_shared<Result<std::shared_ptr<SigningKey>>>();
  const auto begun = thread_.run(
      [opened, secret = std::shared_ptr<Secret>(std::move(passphrase)), path = current().path(),
       origin = current().origin(), is_cancelled = is_cancelled_]() mutable {
        const KeyOpening opening{*secret, *is_cancelled};
        *opened = load_private_key(path, origin, &opening);
        secret.reset();
      },
      [this, opened] { on_tried(*opened); });
  if (!begun) conclude(tl::make_unexpected(begun.error()));
}

void Passphrases::on_tried(const Result<std::shared_ptr<SigningKey>>& result) {
  if (!result || *result) return conclude(result);
  if (waiting_.front().tries < max_tries) return ask();
  conclude(locked(current(), fmt::format(", and {} passphrases were wrong", max_tries)));
}

void Passphrases::conclude(Result<std::shared_ptr<SigningKey>> result) {
  const Waiting done = std::move(waiting_.front());
  done_.emplace(static_cast<const LockedKey&>(*done.key).path(), result);
  waiting_.pop_front();
  if (!waiting_.empty()) ask();
  for (const OnOpened& on_opened : done.on_opened) on_opened(result);
}

}  // namespace train
